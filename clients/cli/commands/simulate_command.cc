// SPDX-License-Identifier: Apache-2.0

#include "clients/sim/simulate_command.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "clients/cli/commands/commands.h"
#include "clients/cli/output/output_file.h"
#include "clients/cli/output/terminal.h"

namespace voxloc::cli {
namespace {

struct SimulateFlags {
  sim::SimulateArguments arguments;
  std::string json;
};

absl::StatusOr<ExitCode> Simulate(const SimulateFlags& options) {
  std::unique_ptr<ProgressBar> bar;
  std::string step_of_bar;
  const auto progress = [&bar, &step_of_bar](absl::string_view step, size_t done, size_t total) {
    if (bar == nullptr || step_of_bar != step) {
      bar.reset();
      step_of_bar = std::string(step);
      bar = std::make_unique<ProgressBar>("simulating", step_of_bar, total);
    }
    bar->Update(done);
  };
  const absl::StatusOr<sim::SimulationSummary> summary =
      sim::RunSimulate(options.arguments, progress);
  bar.reset();
  if (!summary.ok()) return summary.status();
  return Report(options.json, sim::DescribeSimulation(options.arguments, *summary),
                {{"directory", options.arguments.writer.directory},
                 {"map_points", summary->map_points},
                 {"map_tiles", summary->map_tiles},
                 {"scans", summary->scans},
                 {"scan_points", summary->scan_points},
                 {"drive_length_m", summary->drive_length_m},
                 {"drive_duration_s", summary->drive_duration_s}});
}

}  // namespace

void AddSimulateCommand(CLI::App* parent, Work* chosen) {
  auto options = std::make_shared<SimulateFlags>();
  CLI::App* command = sim::AddSimulateCommand(*parent, options->arguments);
  AddOutputFile(command, "--json", &options->json,
                "Write the counts as JSON to FILE; -: standard output")
      ->group("Output");
  command->callback([options, chosen] { *chosen = [options] { return Simulate(*options); }; });
}

}  // namespace voxloc::cli
