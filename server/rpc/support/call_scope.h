// SPDX-License-Identifier: Apache-2.0
//
// CallScope: counts one RPC from its beginning to its end. One thread at a time uses it.

#ifndef VOXLOC_SERVER_RPC_SUPPORT_CALL_SCOPE_H_
#define VOXLOC_SERVER_RPC_SUPPORT_CALL_SCOPE_H_

#include <grpcpp/support/status.h>

#include <chrono>
#include <cstddef>

#include "server/runtime/runtime.h"

namespace voxloc::server {

class CallScope {
 public:
  CallScope(Runtime& runtime, RpcMethod method)
      : calls_(runtime.calls),
        rpc_(runtime.metrics.rpc(method)),
        start_(std::chrono::steady_clock::now()) {
    calls_.Enter();
    rpc_.started.Increment();
    rpc_.in_flight.Add(1.0);
  }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  // Once.
  void Ended(const grpc::Status& status) const {
    const auto code = static_cast<size_t>(status.error_code());
    if (code < rpc_.handled.size()) rpc_.handled[code].Increment();
    rpc_.in_flight.Add(-1.0);
    rpc_.duration_s.Observe(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count());
    calls_.Leave();
  }

 private:
  ActiveCalls& calls_;
  const RpcMetrics& rpc_;
  const std::chrono::steady_clock::time_point start_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_SUPPORT_CALL_SCOPE_H_
