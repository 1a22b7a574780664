// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/map_flags.h"

#include <CLI/CLI.hpp>

namespace voxloc::cli {

CLI::Option* AddMapFlag(CLI::App* command, std::string* map, const std::string& description) {
  return command->add_option("--map", *map, description)->type_name("NAME");
}

CLI::Option* AddRevisionFlag(CLI::App* command, uint64_t* revision,
                             const std::string& description) {
  return command->add_option("--revision", *revision, description)->type_name("N");
}

void AddMapFlags(CLI::App* command, MapFlags* flags) {
  AddMapFlag(command, &flags->map, "Use this map")->required();
  AddProfileFlag(command, &flags->profile);
}

void AddProfileFlag(CLI::App* command, std::string* profile) {
  command
      ->add_option("--profile", *profile,
                   "Align with this profile: autoware, precise, or another that the server lists")
      ->type_name("P");
}

}  // namespace voxloc::cli
