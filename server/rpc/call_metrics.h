// SPDX-License-Identifier: Apache-2.0
//
// CallMetrics: counts one RPC from its beginning to its end. One thread at a time uses it.

#ifndef VOXLOC_SERVER_RPC_CALL_METRICS_H_
#define VOXLOC_SERVER_RPC_CALL_METRICS_H_

#include <chrono>
#include <cstddef>

#include <grpcpp/support/status.h>

#include "server/metrics/metrics.h"

namespace voxloc::server {

class CallMetrics {
 public:
  CallMetrics(const Metrics& metrics, RpcMethod method)
      : rpc_(metrics.rpc(method)), start_(std::chrono::steady_clock::now()) {
    rpc_.started.Increment();
    rpc_.in_flight.Add(1.0);
  }
  CallMetrics(const CallMetrics&) = delete;
  CallMetrics& operator=(const CallMetrics&) = delete;

  // Once.
  void Ended(const grpc::Status& status) const {
    const auto code = static_cast<size_t>(status.error_code());
    if (code < rpc_.handled.size()) rpc_.handled[code].Increment();
    rpc_.in_flight.Add(-1.0);
    rpc_.duration_s.Observe(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count());
  }

 private:
  const RpcMetrics& rpc_;
  const std::chrono::steady_clock::time_point start_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_CALL_METRICS_H_
