// SPDX-License-Identifier: Apache-2.0
//
// voxloc_chaos: servers under faults and floods, with every scan counted. It starts the servers
// itself, as processes of this same program.

#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "clients/cli/output/output.h"
#include "core/parallel/deadlock_detection.h"
#include "tests/chaos/chaos_options.h"

namespace {

constexpr int kExitViolated = 1;
constexpr int kExitFailed = 2;

int Run(const voxloc::chaos::Command& command, const std::string& json) {
  const absl::StatusOr<voxloc::chaos::Report> report = command.run();
  if (!report.ok()) {
    std::cerr << "voxloc_chaos: " << report.status().message() << "\n";
    return kExitFailed;
  }
  if (report->json.is_null()) return 0;  // a server that was stopped
  voxloc::cli::Json result = report->json;
  result["violations"] = report->violations;
  if (absl::Status status = voxloc::cli::WriteJson(json, result); !status.ok()) {
    std::cerr << "voxloc_chaos: " << status.message() << "\n";
    return kExitFailed;
  }
  for (const std::string& violation : report->violations) {
    std::cerr << "voxloc_chaos: " << violation << "\n";
  }
  return report->violations.empty() ? 0 : kExitViolated;
}

}  // namespace

int main(int argc, char** argv) {
  voxloc::DisableDeadlockDetection();
  signal(SIGPIPE, SIG_IGN);
  CLI::App program(
      "Runs servers under faults and floods, and counts what becomes of every scan. Starts the\n"
      "servers itself, in a temporary folder (TMPDIR). Progress goes to standard error, the result "
      "as\n"
      "JSON to --json. Exit code 0: every count is as it must be; 1: one is not, and standard "
      "error\n"
      "says which; 2: the scenario could not be run.\n\n"
      "  voxloc_chaos restarts --scans 20000 --restarts 4 --engine-fault\n"
      "  voxloc_chaos overload --factor 5 --duration 60 --json overload.json\n"
      "  voxloc_chaos idle-connections --silent 10000 --not-reading 1000\n"
      "  voxloc_chaos soak --duration 3600 --csv soak.csv\n");
  program.require_subcommand(1);
  std::string json = "-";
  const std::vector<voxloc::chaos::Command> commands = {
      voxloc::chaos::AddRestartsCommand(program), voxloc::chaos::AddOverloadCommand(program),
      voxloc::chaos::AddIdleConnectionsCommand(program), voxloc::chaos::AddSoakCommand(program),
      voxloc::chaos::AddServeCommand(program)};
  for (const voxloc::chaos::Command& command : commands) {
    if (command.app->get_name() == "serve") continue;
    command.app->add_option("--json", json, "write the result to FILE; -: to standard output")
        ->type_name("FILE")
        ->capture_default_str();
  }
  CLI11_PARSE(program, argc, argv);
  for (const voxloc::chaos::Command& command : commands) {
    if (command.app->parsed()) return Run(command, json);
  }
  return kExitFailed;
}
