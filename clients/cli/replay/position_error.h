// SPDX-License-Identifier: Apache-2.0
//
// The error of a position along the vehicle's own axes, and the standard deviation of it by the
// covariance of the answer. The axes are those of the base at the truth: x along the heading, y
// across it to the left, z up.

#ifndef VOXLOC_CLIENTS_CLI_REPLAY_POSITION_ERROR_H_
#define VOXLOC_CLIENTS_CLI_REPLAY_POSITION_ERROR_H_

#include <Eigen/Core>
#include <array>
#include <optional>

#include "clients/cli/output/output.h"
#include "core/geometry/pose.h"
#include "voxloc/v1/geometry.pb.h"

namespace voxloc::cli {

inline constexpr std::array<const char*, 3> kBaseAxisNames = {"along", "across", "up"};

// An error of at most so many standard deviations agrees with its covariance: 99.7 % of a Gaussian.
inline constexpr double kConsistentSigmas = 3.0;

// Estimate minus truth, metres.
[[nodiscard]] Eigen::Vector3d ErrorInBase(const Pose& truth_map_T_base, const Pose& map_T_base);

// Standard deviations in metres; nullopt: no covariance.
[[nodiscard]] std::optional<Eigen::Vector3d> SigmaInBase(const Pose& truth_map_T_base,
                                                         const v1::PoseWithCovariance& map_T_base);

// The standard deviation in the worst direction, metres; nullopt: no covariance.
[[nodiscard]] std::optional<double> LargestSigma_m(const v1::PoseWithCovariance& map_T_base);

// {"along": VALUE, "across": VALUE, "up": VALUE}; `of` gives the value of an axis, 0 to 2.
template <typename Of>
[[nodiscard]] Json BaseAxesJson(const Of& of) {
  Json axes = Json::object();
  for (size_t axis = 0; axis < kBaseAxisNames.size(); ++axis) axes[kBaseAxisNames[axis]] = of(axis);
  return axes;
}

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPLAY_POSITION_ERROR_H_
