// SPDX-License-Identifier: Apache-2.0
//
// Poses as people type and read them: X,Y,Z,ROLL,PITCH,YAW in metres and degrees, with the angles
// of ROS (R = Rz(yaw) Ry(pitch) Rx(roll)).

#ifndef VOXLOC_CLIENTS_CLI_POSE_TEXT_H_
#define VOXLOC_CLIENTS_CLI_POSE_TEXT_H_

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/geometry/pose.h"

namespace voxloc::cli {

// From `least` to `most` finite numbers; spaces around them are allowed. `names` is how messages
// call them, such as "X,Y,Z,ROLL,PITCH,YAW".
[[nodiscard]] absl::StatusOr<std::vector<double>> ParseNumbers(absl::string_view text,
                                                               absl::string_view names,
                                                               size_t least, size_t most);

// Six of them.
[[nodiscard]] absl::StatusOr<std::array<double, 6>> ParseSixNumbers(absl::string_view text,
                                                                    absl::string_view names);

// Six numbers, metres and degrees.
[[nodiscard]] absl::StatusOr<Pose> ParsePoseText(absl::string_view text);

// x, y, z in metres, roll, pitch, yaw in degrees.
[[nodiscard]] std::array<double, 6> RosNumbers(const Pose& pose);

// "x 1.234  y 5.678  z 0.012 m   roll 0.12  pitch -0.03  yaw 91.50 deg"
[[nodiscard]] std::string PoseText(const Pose& pose);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_POSE_TEXT_H_
