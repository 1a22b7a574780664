// SPDX-License-Identifier: Apache-2.0
//
// Span: a piece of work in a trace, with its beginning and end, as OpenTelemetry defines it. A
// plain value.

#ifndef VOXLOC_SERVER_OBSERVE_TRACE_SPAN_H_
#define VOXLOC_SERVER_OBSERVE_TRACE_SPAN_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "server/observe/trace/trace_context.h"

namespace voxloc::server {

// The numbers are those of the protocol.
enum class SpanKind { kInternal = 1, kServer = 2 };

struct SpanAttribute {
  const char* key;
  std::variant<std::string, int64_t, double, bool> value;
};

struct Span {
  TraceId trace_id{};
  SpanId span_id{};
  SpanId parent_id{};  // all zero: none
  std::string name;
  SpanKind kind = SpanKind::kInternal;
  int64_t start_unix_ns = 0;
  int64_t end_unix_ns = 0;
  std::vector<SpanAttribute> attributes;
  bool failed = false;
  std::string error;  // of a failed one
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_TRACE_SPAN_H_
