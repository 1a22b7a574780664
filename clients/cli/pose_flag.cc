// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/pose_flag.h"

#include <CLI/CLI.hpp>

#include "clients/cli/pose_text.h"

namespace voxloc::cli {

void AddPoseFlag(CLI::App* command, const std::string& name, const std::string& description,
                 std::string* value) {
  CLI::Option* option = command->add_option(name, *value, description);
  option->type_name("X,Y,Z,ROLL,PITCH,YAW");
  option->check(
      [](const std::string& text) { return std::string(ParsePoseText(text).status().message()); });
  if (!value->empty()) option->capture_default_str();
}

}  // namespace voxloc::cli
