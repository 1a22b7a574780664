// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/output_file.h"

#include "clients/cli/text_file.h"

namespace voxloc::cli {

CLI::Option* AddOutputFile(CLI::App* command, const std::string& name, std::string* path,
                           const std::string& help) {
  return command->add_option(name, *path, help)
      ->type_name("FILE")
      ->check([](const std::string& text) {
        return text.empty() || text == "-" ? std::string()
                                           : std::string(CheckWritable(text).message());
      });
}

}  // namespace voxloc::cli
