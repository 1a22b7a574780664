// SPDX-License-Identifier: Apache-2.0

#ifndef VOXLOC_CORE_TRACKING_ALIGNMENT_STATUS_H_
#define VOXLOC_CORE_TRACKING_ALIGNMENT_STATUS_H_

#include "absl/strings/string_view.h"

namespace voxloc {

// The statuses of a scan that was aligned, in the order of precedence: where several apply, the
// verdict is the first.
enum class AlignmentStatus {
  kDeadline,       // stopped by its deadline
  kOutOfMap,       // no point has a map cell near it
  kNotConverged,   // see Acceptance
  kLowScore,       // see Acceptance
  kLowOverlap,     // the matched ratio is below AcceptanceLimits
  kLowConfidence,  // the confidence is below AcceptanceLimits, or unknown
  kAmbiguous,      // the estimate has a rival pose; accepted by the reference's rule alone
  kDegenerate,     // the scan does not observe a direction; see JudgeResult
  kOk,
};

// As the contract and the command line have it: "OK", "LOW_SCORE".
[[nodiscard]] absl::string_view ToString(AlignmentStatus status);

}  // namespace voxloc

#endif  // VOXLOC_CORE_TRACKING_ALIGNMENT_STATUS_H_
