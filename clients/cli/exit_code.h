// SPDX-License-Identifier: Apache-2.0
//
// The exit codes of the program.

#ifndef VOXLOC_CLIENTS_CLI_EXIT_CODE_H_
#define VOXLOC_CLIENTS_CLI_EXIT_CODE_H_

#include "absl/status/status.h"

namespace voxloc::cli {

enum class ExitCode {
  kOk = 0,
  kFailed = 1,         // a file, a request or the server's work failed
  kUsage = 2,          // the command line is wrong
  kUnreachable = 3,    // the server cannot be reached or does not answer in time
  kNotAccepted = 4,    // the work was done, but its result is not accepted, or misses an objective
  kInterrupted = 130,  // by Ctrl-C or SIGTERM; what was done was written
};

// Unavailable and DeadlineExceeded are kUnreachable, other errors kFailed.
[[nodiscard]] ExitCode ExitCodeFor(const absl::Status& status);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_EXIT_CODE_H_
