// SPDX-License-Identifier: Apache-2.0
//
// The commands of voxloc_chaos and the flags that they share.

#ifndef VOXLOC_TESTS_CHAOS_CHAOS_OPTIONS_H_
#define VOXLOC_TESTS_CHAOS_CHAOS_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <functional>

#include "absl/status/statusor.h"
#include "tests/chaos/report.h"
#include "tests/chaos/server_process.h"

namespace voxloc::chaos {

// A command that was chosen on the command line is run through `run`.
struct Command {
  CLI::App* app = nullptr;
  std::function<absl::StatusOr<Report>()> run;
};

[[nodiscard]] Command AddServeCommand(CLI::App& program);
[[nodiscard]] Command AddRestartsCommand(CLI::App& program);
[[nodiscard]] Command AddOverloadCommand(CLI::App& program);
[[nodiscard]] Command AddIdleConnectionsCommand(CLI::App& program);
[[nodiscard]] Command AddSoakCommand(CLI::App& program);

// --gpu, --threads, --points, --set: the servers that a scenario starts, and what they are sent.
void AddServerFlags(CLI::App& app, ServerOptions& server, size_t& points);

}  // namespace voxloc::chaos

#endif  // VOXLOC_TESTS_CHAOS_CHAOS_OPTIONS_H_
