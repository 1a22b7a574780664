// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/support/call_trace.h"

#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "server/observe/trace/span_exporter.h"

namespace voxloc::server {
namespace {

// OpenTelemetry's conventions for gRPC: the codes by which a server says that it is at fault.
bool IsServersFault(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::UNIMPLEMENTED:
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DATA_LOSS:
      return true;
    default:
      return false;
  }
}

}  // namespace

TraceContext TraceOf(const CallMetadata& metadata) {
  const auto [first, last] = metadata.equal_range("traceparent");
  if (first == last || std::next(first) != last) return {};
  const grpc::string_ref& value = first->second;
  return ParseTraceparent(absl::string_view(value.data(), value.size())).value_or(TraceContext());
}

CallTrace::CallTrace(SpanExporter* exporter, RpcMethod method, const CallMetadata& metadata)
    : exporter_(exporter), method_(method), context_(TraceOf(metadata)) {
  if (exporter_ == nullptr || !context_.sampled) return;
  parent_id_ = std::exchange(context_.span_id, NewSpanId());
  start_unix_ns_ = absl::GetCurrentTimeNanos();
}

void CallTrace::End(const grpc::Status& status) const {
  if (exporter_ == nullptr || !context_.sampled) return;
  const RpcName& rpc = NameOf(method_);
  Span span;
  span.trace_id = context_.trace_id;
  span.span_id = context_.span_id;
  span.parent_id = parent_id_;
  span.name = absl::StrCat(rpc.service, "/", rpc.method);
  span.kind = SpanKind::kServer;
  span.start_unix_ns = start_unix_ns_;
  span.end_unix_ns = absl::GetCurrentTimeNanos();
  span.attributes = {{"rpc.system", std::string("grpc")},
                     {"rpc.service", std::string(rpc.service)},
                     {"rpc.method", std::string(rpc.method)},
                     {"rpc.grpc.status_code", int64_t{status.error_code()}}};
  span.failed = IsServersFault(status.error_code());
  if (span.failed) span.error = status.error_message();
  std::vector<Span> spans;
  spans.push_back(std::move(span));
  exporter_->Record(std::move(spans));
}

}  // namespace voxloc::server
