// SPDX-License-Identifier: Apache-2.0
//
// Start poses for replays and benchmarks: the truth, moved by a known amount in directions that a
// seed decides.

#ifndef VOXLOC_CLIENTS_DATASET_PERTURBATION_H_
#define VOXLOC_CLIENTS_DATASET_PERTURBATION_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/geometry/covariance.h"
#include "core/geometry/pose.h"

namespace voxloc {

struct Perturbation {
  Eigen::Vector3d translation_m = Eigen::Vector3d::Zero();  // along the map's axes
  // ROS roll, pitch, yaw about the map's axes.
  Eigen::Vector3d rotation_rpy_deg = Eigen::Vector3d::Zero();
};

// "DX,DY,DZ,DROLL,DPITCH,DYAW": six finite numbers, metres and degrees.
[[nodiscard]] absl::StatusOr<Perturbation> ParsePerturbation(absl::string_view text);

// "SX,SY,SZ,SROLL,SPITCH,SYAW": six standard deviations over 0, metres and degrees, as the
// covariance of a pose whose errors along and about the map's axes are independent.
[[nodiscard]] absl::StatusOr<Matrix6> ParsePoseSigma(absl::string_view text);

// The pose with t' = t + S translation and R' = R_ros(S' rotation) R. The six signs in S and S' are
// independent and depend on the seed and the scan's index only, so a scan gets the same start pose
// whatever was asked before.
[[nodiscard]] Pose Perturb(const Pose& map_T_base, const Perturbation& perturbation, uint64_t seed,
                           size_t scan_index);

}  // namespace voxloc

#endif  // VOXLOC_CLIENTS_DATASET_PERTURBATION_H_
