// SPDX-License-Identifier: Apache-2.0
//
// Completion of command lines in shells, from the tables of commands and flags: a script for each
// shell, which calls `voxloc __complete WORD...` at every completion.

#ifndef VOXLOC_CLIENTS_CLI_FLAGS_COMPLETION_H_
#define VOXLOC_CLIENTS_CLI_FLAGS_COMPLETION_H_

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace voxloc::cli {

// The first argument of a command line that asks for what can follow.
inline constexpr char kCompleteCommand[] = "__complete";

// What the last of `words` can become, which is empty at the start of a word; `words` has neither
// the program's name nor kCompleteCommand. Lines: a word, a tab and its description; ":files" where
// names of files can follow as well.
[[nodiscard]] std::string CompletionText(const CLI::App& root,
                                         const std::vector<std::string>& words);

// The names of the shells, and the script for one of them, which its users source.
[[nodiscard]] std::vector<std::string> CompletionShells();
[[nodiscard]] std::string CompletionScript(const std::string& shell);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_FLAGS_COMPLETION_H_
