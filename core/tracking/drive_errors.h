// SPDX-License-Identifier: Apache-2.0
//
// DriveErrors: what a drive shows of the errors that its scans have in common: the offset of their
// stamps, and how far the map is displaced where the vehicle drives.
//
// Positions by scans are compared with the way by the odometry, over stretches in which
// displacements of the map become independent of each other. With the offset t, a scan shows the
// base where it is t after its stamp, so that the positions differ by
//   d = t g + errors of variance 2 s^2,   g = v - R^T (v0 + w0 x p)
// with the velocity v at the end and v0, w0 at the start, all in base axes, and the motion R, p of
// the stretch. g is 0 where the twist is the same all the way: then the offset only moves the
// vehicle along its way, and cannot be told. The estimate is that of least squares, with what is
// assumed at the start as one more observation.
//
// s is the standard deviation of the displacement along an axis. What is not the map's (noise of
// scans and odometry) is not known well enough to be subtracted, so (d - t g)^2 / 2 is at least s^2
// in the mean, which is weighed against the start's:
//   s^2 = (n0 s0^2 + sum of (d - t g)^2 / 2) / (n0 + n)   after n independent stretches.
//
// A plain value.

#ifndef VOXLOC_CORE_TRACKING_DRIVE_ERRORS_H_
#define VOXLOC_CORE_TRACKING_DRIVE_ERRORS_H_

#include <Eigen/Core>
#include <deque>
#include <optional>

#include "core/estimate/covariance/covariance_estimator.h"
#include "core/geometry/pose.h"
#include "core/geometry/twist.h"

namespace voxloc {

// Displacements of a map this far apart are taken to be independent: a third of the wavelength of
// the simulator's map distortions (sim::MapDriftOptions).
inline constexpr double kMapChangeM = 20.0;

class DriveErrors {
 public:
  // The pose by the odometry, corrected by what is known of its errors, moves on. `base_twist`: at
  // the end; nullopt where the offset is not to be learnt here.
  void Move(const Pose& from_T_to, const std::optional<Twist>& base_twist);
  // The pose jumps, or is not known any more. What has been learnt stays.
  void Restart() { samples_.clear(); }
  // A scan's result, whose position is observed along each axis, at the pose of the last Move.
  // `start`: what is assumed before anything is seen.
  void Observe(const Pose& map_T_base, const SystematicError& start);

  // Seconds; 0 before anything is seen.
  [[nodiscard]] double StampOffset(const SystematicError& start) const;
  // Of it, with the jitter of single stamps.
  [[nodiscard]] double StampSigma(const SystematicError& start) const;

  // `start` with the time and the position as the drive shows them, for poses as scans show them:
  // with the offset of their stamps. Time: at most kMaxSeconds of a SystematicError. Position: from
  // a quarter of the start's to all of it, since displacements that change over longer distances
  // are not seen.
  [[nodiscard]] SystematicError Adapt(const SystematicError& start) const;

 private:
  struct Sample {
    double way_m = 0.0;
    Pose odometry_T_base;
    std::optional<Twist> base_twist;
    Pose map_T_base;
  };

  double way_m_ = 0.0;
  Pose odometry_T_base_;
  std::optional<Twist> base_twist_;
  std::deque<Sample> samples_;  // of the last stretch, kStepM apart

  // Sums over stretches, of which the oldest are forgotten.
  double stretches_ = 0.0;
  Eigen::Vector3d displacement_m2_ = Eigen::Vector3d::Zero();
  double offset_information_ = 0.0;  // g^2 / (2 s0^2)
  double offset_sum_ = 0.0;          // g d / (2 s0^2)
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_TRACKING_DRIVE_ERRORS_H_
