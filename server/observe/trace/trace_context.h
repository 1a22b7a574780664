// SPDX-License-Identifier: Apache-2.0
//
// TraceContext: the place in a distributed trace that a call or a scan belongs to, as a client says
// it in a W3C traceparent. A plain value.

#ifndef VOXLOC_SERVER_OBSERVE_TRACE_TRACE_CONTEXT_H_
#define VOXLOC_SERVER_OBSERVE_TRACE_TRACE_CONTEXT_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace voxloc::server {

using TraceId = std::array<uint8_t, 16>;
using SpanId = std::array<uint8_t, 8>;

struct TraceContext {
  TraceId trace_id{};  // all zero: there is no trace
  SpanId span_id{};    // of the span that what happens here is part of
  bool sampled = false;

  [[nodiscard]] bool valid() const { return trace_id != TraceId{}; }
};

// "00-<32 hexadecimal digits>-<16>-<2>", lower case, as https://www.w3.org/TR/trace-context/ says:
// exactly that of version 00; of a higher version, whatever follows a further '-' is not looked at.
// nullopt: malformed, version ff, or an id of zeros alone.
[[nodiscard]] std::optional<TraceContext> ParseTraceparent(absl::string_view traceparent);

// Lower-case hexadecimal digits.
[[nodiscard]] std::string TraceIdHex(const TraceId& id);
[[nodiscard]] std::string SpanIdHex(const SpanId& id);

// Random, never all zero. Thread-safe.
[[nodiscard]] SpanId NewSpanId();

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_TRACE_TRACE_CONTEXT_H_
