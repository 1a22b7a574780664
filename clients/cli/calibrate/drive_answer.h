// SPDX-License-Identifier: Apache-2.0
//
// What a drive says without a truth: the answers to its scans, beside its odometry, and the answers
// to the halves of each scan. Covariances are of the scan part alone.

#ifndef VOXLOC_CLIENTS_CLI_CALIBRATE_DRIVE_ANSWER_H_
#define VOXLOC_CLIENTS_CLI_CALIBRATE_DRIVE_ANSWER_H_

#include <cstdint>

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

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_CALIBRATE_DRIVE_ANSWER_H_
