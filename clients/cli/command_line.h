// SPDX-License-Identifier: Apache-2.0
//
// The command line of `voxloc`: builds the tree of commands, reads the arguments, and says what is
// wrong with them.

#ifndef VOXLOC_CLIENTS_CLI_COMMAND_LINE_H_
#define VOXLOC_CLIENTS_CLI_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "clients/cli/commands/commands.h"

namespace voxloc::cli {

struct ParsedCommandLine {
  Work work;                           // empty: nothing is to be done but to print
  ExitCode exit_code = ExitCode::kOk;  // where `work` is empty
  std::string out;                     // for standard output: help, version
  std::string error;                   // for standard error
};

// What a shell takes for these arguments of `voxloc`, to be shown and pasted. It shows no secrets:
// tokens and keys are in files, and no flag takes them.
[[nodiscard]] std::string CommandLineText(const std::vector<std::string>& arguments);

// `arguments` without the program's name. Does not throw.
[[nodiscard]] ParsedCommandLine ParseCommandLine(const std::vector<std::string>& arguments);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_COMMAND_LINE_H_
