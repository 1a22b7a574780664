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

namespace {

using voxloc::cli::ExitCode;

ExitCode Run(const std::vector<std::string>& arguments) {
  const voxloc::cli::ParsedCommandLine parsed = voxloc::cli::ParseCommandLine(arguments);
  std::fputs(parsed.out.c_str(), stdout);
  std::fputs(parsed.error.c_str(), stderr);
  if (!parsed.work) return parsed.exit_code;
  const absl::StatusOr<ExitCode> done = parsed.work();
  if (done.ok()) return *done;
  std::fprintf(stderr, "voxloc: %s\n", std::string(done.status().message()).c_str());
  return voxloc::cli::ExitCodeFor(done.status());
}

}  // namespace

int main(int argc, char** argv) {
  voxloc::DisableDeadlockDetection();
  // gRPC writes lines of its own about what calls return, unless somebody has asked for them.
  if (std::getenv("GRPC_VERBOSITY") == nullptr) {
    gpr_set_log_function([](gpr_log_func_args* /*line*/) {});
  }
  try {
    return static_cast<int>(Run(std::vector<std::string>(argv + 1, argv + argc)));
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "voxloc: %s\n", problem.what());
    return static_cast<int>(ExitCode::kFailed);
  }
}
