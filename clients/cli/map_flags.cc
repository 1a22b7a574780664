// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/map_flags.h"

#include <CLI/CLI.hpp>

namespace voxloc::cli {

void AddMapFlags(CLI::App* command, MapFlags* flags) {
  command->add_option("--map", flags->map, "Use this map")->type_name("NAME")->required();
  AddProfileFlag(command, &flags->profile);
}

void AddProfileFlag(CLI::App* command, std::string* profile) {
  command
      ->add_option("--profile", *profile,
                   "Align with this profile: autoware, precise, or another that the server lists")
      ->type_name("P");
}

}  // namespace voxloc::cli
