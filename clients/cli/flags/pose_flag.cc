// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/flags/pose_flag.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "clients/cli/flags/option.h"
#include "clients/cpp/messages.h"
#include "clients/dataset/perturbation.h"
#include "core/geometry/angles.h"
#include "core/geometry/euler.h"
#include "core/status/try.h"

namespace voxloc::cli {

absl::StatusOr<std::vector<double>> ParseNumbers(absl::string_view text, absl::string_view names,
                                                 size_t least, size_t most) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ',');
  if (parts.size() < least || parts.size() > most) {
    const std::string count =
        least == most ? absl::StrCat(least) : absl::StrCat(least, " to ", most);
    return absl::InvalidArgumentError(absl::StrCat("the value must be ", count, " numbers, ", names,
                                                   " in metres and degrees (got ", parts.size(),
                                                   ": '", text, "')"));
  }
  std::vector<double> values;
  for (const absl::string_view given : parts) {
    const absl::string_view part = absl::StripAsciiWhitespace(given);
    double value = 0.0;
    if (!absl::SimpleAtod(part, &value) || !std::isfinite(value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", part, "' in '", text, "' is not a finite number"));
    }
    values.push_back(value);
  }
  return values;
}

absl::StatusOr<std::array<double, 6>> ParseSixNumbers(absl::string_view text,
                                                      absl::string_view names) {
  VOXLOC_ASSIGN_OR_RETURN(const auto numbers, ParseNumbers(text, names, 6, 6));
  std::array<double, 6> values{};
  std::copy(numbers.begin(), numbers.end(), values.begin());
  return values;
}

absl::StatusOr<Pose> ParsePoseText(absl::string_view text) {
  VOXLOC_ASSIGN_OR_RETURN(const auto n, ParseSixNumbers(text, "X,Y,Z,ROLL,PITCH,YAW"));
  return Pose{Eigen::Vector3d(n[0], n[1], n[2]),
              RotationFromRosAngles(n[3] / kDegreesPerRadian, n[4] / kDegreesPerRadian,
                                    n[5] / kDegreesPerRadian)};
}

CLI::Option* AddNumbersFlag(CLI::App* command, const std::string& name, const std::string& names,
                            size_t least, size_t most, const std::string& description,
                            std::string* value) {
  CLI::Option* option = command->add_option(name, *value, description);
  option->type_name(names);
  option->check([names, least, most](const std::string& text) {
    return std::string(ParseNumbers(text, names, least, most).status().message());
  });
  if (!value->empty()) option->capture_default_str();
  return option;
}

CLI::Option* AddSixNumbersFlag(CLI::App* command, const std::string& name, const std::string& names,
                               const std::string& description, std::string* value) {
  return AddNumbersFlag(command, name, names, 6, 6, description, value);
}

CLI::Option* AddPoseFlag(CLI::App* command, const std::string& name, const std::string& description,
                         std::string* value) {
  return AddSixNumbersFlag(command, name, "X,Y,Z,ROLL,PITCH,YAW", description, value);
}

constexpr char kBoxNames[] = "X0,Y0,Z0,X1,Y1,Z1";

CLI::Option* AddBoxFlag(CLI::App* command, const std::string& name, const std::string& description,
                        std::string* value) {
  return AddSixNumbersFlag(command, name, kBoxNames, description, value);
}

absl::Status ParseBox(absl::string_view text, v1::Box* box) {
  VOXLOC_ASSIGN_OR_RETURN(const auto n, ParseSixNumbers(text, kBoxNames));
  client::EncodeVector({n[0], n[1], n[2]}, box->mutable_min());
  client::EncodeVector({n[3], n[4], n[5]}, box->mutable_max());
  return absl::OkStatus();
}

void AddPerturbFlag(CLI::App* command, std::string* value) {
  AddOption(command, "--perturb", *value, "DX,DY,DZ,DROLL,DPITCH,DYAW",
            "Move each guess by metres along the map's axes and degrees about them")
      ->check([](const std::string& text) {
        return std::string(ParsePerturbation(text).status().message());
      });
}

CLI::Option* AddCalibrationFlag(CLI::App* command, std::string* file) {
  return AddOption(command, "--calib", *file, "FILE",
                   "Take the poses to be those of KITTI's left camera, and move them to the LiDAR "
                   "by this calibration (calib.txt)");
}

}  // namespace voxloc::cli
