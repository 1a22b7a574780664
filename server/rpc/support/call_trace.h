// SPDX-License-Identifier: Apache-2.0
//
// CallTrace: the trace that a call belongs to, and the call's span in it.

#ifndef VOXLOC_SERVER_RPC_SUPPORT_CALL_TRACE_H_
#define VOXLOC_SERVER_RPC_SUPPORT_CALL_TRACE_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <map>

#include "server/observe/metrics/rpc_metrics.h"
#include "server/observe/trace/span_exporter.h"
#include "server/observe/trace/trace_context.h"

namespace voxloc::server {

using CallMetadata = std::multimap<grpc::string_ref, grpc::string_ref>;

// The trace of a call's `traceparent` metadata. Not valid: there is none, several, or a malformed
// one, which the W3C specification ignores.
[[nodiscard]] TraceContext TraceOf(const CallMetadata& metadata);

class CallTrace {
 public:
  // `exporter` may be null: then there is no span.
  CallTrace(SpanExporter* exporter, RpcMethod method, const CallMetadata& metadata);

  // Its span is the call's own where that is recorded, and the client's otherwise.
  [[nodiscard]] const TraceContext& context() const { return context_; }

  // Hands the call's span over, if there is one. Once.
  void End(const grpc::Status& status) const;

 private:
  SpanExporter* const exporter_;
  const RpcMethod method_;
  TraceContext context_;
  SpanId parent_id_{};  // of the client's span, where the call has one of its own
  int64_t start_unix_ns_ = 0;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_SUPPORT_CALL_TRACE_H_
