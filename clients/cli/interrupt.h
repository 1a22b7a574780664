// SPDX-License-Identifier: Apache-2.0
//
// Ctrl-C, as the wish that a long command ends and keeps what it has done.

#ifndef VOXLOC_CLIENTS_CLI_INTERRUPT_H_
#define VOXLOC_CLIENTS_CLI_INTERRUPT_H_

#include <signal.h>  // NOLINT(modernize-deprecated-headers): POSIX, which <csignal> is not

#include <utility>
#include <vector>

namespace voxloc::cli {

// While one lives, the first SIGINT or SIGTERM is noted, and a second one ends the program as if
// there were none. At most one lives at a time, in the thread that runs the command.
class Interrupt {
 public:
  Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt();

  // Whether a signal has come. Safe from any thread.
  [[nodiscard]] static bool Requested();

 private:
  std::vector<std::pair<int, struct sigaction>> before_;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_INTERRUPT_H_
