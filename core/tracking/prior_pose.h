// SPDX-License-Identifier: Apache-2.0
//
// PriorPose: a pose known without the scan, and the error bound that it gives along the directions
// that the scan does not observe. Pure functions.

#ifndef VOXLOC_CORE_TRACKING_PRIOR_POSE_H_
#define VOXLOC_CORE_TRACKING_PRIOR_POSE_H_

#include "core/estimate/covariance/degeneracy.h"
#include "core/geometry/covariance.h"
#include "core/geometry/pose.h"

namespace voxloc {

enum class PriorSource { kGuess, kOdometry };

struct PriorPose {
  PriorSource source = PriorSource::kGuess;
  Pose map_T_base;
  Matrix6 covariance = Matrix6::Zero();  // about fixed map axes
};

// How far a result may be off along the directions that its scan does not observe, metres, a
// rotation counting as `degeneracy.rotation_scale_m` times its angle: its distance from the prior
// along these directions, and twice the prior's root mean square error along them. With a prior
// whose errors are normal, the error is smaller in 95 % of cases or more. 0 where the scan observes
// every direction.
[[nodiscard]] double ErrorBoundAlongUnobserved(const Degeneracy& degeneracy,
                                               const Pose& result_map_T_base,
                                               const PriorPose& prior);

}  // namespace voxloc

#endif  // VOXLOC_CORE_TRACKING_PRIOR_POSE_H_
