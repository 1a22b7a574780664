// SPDX-License-Identifier: Apache-2.0
//
// The error of a pose, that of its position along the vehicle's own axes, and the standard
// deviation of it by the pose's covariance; of one pose and of many. The axes are those of the base
// at the truth: x along the heading, y across it to the left, z up.

#ifndef VOXLOC_CLIENTS_CLI_REPLAY_POSITION_ERROR_H_
#define VOXLOC_CLIENTS_CLI_REPLAY_POSITION_ERROR_H_

#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "clients/cli/output/output.h"
#include "clients/dataset/summary.h"
#include "core/geometry/pose.h"
#include "voxloc/v1/geometry.pb.h"

namespace voxloc::cli {

inline constexpr std::array<const char*, 3> kBaseAxisNames = {"along", "across", "up"};

// An error of at most so many standard deviations agrees with its covariance: 99.7 % of a Gaussian.
inline constexpr double kConsistentSigmas = 3.0;

struct PoseError {
  double translation_m = 0.0;
  double rotation_deg = 0.0;
  Eigen::Vector3d base_m = Eigen::Vector3d::Zero();  // estimate minus truth
  std::optional<Eigen::Vector3d> sigma_base_m;       // nullopt: no covariance

  // Of an error with sigma_base_m; `axis`: 0 to 2.
  [[nodiscard]] bool IsConsistent(size_t axis) const;
};

// `covariance`: of the same pose; its own pose is not read.
[[nodiscard]] PoseError PoseErrorOf(const Pose& truth_map_T_base, const Pose& map_T_base,
                                    const v1::PoseWithCovariance& covariance);

// Of many poses.
struct PoseErrorSummary {
  Summary translation_m;
  Summary rotation_deg;
  std::array<Summary, 3> base_m;        // magnitudes
  std::array<Summary, 3> sigma_base_m;  // of those with a covariance
};
[[nodiscard]] PoseErrorSummary SummarizeErrors(const std::vector<PoseError>& errors);

// Errors with a covariance, and how many of them are consistent with it along each axis.
struct ErrorConsistency {
  size_t of = 0;
  std::array<size_t, 3> consistent{};

  void Add(const PoseError& error);
};

// Estimate minus truth, metres.
[[nodiscard]] Eigen::Vector3d ErrorInBase(const Pose& truth_map_T_base, const Pose& map_T_base);

// Standard deviations in metres; nullopt: no covariance.
[[nodiscard]] std::optional<Eigen::Vector3d> SigmaInBase(const Pose& truth_map_T_base,
                                                         const v1::PoseWithCovariance& map_T_base);

// The standard deviation in the worst direction, metres; nullopt: no covariance.
[[nodiscard]] std::optional<double> LargestSigma_m(const v1::PoseWithCovariance& map_T_base);

// null: nullopt.
[[nodiscard]] Json AxesJson(const std::optional<Eigen::Vector3d>& values_base);

// Each axis, and "of".
[[nodiscard]] Json ConsistencyJson(const ErrorConsistency& consistency);

// Whether each axis is consistent; null without a covariance.
[[nodiscard]] Json ConsistentAxesJson(const PoseError& error);

[[nodiscard]] Json AxisSummariesJson(const std::array<Summary, 3>& axes);

// "along 118, across 120, up 120 of 120"
[[nodiscard]] std::string ConsistencyText(const ErrorConsistency& consistency);

// {"along": VALUE, "across": VALUE, "up": VALUE}; `of` gives the value of an axis, 0 to 2.
template <typename Of>
[[nodiscard]] Json BaseAxesJson(const Of& of) {
  Json axes = Json::object();
  for (size_t axis = 0; axis < kBaseAxisNames.size(); ++axis) axes[kBaseAxisNames[axis]] = of(axis);
  return axes;
}

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPLAY_POSITION_ERROR_H_
