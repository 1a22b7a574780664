// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/support/call_scope.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/time/clock.h"

namespace voxloc::server {
namespace {

// OpenTelemetry's conventions for gRPC: the codes by which a server says that it is at fault.
constexpr grpc::StatusCode kServersFaults[] = {
    grpc::StatusCode::UNKNOWN,       grpc::StatusCode::DEADLINE_EXCEEDED,
    grpc::StatusCode::UNIMPLEMENTED, grpc::StatusCode::INTERNAL,
    grpc::StatusCode::UNAVAILABLE,   grpc::StatusCode::DATA_LOSS};

// The trace of a call's `traceparent` metadata. Not valid: there is none, several, or a malformed
// one, which the W3C specification ignores.
TraceContext TraceOf(const std::multimap<grpc::string_ref, grpc::string_ref>& metadata) {
  const auto [first, last] = metadata.equal_range("traceparent");
  if (first == last || std::next(first) != last) return {};
  const grpc::string_ref& value = first->second;
  return ParseTraceparent(absl::string_view(value.data(), value.size())).value_or(TraceContext());
}

}  // namespace

CallScope::CallScope(Runtime& runtime, RpcMethod method, const grpc::CallbackServerContext& context)
    : calls_(runtime.calls),
      audit_(runtime.audit),
      rpc_(runtime.metrics.rpc(method)),
      method_(method),
      peer_(context.peer()),
      exporter_(runtime.spans.get()),
      trace_(TraceOf(context.client_metadata())),
      start_(std::chrono::steady_clock::now()),
      access_(*runtime.access, runtime.metrics, method, CredentialsOf(context), peer_) {
  calls_.Enter();
  rpc_.started.Increment();
  rpc_.in_flight.Add(1.0);
  if (exporter_ == nullptr || !trace_.sampled) return;
  parent_span_ = std::exchange(trace_.span_id, NewSpanId());
  start_unix_ns_ = absl::GetCurrentTimeNanos();
}

void CallScope::EndSpan(const grpc::Status& status) const {
  if (exporter_ == nullptr || !trace_.sampled) return;
  const RpcName& rpc = NameOf(method_);
  Span span;
  span.trace_id = trace_.trace_id;
  span.span_id = trace_.span_id;
  span.parent_id = parent_span_;
  span.name = absl::StrCat(rpc.service, "/", rpc.method);
  span.kind = SpanKind::kServer;
  span.start_unix_ns = start_unix_ns_;
  span.end_unix_ns = absl::GetCurrentTimeNanos();
  span.attributes = {{"rpc.system", std::string("grpc")},
                     {"rpc.service", std::string(rpc.service)},
                     {"rpc.method", std::string(rpc.method)},
                     {"rpc.grpc.status_code", int64_t{status.error_code()}}};
  span.failed =
      std::count(std::begin(kServersFaults), std::end(kServersFaults), status.error_code()) > 0;
  if (span.failed) span.error = status.error_message();
  std::vector<Span> spans;
  spans.push_back(std::move(span));
  exporter_->Record(std::move(spans));
}

}  // namespace voxloc::server
