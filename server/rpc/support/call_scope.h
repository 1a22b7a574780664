// SPDX-License-Identifier: Apache-2.0
//
// CallScope: one RPC from its beginning to its end: who calls and may do what, the counts, the line
// in the audit log, and the span where the trace that its metadata names is sampled. `access` and
// `trace` are thread-safe, the rest is one thread's at a time.

#ifndef VOXLOC_SERVER_RPC_SUPPORT_CALL_SCOPE_H_
#define VOXLOC_SERVER_RPC_SUPPORT_CALL_SCOPE_H_

#include <google/protobuf/message_lite.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

#include "server/rpc/support/call_trace.h"
#include "server/runtime/runtime.h"
#include "server/security/call_access.h"
#include "server/security/role.h"

namespace voxloc::server {

class CallScope {
 public:
  CallScope(Runtime& runtime, RpcMethod method, const grpc::CallbackServerContext& context)
      : calls_(runtime.calls),
        audit_(runtime.audit),
        rpc_(runtime.metrics.rpc(method)),
        method_(method),
        peer_(context.peer()),
        trace_(runtime.spans.get(), method, context.client_metadata()),
        start_(std::chrono::steady_clock::now()),
        access_(*runtime.access, runtime.metrics, method, CredentialsOf(context), peer_) {
    calls_.Enter();
    rpc_.started.Increment();
    rpc_.in_flight.Add(1.0);
  }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  // What the call, and all that happens in it, belongs to; not valid: no trace.
  [[nodiscard]] const TraceContext& trace() const { return trace_.context(); }

  // A message that came, and one that is handed to gRPC. Their sizes are asked for here only.
  void Received(const google::protobuf::MessageLite& message) const {
    rpc_.received_messages.Increment();
    rpc_.received_bytes.Increment(static_cast<double>(message.ByteSizeLong()));
  }
  void Sent(size_t bytes) const {
    rpc_.sent_messages.Increment();
    rpc_.sent_bytes.Increment(static_cast<double>(bytes));
  }

  // Address of the connection.
  [[nodiscard]] const std::string& peer() const { return peer_; }

  [[nodiscard]] CallAccess& access() { return access_; }
  [[nodiscard]] const CallAccess& access() const { return access_; }

  // Whether the audit log has a line for the call.
  [[nodiscard]] bool audited() const { return IsAudited(method_); }

  // What the audit log tells of the call when it ends; empty and 0 change nothing.
  void Note(const std::string& map, uint64_t revision, std::string detail) {
    if (!map.empty()) noted_.map = map;
    if (revision != 0) noted_.revision = revision;
    if (!detail.empty()) noted_.detail = std::move(detail);
  }

  // Once, when the call has done what it is there for, such as a change that is committed: the
  // audit log tells of it now, also where the call has ended before, as a client that goes may end
  // it.
  void Done(const std::string& map, uint64_t revision, std::string detail) {
    Note(map, revision, std::move(detail));
    done_ = true;
    WriteAudit(grpc::StatusCode::OK);
  }

  // Once, before the client can learn that the call is over.
  void Ending(const grpc::Status& status) {
    if (!done_) WriteAudit(status.error_code());
  }

  // Once.
  void Ended(const grpc::Status& status) const {
    const auto code = static_cast<size_t>(status.error_code());
    if (code < rpc_.handled.size()) rpc_.handled[code].Increment();
    rpc_.in_flight.Add(-1.0);
    trace_.End(status);
    rpc_.duration_s.Observe(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count());
    calls_.Leave();
  }

 private:
  void WriteAudit(grpc::StatusCode code) {
    if (!IsAudited(method_)) return;
    noted_.caller = access_.caller();
    noted_.peer = peer_;
    noted_.method = NameOf(method_).method;
    noted_.code = NameOfCode(code);
    audit_.Write(noted_);
  }

  ActiveCalls& calls_;
  AuditLog& audit_;
  const RpcMetrics& rpc_;
  const RpcMethod method_;
  const std::string peer_;
  const CallTrace trace_;
  const std::chrono::steady_clock::time_point start_;
  CallAccess access_;
  AuditRecord noted_;
  bool done_ = false;  // the audit log has been told so
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_SUPPORT_CALL_SCOPE_H_
