// SPDX-License-Identifier: Apache-2.0
//
// What a collector of spans answers.

#include "server/observe/trace/otlp_json.h"
#include "tests/fuzz/fuzz_targets.h"

namespace voxloc {

absl::Status FuzzOtlpResponse(absl::string_view bytes) {
  // Whatever is no rejection counts as none.
  if (server::RejectedSpans(bytes) == 0) return absl::NotFoundError("no span was rejected");
  return absl::OkStatus();
}

}  // namespace voxloc
