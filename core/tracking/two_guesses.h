// SPDX-License-Identifier: Apache-2.0
//
// Two alignments of one scan from different guesses: which is the better one, and whether they
// found the same pose. Pure functions.

#ifndef VOXLOC_CORE_TRACKING_TWO_GUESSES_H_
#define VOXLOC_CORE_TRACKING_TWO_GUESSES_H_

#include "core/engine/align.h"
#include "core/geometry/pose.h"

namespace voxloc {

// How far apart two poses may be that count as the same. By default as far as two alignments of
// one optimum of the "autoware" profile, which stops up to its largest step short of it, and the
// motion that odometry misses between two scans.
struct SamePose {
  double distance_m = 0.5;  // > 0
  double angle_rad = 0.06;  // > 0

  [[nodiscard]] bool Holds(const Pose& a, const Pose& b) const {
    return TranslationDistance(a, b) <= distance_m && RotationDistance(a, b) <= angle_rad;
  }
};

// Whether `one` is better than `other`: an accepted result is better than one of a low score, and
// that is better than one that did not converge or could not be had; of two alike, the one whose
// points' best pairs sum to more, which is the score that judged profiles judge their stages by.
[[nodiscard]] bool IsBetter(const AlignResult& one, const AlignResult& other,
                            const Profile& profile, int max_oscillations = kMaxOscillations);

// Whether `other`, too, is accepted and ended at the same pose as `best`.
[[nodiscard]] bool Confirms(const AlignResult& other, const AlignResult& best,
                            const Profile& profile, const SamePose& same,
                            int max_oscillations = kMaxOscillations);

}  // namespace voxloc

#endif  // VOXLOC_CORE_TRACKING_TWO_GUESSES_H_
