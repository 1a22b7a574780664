// SPDX-License-Identifier: Apache-2.0
//
// OdometryAnchor: the last pose that a scan observed in every direction, propagated by odometry. A
// prior for scans that do not observe every direction, with an uncertainty that grows with the
// distance. Not thread-safe: its session locks.

#ifndef VOXLOC_CORE_TRACKING_ODOMETRY_ANCHOR_H_
#define VOXLOC_CORE_TRACKING_ODOMETRY_ANCHOR_H_

#include <optional>

#include "core/estimate/covariance/calibrated_covariance.h"
#include "core/geometry/covariance.h"
#include "core/geometry/pose.h"
#include "core/tracking/pose_proposal.h"

namespace voxloc {

enum class PriorSource { kGuess, kOdometry };

// A pose known without the scan.
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

class OdometryAnchor {
 public:
  // A scan that observes every direction was accepted here.
  void Set(const Pose& map_T_base, const Pose& odometry_T_base);
  void Reset() { anchor_.reset(); }

  // Updates the odometry pose; call it for every scan, in the order of time. nullopt: odometry is
  // unknown, which resets the anchor.
  void Update(const std::optional<Pose>& odometry_T_base);

  // The pose by odometry. Standard deviations: `drift` * distance travelled since the anchor along
  // each axis, `drift` * angle turned about each axis. nullopt: there is no anchor. `drift` >= 0.
  [[nodiscard]] std::optional<PriorPose> Prior(double drift) const;

 private:
  std::optional<PropagatedPose> anchor_;
  Pose last_odometry_T_base_;
  double distance_m_ = 0.0;
  double rotation_rad_ = 0.0;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_TRACKING_ODOMETRY_ANCHOR_H_
