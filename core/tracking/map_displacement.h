// SPDX-License-Identifier: Apache-2.0
//
// MapDisplacement: how far a map is displaced where a vehicle drives, by its scans and its
// odometry.
//
// Over a distance in which displacements become independent of each other, positions by scans and
// the way by the odometry differ by
//   E[d^2] = 2 s^2 + errors of the scans and of the odometry,
// s: the standard deviation of the displacement along an axis. What is not the map's is not known
// well enough to be subtracted, so d^2 / 2 is at least s^2 in the mean. It is weighed against the
// value from the start:
//   s^2 = (n0 s0^2 + sum of d^2 / 2) / (n0 + n)
// from n independent stretches; never above s0^2, nor below a share of it, since displacements that
// change over longer distances are not seen.
//
// A plain value.

#ifndef VOXLOC_CORE_TRACKING_MAP_DISPLACEMENT_H_
#define VOXLOC_CORE_TRACKING_MAP_DISPLACEMENT_H_

#include <Eigen/Core>
#include <deque>

#include "core/geometry/pose.h"

namespace voxloc {

class MapDisplacement {
 public:
  // Displacements this far apart are independent: a third of the wavelength of the simulator's map
  // distortions (sim::MapDriftOptions).
  static constexpr double kStretchM = 20.0;

  // The pose by the odometry, corrected by what is known of its errors, moves on.
  void Move(const Pose& from_T_to);
  // The pose is not known any more, or jumps.
  void Restart();
  // A scan's result, whose position is observed along each axis, at the pose of the last Move.
  void Observe(const Pose& map_T_base);

  // Standard deviations along the base's axes, metres, for those from the start.
  [[nodiscard]] Eigen::Vector3d Sigma(const Eigen::Vector3d& start_sigma_m) const;

 private:
  struct Sample {
    double way_m = 0.0;
    Pose odometry_T_base;
    Pose map_T_base;
  };

  double way_m_ = 0.0;
  Pose odometry_T_base_;
  std::deque<Sample> samples_;  // of the last stretch, kStepM apart
  double stretches_ = 0.0;
  Eigen::Vector3d sum_m2_ = Eigen::Vector3d::Zero();
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_TRACKING_MAP_DISPLACEMENT_H_
