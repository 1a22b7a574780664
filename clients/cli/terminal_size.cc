// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/terminal_size.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace voxloc::cli {
namespace {

// What VT100 has, and all terminals since.
constexpr TerminalSize kSmallestKnown{80, 24};

}  // namespace

TerminalSize SizeOfTerminal() {
  if (isatty(STDOUT_FILENO) != 1) return {};
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
    return kSmallestKnown;
  }
  return {size.ws_col, size.ws_row};
}

}  // namespace voxloc::cli
