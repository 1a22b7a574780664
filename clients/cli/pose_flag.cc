// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/pose_flag.h"

#include <CLI/CLI.hpp>

#include "clients/cli/pose_text.h"

namespace voxloc::cli {

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

CLI::Option* AddCalibrationFlag(CLI::App* command, std::string* file) {
  return command
      ->add_option(
          "--calib", *file,
          "Take the poses to be those of KITTI's left camera, and move them to the LiDAR by "
          "this calibration (calib.txt)")
      ->type_name("FILE");
}

}  // namespace voxloc::cli
