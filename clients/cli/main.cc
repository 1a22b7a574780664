// SPDX-License-Identifier: Apache-2.0
//
// voxloc: the command line of the localization service.

#include <grpc/support/log.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "clients/cli/commands/commands.h"
#include "core/parallel/deadlock_detection.h"

using voxloc::cli::ExitCode;

int main(int argc, char** argv) {
  voxloc::DisableDeadlockDetection();
  // gRPC writes lines of its own about what calls return, unless somebody has asked for them.
  if (std::getenv("GRPC_VERBOSITY") == nullptr) {
    gpr_set_log_function([](gpr_log_func_args* /*line*/) {});
  }
  try {
    const voxloc::cli::ParsedCommandLine parsed =
        voxloc::cli::ParseCommandLine(std::vector<std::string>(argv + 1, argv + argc));
    std::fputs(parsed.out.c_str(), stdout);
    std::fputs(parsed.error.c_str(), stderr);
    if (!parsed.work) return static_cast<int>(parsed.exit_code);
    const absl::StatusOr<ExitCode> done = parsed.work();
    if (done.ok()) return static_cast<int>(*done);
    std::fprintf(stderr, "voxloc: %s\n", std::string(done.status().message()).c_str());
    return static_cast<int>(voxloc::cli::ExitCodeFor(done.status()));
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "voxloc: %s\n", problem.what());
    return static_cast<int>(ExitCode::kFailed);
  }
}
