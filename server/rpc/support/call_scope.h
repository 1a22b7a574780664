// SPDX-License-Identifier: Apache-2.0
//
// CallScope: one RPC from start to end: access control, metrics, the line in the audit log, and the
// span where its trace is sampled. `access` and `trace` are thread-safe, the rest is used by one
// thread at a time. And helpers of calls: admission, deadline, and the key by which the scheduler
// shares capacity between callers.

#ifndef VOXLOC_SERVER_RPC_SUPPORT_CALL_SCOPE_H_
#define VOXLOC_SERVER_RPC_SUPPORT_CALL_SCOPE_H_

#include <google/protobuf/message_lite.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/errors/error_details.h"
#include "server/observe/metrics/rpc_metrics.h"
#include "server/observe/seconds.h"
#include "server/observe/trace/span_exporter.h"
#include "server/observe/trace/trace_context.h"
#include "server/runtime.h"
#include "server/security/access_control.h"
#include "server/security/call_access.h"
#include "voxloc/v1/scan.pb.h"

namespace voxloc::server {

class CallScope {
 public:
  CallScope(Runtime& runtime, RpcMethod method, const grpc::CallbackServerContext& context);
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  // What the call, and all that happens in it, belongs to; not valid: no trace. Its span is the
  // call's own where that is recorded, and the client's otherwise.
  [[nodiscard]] const TraceContext& trace() const { return trace_; }

  // Count a message that was received, and one that is passed to gRPC.
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

  // Sets fields of the audit record, which is written when the call ends; empty and 0 keep a field.
  void SetAudit(const std::string& map, uint64_t revision, std::string detail) {
    if (!map.empty()) audit_record_.map = map;
    if (revision != 0) audit_record_.revision = revision;
    if (!detail.empty()) audit_record_.detail = std::move(detail);
  }

  // Once, when the call's work is done, such as a committed change: writes the audit record with OK
  // now, also where the client has already cancelled the call.
  void AuditSuccess(const std::string& map, uint64_t revision, std::string detail) {
    SetAudit(map, revision, std::move(detail));
    audit_written_ = true;
    WriteAudit(grpc::StatusCode::OK);
  }

  // Once, before the client can learn that the call is over.
  void AuditEnd(const grpc::Status& status) {
    if (!audit_written_) WriteAudit(status.error_code());
  }

  // Once.
  void RecordEnd(const grpc::Status& status) const {
    const auto code = static_cast<size_t>(status.error_code());
    if (code < rpc_.handled.size()) rpc_.handled[code].Increment();
    rpc_.in_flight.Add(-1.0);
    EndSpan(status);
    rpc_.duration_s.Observe(ToSeconds(std::chrono::steady_clock::now() - start_));
    calls_.Leave();
  }

 private:
  // Hands the call's span over, if there is one.
  void EndSpan(const grpc::Status& status) const;
  void WriteAudit(grpc::StatusCode code) {
    if (!IsAudited(method_)) return;
    audit_record_.caller = access_.caller();
    audit_record_.peer = peer_;
    audit_record_.method = NameOf(method_).method;
    audit_record_.code = NameOfCode(code);
    audit_.Write(audit_record_);
  }

  ActiveCalls& calls_;
  AuditLog& audit_;
  const RpcMetrics& rpc_;
  const RpcMethod method_;
  const std::string peer_;
  SpanExporter* const exporter_;  // null: there are no spans
  TraceContext trace_;
  SpanId parent_span_{};  // of the client, where the call has a span of its own
  int64_t start_unix_ns_ = 0;
  const std::chrono::steady_clock::time_point start_;
  CallAccess access_;
  AuditRecord audit_record_;
  bool audit_written_ = false;
};

template <typename Request, typename = void>
inline constexpr bool kNamesMap = false;
template <typename Request>
inline constexpr bool kNamesMap<Request, std::void_t<decltype(std::declval<Request>().map())>> =
    true;

// Whether a call with one request is permitted, by its caller, role and map. The errors of
// CallAccess. For a request without a map, the RPC itself leaves out maps that the caller may not
// see.
template <typename Request>
[[nodiscard]] absl::Status Admit(CallScope& call, const Request& request) {
  if constexpr (kNamesMap<Request>) {
    call.SetAudit(request.map(), 0, "");
    if (!request.map().empty()) return call.access().UseMap(request.map());
  }
  return call.access().Check();
}

// The error of a call at a limit.
[[nodiscard]] inline absl::Status LimitReached(uint32_t limit, absl::string_view what,
                                               absl::string_view reason) {
  return WithReason(absl::ResourceExhaustedError(
                        absl::StrCat("the server has ", limit, " ", what, ", its limit")),
                    reason, {{"limit", absl::StrCat(limit)}});
}

// When the call has to be done; the infinite future for a caller without a deadline.
[[nodiscard]] inline absl::Time DeadlineOf(const grpc::CallbackServerContext& context) {
  const std::chrono::system_clock::time_point deadline = context.deadline();
  return deadline == std::chrono::system_clock::time_point::max() ? absl::InfiniteFuture()
                                                                  : absl::FromChrono(deadline);
}

// The caller of a session in the scheduler (FairQueue): the identity, whose sessions and calls have
// one share together. Empty without an identity: the session has a share of its own, since many
// vehicles may have one address.
[[nodiscard]] inline std::string SessionSchedulingKey(const CallAccess& access) {
  const std::string caller = access.caller();
  return caller.empty() || caller == kAnonymous ? "" : absl::StrCat("identity:", caller);
}

// The same for a call with one scan; without an identity the calls of a connection have one share.
[[nodiscard]] inline std::string CallSchedulingKey(const CallScope& call) {
  std::string share = SessionSchedulingKey(call.access());
  return share.empty() ? absl::StrCat("peer:", call.peer()) : share;
}

// ReadMessage: a message of a client's stream, or bytes that cannot be parsed, which gRPC itself
// does not distinguish from the end of the stream.
template <typename Message>
struct ReadMessage {
  std::unique_ptr<Message> message = std::make_unique<Message>();
  bool parsed = false;
};

[[nodiscard]] inline absl::Status MalformedMessage() {
  return absl::InvalidArgumentError(
      "each message must be of the method's type (got bytes that cannot be parsed)");
}

}  // namespace voxloc::server

namespace grpc {

template <typename Message>
class SerializationTraits<voxloc::server::ReadMessage<Message>, void> {
 public:
  static Status Deserialize(ByteBuffer* bytes, voxloc::server::ReadMessage<Message>* read) {
    read->parsed = SerializationTraits<Message>::Deserialize(bytes, read->message.get()).ok();
    return Status::OK;
  }
};

}  // namespace grpc

#endif  // VOXLOC_SERVER_RPC_SUPPORT_CALL_SCOPE_H_
