// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/pose_text.h"

#include <cmath>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "core/geometry/angles.h"
#include "core/geometry/euler.h"

namespace voxloc::cli {

absl::StatusOr<std::array<double, 6>> ParseSixNumbers(absl::string_view text,
                                                      absl::string_view names) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ',');
  if (parts.size() != 6) {
    return absl::InvalidArgumentError(absl::StrCat("the value must be 6 numbers, ", names,
                                                   " in metres and degrees (got ", parts.size(),
                                                   ": '", text, "')"));
  }
  std::array<double, 6> values{};
  for (size_t i = 0; i < 6; ++i) {
    const absl::string_view part = absl::StripAsciiWhitespace(parts[i]);
    if (!absl::SimpleAtod(part, &values[i]) || !std::isfinite(values[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", part, "' in '", text, "' is not a finite number"));
    }
  }
  return values;
}

absl::StatusOr<Pose> ParsePoseText(absl::string_view text) {
  const auto n = ParseSixNumbers(text, "X,Y,Z,ROLL,PITCH,YAW");
  if (!n.ok()) return n.status();
  return Pose{Eigen::Vector3d((*n)[0], (*n)[1], (*n)[2]),
              RotationFromRosAngles((*n)[3] / kDegreesPerRadian, (*n)[4] / kDegreesPerRadian,
                                    (*n)[5] / kDegreesPerRadian)};
}

std::array<double, 6> RosNumbers(const Pose& pose) {
  const Eigen::Vector3d angles = RosAnglesFromRotation(pose.rotation) * kDegreesPerRadian;
  return {pose.translation.x(), pose.translation.y(), pose.translation.z(),
          angles.x(),           angles.y(),           angles.z()};
}

std::string PoseText(const Pose& pose) {
  const std::array<double, 6> n = RosNumbers(pose);
  return absl::StrFormat("x %.3f  y %.3f  z %.3f m   roll %.3f  pitch %.3f  yaw %.3f deg", n[0],
                         n[1], n[2], n[3], n[4], n[5]);
}

}  // namespace voxloc::cli
