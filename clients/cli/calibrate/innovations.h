// SPDX-License-Identifier: Apache-2.0
//
// Estimates the systematic part of the covariance from the innovations of a drive: the difference
// between a result and an earlier result propagated by the odometry.
//
// With the error of a result = scan part + systematic part, the covariance of an innovation is
//   C1 + C2 + 2 (1 - rho) S + odometry,
// rho: the correlation of the two systematic errors. A constant error (rho = 1) is not observable.
// Therefore several lags are evaluated, as far as the odometry is accurate enough, and the lag with
// the largest sigmas is used. A sigma is estimated by
//   median(innovation^2 / variance) = median of chi squared with 1 degree of freedom,
// which is robust against outliers.
//
// The time and skew parts grow with speed. Alternately: sigmas from the slower half of the pairs,
// the skew from the faster half across the direction of travel, the time along it. Pure functions.

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

// The answers to the halves of one scan.
struct HalvesAnswer {
  UncertainPose first;
  UncertainPose second;
};

// An estimate with its 90 % interval.
struct IntervalEstimate {
  double value = 0.0;
  double low = 0.0;
  double high = 0.0;
};

// The scan's clusters of neighbouring points (core/estimate/covariance/cluster_covariance.h), every
// second one in the first half. Both are empty for a scan of fewer than two clusters.
[[nodiscard]] std::pair<PointCloud, PointCloud> SplitInHalves(const PointCloud& scan);

// The factor for the covariance of the scan part, with d the difference of a scan's halves:
//   median(d^T (C1 + C2)^-1 d) / median of chi squared with 6 degrees of freedom.
// At least one scan.
[[nodiscard]] IntervalEstimate ScanPartFactor(const std::vector<HalvesAnswer>& scans);

// Standard deviation of the odometry's error per metre of distance.
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
  // Whether the known part of the variance, scan parts and odometry, is small enough to subtract.
  bool reliable_for_position = true;
};

struct SystematicEstimate {
  std::vector<LagSummary> lags;
  std::array<IntervalEstimate, 3> position_sigma_m;  // along the base's axes
  size_t position_lag = 0;                           // place in `lags`
  std::array<IntervalEstimate, 3> rotation_sigma_rad;
  size_t rotation_lag = 0;
  // nullopt: the speeds of the drive are too alike, or too low, to estimate it.
  std::optional<IntervalEstimate> time_sigma_s;
  std::optional<IntervalEstimate> skew_sigma_s;  // as time_sigma_s
  // The longest ways over which answers were compared.
  double position_distance_m = 0.0;
  double rotation_distance_m = 0.0;
  double slow_m_s = 0.0;  // median speed of the slower half of the pairs
  double fast_m_s = 0.0;  // and of the faster
};

// `answers`: the accepted ones of a drive, in the order of their stamps. FailedPrecondition says
// what the drive lacks: too few pairs of answers that moved.
[[nodiscard]] absl::StatusOr<SystematicEstimate> EstimateSystematic(
    const std::vector<DriveAnswer>& answers, const OdometryNoise& noise);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_CALIBRATE_INNOVATIONS_H_
