// SPDX-License-Identifier: Apache-2.0
//
// voxloc_bench: the engines, the map store and the server, in one process. Reading and thinning are
// outside the timing.

#include <CLI/CLI.hpp>
#include <iostream>
#include <vector>

#include "core/parallel/deadlock_detection.h"
#include "tests/bench/bench_options.h"

int main(int argc, char** argv) {
  voxloc::DisableDeadlockDetection();
  CLI::App program(
      "Measures voxloc's engines, its map store and its server in one process.\n\n"
      "  voxloc_bench align --map map.ply --scans scans --poses poses.txt --guesses guesses.txt\n"
      "  voxloc_bench build --synthetic 1000000 --extent 200\n"
      "  voxloc_bench gpu --json gpu.json\n");
  program.require_subcommand(1);
  const std::vector<voxloc::bench::Command> commands = {
      voxloc::bench::AddAlignCommand(program),       voxloc::bench::AddBuildCommand(program),
      voxloc::bench::AddScoreCommand(program),       voxloc::bench::AddGpuCommand(program),
      voxloc::bench::AddInitialPoseCommand(program), voxloc::bench::AddCoverageCommand(program),
      voxloc::bench::AddProtectionCommand(program),  voxloc::bench::AddQualityCommand(program),
      voxloc::bench::AddAccuracyCommand(program),    voxloc::bench::AddBasinCommand(program),
      voxloc::bench::AddSearchCommand(program),      voxloc::bench::AddEstimateCommand(program),
      voxloc::bench::AddRecoveryCommand(program),    voxloc::bench::AddSweepCommand(program),
      voxloc::bench::AddStoreCommand(program),       voxloc::bench::AddMapExtensionCommand(program),
      voxloc::bench::AddMapFitCommand(program),      voxloc::bench::AddTakeoverCommand(program),
      voxloc::bench::AddRosCloudCommand(program),    voxloc::bench::AddRoundTripCommand(program),
      voxloc::bench::AddMapUpdateCommand(program)};
  CLI11_PARSE(program, argc, argv);
  for (const voxloc::bench::Command& command : commands) {
    if (!command.app->parsed()) continue;
    const absl::Status status = command.run();
    if (status.ok()) return 0;
    std::cerr << "voxloc_bench: " << status.message() << "\n";
    return 1;
  }
  return 2;
}
