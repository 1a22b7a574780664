// SPDX-License-Identifier: Apache-2.0
//
// The systematic part of the covariance from the innovations of a drive: how far each answer lies
// from where an earlier one, moved by the odometry between the two, says it is.
//
// With errors of answers e = scan part + systematic part, the innovation has the covariance
// C1 + C2 + 2 (1 - rho) S + odometry, where rho is what the systematic errors of both have in
// common. What does not change between the two is not in it. So the drive is looked at over several
// lags, as far as its odometry can be trusted, and the lag that shows the most is believed. Sigmas
// are those at which the median of the squared innovations over their variances is that of chi
// squared, so that answers that are lost do not matter.
//
// The time and skew parts are what grows with speed: sigmas are estimated in the slower half of the
// pairs, the skew in the faster half across the way, then the time along it, in turns. Pure
// functions.

#ifndef VOXLOC_CLIENTS_CLI_CALIBRATE_INNOVATIONS_H_
#define VOXLOC_CLIENTS_CLI_CALIBRATE_INNOVATIONS_H_

#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/cloud/point_cloud.h"
#include "core/geometry/covariance.h"
#include "core/geometry/pose.h"

namespace voxloc::cli {

// A pose with its covariance about fixed map axes, order x y z rx ry rz.
struct UncertainPose {
  Pose map_T_base;
  Matrix6 covariance = Matrix6::Zero();
};

struct DriveAnswer {
  int64_t stamp_ns = 0;
  Pose odometry_T_base;
  UncertainPose answer;
};

// Of one scan, cut in two.
struct HalvesAnswer {
  UncertainPose first;
  UncertainPose second;
};

// An estimate, and what 90 of 100 such drives would give.
struct Estimated {
  double value = 0.0;
  double low = 0.0;
  double high = 0.0;
};

// The scan's clusters of neighbouring points (core/estimate/covariance/point_clusters.h), every
// second one in the first half. Both are empty for a scan of fewer than two clusters.
[[nodiscard]] std::pair<PointCloud, PointCloud> CutInHalves(const PointCloud& scan);

// By how much the scan part is to be multiplied: the median over the scans of the difference's
// squared Mahalanobis distance under C1 + C2, over the median of chi squared with six degrees of
// freedom. At least one scan.
[[nodiscard]] Estimated ScanPartFactor(const std::vector<HalvesAnswer>& scans);

// One standard deviation of what odometry is wrong by, per metre of the way.
struct OdometryNoise {
  double position_ratio = 0.01;  // along each axis
  double turn_rad_per_m = 2e-4;  // about each axis
};

struct LagSummary {
  size_t scans = 0;
  size_t pairs = 0;
  double distance_m = 0.0;  // median
  Eigen::Vector3d position_sigma_m = Eigen::Vector3d::Zero();
  Eigen::Vector3d rotation_sigma_rad = Eigen::Vector3d::Zero();
  // Whether what is known of the pairs, scan parts and odometry, is small enough to be taken off.
  bool reliable_for_position = true;
};

struct LearntSystematic {
  std::vector<LagSummary> lags;
  std::array<Estimated, 3> position_sigma_m;  // along the base's axes
  size_t position_lag = 0;                    // place in `lags`
  std::array<Estimated, 3> rotation_sigma_rad;
  size_t rotation_lag = 0;
  // nullopt: the speeds of the drive are too alike, or too low, to estimate it.
  std::optional<Estimated> time_sigma_s;
  std::optional<Estimated> skew_sigma_s;  // as time_sigma_s
  // The longest ways over which answers were compared.
  double position_distance_m = 0.0;
  double rotation_distance_m = 0.0;
  double slow_m_s = 0.0;  // median speed of the slower half of the pairs
  double fast_m_s = 0.0;  // and of the faster
};

// Of the accepted answers of a drive, in the order of their stamps. FailedPrecondition says what
// the drive lacks: too few pairs of answers that moved.
[[nodiscard]] absl::StatusOr<LearntSystematic> LearnSystematic(
    const std::vector<DriveAnswer>& answers, const OdometryNoise& noise);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_CALIBRATE_INNOVATIONS_H_
