// SPDX-License-Identifier: Apache-2.0
//
// Spans as OTLP/JSON (https://opentelemetry.io/docs/specs/otlp/): what a collector takes at
// /v1/traces, and what it answers. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_OBSERVE_TRACE_OTLP_JSON_H_
#define VOXLOC_SERVER_OBSERVE_TRACE_OTLP_JSON_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/observe/trace/span.h"

namespace voxloc::server {

// An ExportTraceServiceRequest: one resource, this server, with these spans.
[[nodiscard]] std::string SpansToJson(absl::Span<const Span> spans);

// partialSuccess.rejectedSpans of an ExportTraceServiceResponse; 0 where it says nothing.
[[nodiscard]] int64_t RejectedSpans(absl::string_view response);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_TRACE_OTLP_JSON_H_
