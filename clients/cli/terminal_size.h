// SPDX-License-Identifier: Apache-2.0
//
// The size of the terminal that standard output is.

#ifndef VOXLOC_CLIENTS_CLI_TERMINAL_SIZE_H_
#define VOXLOC_CLIENTS_CLI_TERMINAL_SIZE_H_

#include <cstddef>

namespace voxloc::cli {

// Zeros where it is none.
struct TerminalSize {
  size_t columns = 0;
  size_t rows = 0;
};

[[nodiscard]] TerminalSize SizeOfTerminal();

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_TERMINAL_SIZE_H_
