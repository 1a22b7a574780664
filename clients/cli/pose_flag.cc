// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/pose_flag.h"

#include <CLI/CLI.hpp>

#include "clients/cli/pose_text.h"

namespace voxloc::cli {

CLI::Option* AddSixNumbersFlag(CLI::App* command, const std::string& name, const std::string& names,
                               const std::string& description, std::string* value) {
  CLI::Option* option = command->add_option(name, *value, description);
  option->type_name(names);
  option->check([names](const std::string& text) {
    return std::string(ParseSixNumbers(text, names).status().message());
  });
  if (!value->empty()) option->capture_default_str();
  return option;
}

CLI::Option* AddPoseFlag(CLI::App* command, const std::string& name, const std::string& description,
                         std::string* value) {
  return AddSixNumbersFlag(command, name, "X,Y,Z,ROLL,PITCH,YAW", description, value);
}

}  // namespace voxloc::cli
