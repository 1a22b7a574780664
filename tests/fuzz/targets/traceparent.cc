// SPDX-License-Identifier: Apache-2.0
//
// W3C traceparents of metadata and scans.

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/observe/trace/trace_context.h"
#include "tests/fuzz/fuzz_targets.h"

namespace voxloc {

absl::Status FuzzTraceparent(absl::string_view bytes) {
  const auto context = server::ParseTraceparent(bytes);
  if (!context.has_value()) return absl::InvalidArgumentError("malformed");
  FuzzRequire(context->valid(), "a trace has an id");
  FuzzRequire(absl::StartsWith(bytes.substr(2),
                               absl::StrCat("-", server::TraceIdHex(context->trace_id), "-",
                                            server::SpanIdHex(context->span_id), "-")),
              "the ids are those of the text");
  return absl::OkStatus();
}

}  // namespace voxloc
