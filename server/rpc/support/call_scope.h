// SPDX-License-Identifier: Apache-2.0
//
// CallScope: one RPC from its beginning to its end: who calls and may do what, the counts, and the
// line in the audit log. One thread at a time uses it; `access` is thread-safe.

#ifndef VOXLOC_SERVER_RPC_SUPPORT_CALL_SCOPE_H_
#define VOXLOC_SERVER_RPC_SUPPORT_CALL_SCOPE_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

#include "server/runtime/runtime.h"
#include "server/security/call_access.h"
#include "server/security/required_role.h"

namespace voxloc::server {

class CallScope {
 public:
  CallScope(Runtime& runtime, RpcMethod method, const grpc::CallbackServerContext& context)
      : calls_(runtime.calls),
        audit_(runtime.audit),
        rpc_(runtime.metrics.rpc(method)),
        method_(method),
        peer_(context.peer()),
        start_(std::chrono::steady_clock::now()),
        access_(*runtime.access, runtime.metrics, method, CredentialsOf(context), peer_) {
    calls_.Enter();
    rpc_.started.Increment();
    rpc_.in_flight.Add(1.0);
  }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  [[nodiscard]] CallAccess& access() { return access_; }
  [[nodiscard]] const CallAccess& access() const { return access_; }

  // What the audit log tells of the call; empty and 0 change nothing.
  void Note(const std::string& map, uint64_t revision, std::string detail) {
    if (!map.empty()) noted_.map = map;
    if (revision != 0) noted_.revision = revision;
    if (!detail.empty()) noted_.detail = std::move(detail);
  }

  // Once, before the client can learn that the call is over.
  void Ending(const grpc::Status& status) {
    if (!IsAudited(method_)) return;
    noted_.caller = access_.caller();
    noted_.peer = peer_;
    noted_.method = NameOf(method_);
    noted_.code = NameOfCode(status.error_code());
    audit_.Write(noted_);
  }

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
  AuditLog& audit_;
  const RpcMetrics& rpc_;
  const RpcMethod method_;
  const std::string peer_;
  const std::chrono::steady_clock::time_point start_;
  CallAccess access_;
  AuditRecord noted_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_SUPPORT_CALL_SCOPE_H_
