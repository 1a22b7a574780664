// SPDX-License-Identifier: Apache-2.0
//
// Comparison of two alignments of one scan from different guesses: which is better, and whether
// they agree. Pure functions.

#ifndef VOXLOC_CORE_TRACKING_RESULT_COMPARISON_H_
#define VOXLOC_CORE_TRACKING_RESULT_COMPARISON_H_

#include "core/engine/align.h"
#include "core/geometry/pose.h"

namespace voxloc {

// The largest differences between two poses that count as the same. The defaults cover two
// alignments to one optimum with the "autoware" profile, which may end one step short of it, and
// the error of the odometry between two scans.
struct PoseTolerance {
  double distance_m = 0.5;  // > 0
  double angle_rad = 0.06;  // > 0

  [[nodiscard]] bool Matches(const Pose& a, const Pose& b) const {
    return TranslationDistance(a, b) <= distance_m && RotationDistance(a, b) <= angle_rad;
  }
};

// Whether `one` is better than `other`. Order: accepted, low score, not converged, failed. Of
// equals, the one with the larger BestSum(), which judged profiles compare their stages by.
[[nodiscard]] bool IsBetter(const AlignResult& one, const AlignResult& other,
                            const Profile& profile, int max_oscillations = kMaxOscillations);

// Whether `other`, too, is accepted and ended at the same pose as `best`.
[[nodiscard]] bool AgreesWith(const AlignResult& other, const AlignResult& best,
                              const Profile& profile, const PoseTolerance& same,
                              int max_oscillations = kMaxOscillations);

}  // namespace voxloc

#endif  // VOXLOC_CORE_TRACKING_RESULT_COMPARISON_H_
