// SPDX-License-Identifier: Apache-2.0
//
// Flags that name a file to write. Whether it can be written is asked before the command begins, so
// that no work is lost for a folder that is missing.

#ifndef VOXLOC_CLIENTS_CLI_OUTPUT_FILE_H_
#define VOXLOC_CLIENTS_CLI_OUTPUT_FILE_H_

#include <CLI/CLI.hpp>
#include <string>

namespace voxloc::cli {

// `path` may be "" for nothing and "-" for standard output where the command takes that.
CLI::Option* AddOutputFile(CLI::App* command, const std::string& name, std::string* path,
                           const std::string& help);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_OUTPUT_FILE_H_
