// SPDX-License-Identifier: Apache-2.0
//
// The verdict on an alignment: one status, in a fixed order of precedence, with the values behind
// it as text. Thread-safe: no shared state.

#ifndef VOXLOC_CORE_TRACKING_VERDICT_H_
#define VOXLOC_CORE_TRACKING_VERDICT_H_

#include <string>

#include "core/engine/align.h"
#include "core/estimate/scan_estimate.h"
#include "core/tracking/scan_gate.h"

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
  kAmbiguous,      // accepted; the estimate has a rival pose
  kDegenerate,     // accepted; the scan does not observe an axis
  kOk,
};

// Limits that the reference does not have.
struct AcceptanceLimits {
  double min_matched_ratio = 0.0;  // 0 to 1
  double min_confidence = 0.0;     // 0 to 1; 0: a scan may be without a confidence
};

struct Verdict {
  AlignmentStatus status = AlignmentStatus::kOk;
  std::string detail;  // empty with kOk
  bool accepted = false;
};

// Judges a result whose own status is ok, aligned with this profile. `estimate` is null where there
// is none. Of `gate`, only the limit of oscillations counts.
[[nodiscard]] Verdict JudgeResult(const AlignResult& result, const ScanEstimate* estimate,
                                  const Profile& profile, const GateOptions& gate,
                                  const AcceptanceLimits& limits);

}  // namespace voxloc

#endif  // VOXLOC_CORE_TRACKING_VERDICT_H_
