// SPDX-License-Identifier: Apache-2.0
//
// `voxloc simulate`: the command line of the simulator. Its help is the simulator's manual.
//
// The program adds the sub-command, parses, and when the sub-command was given runs it. No server
// is needed.

#ifndef VOXLOC_CLIENTS_SIM_SIMULATE_COMMAND_H_
#define VOXLOC_CLIENTS_SIM_SIMULATE_COMMAND_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/sim/simulation.h"

namespace voxloc::sim {

// What the command line says, before the defaults of the scene and the sensor are filled in.
struct SimulateArguments {
  SimulationOptions simulation;
  DatasetWriterOptions writer;
  std::string scene = "town";
  // Options whose defaults depend on the scene, its seed or the sensor: each sets its value, which
  // replaces the default.
  std::vector<std::function<void(SimulationOptions&)>> given;
  std::optional<std::string> sensor;  // name of a preset
  std::optional<double> map_view_m;
  // Options given that only some scenes have, with those scenes.
  std::vector<std::pair<std::string, std::vector<SceneKind>>> scene_options;
  uint64_t seed = 1;
  std::optional<uint64_t> drive_seed;
  bool skew = false;
  std::optional<double> scan_duration_s;
  std::optional<double> stamp_at;
  bool write_odometry = false;
  OdometryOptions odometry;
  std::optional<uint64_t> odometry_seed;
  std::string map_origin = "0,0,0";
};

// Adds `simulate` to the program. Parsing writes into `arguments`, which must outlive `program`.
CLI::App* AddSimulateCommand(CLI::App& program, SimulateArguments& arguments);

// What the parsed arguments ask for. InvalidArgument names an option that makes no sense.
[[nodiscard]] absl::StatusOr<SimulationOptions> MakeSimulationOptions(
    const SimulateArguments& arguments);

[[nodiscard]] absl::StatusOr<SimulationSummary> RunSimulate(
    const SimulateArguments& arguments, const SimulationProgress& progress = nullptr);

// A few lines for people: what was written where.
[[nodiscard]] std::string DescribeSimulation(const SimulateArguments& arguments,
                                             const SimulationSummary& summary);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_SIMULATE_COMMAND_H_
