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
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/sim/dataset_writer.h"
#include "clients/sim/simulation.h"

namespace voxloc::sim {

// Options whose default depends on the scene or on its seed; empty unless given.
struct GivenOptions {
  std::optional<double> size_m;
  std::optional<double> relief_m;
  std::optional<double> parked_car_density;
  std::optional<double> length_m;
  std::optional<double> width_m;
  std::optional<double> height_m;
  std::optional<double> heading_deg;
  std::optional<double> slope;
  std::optional<double> map_view_m;
  std::optional<double> max_speed_mps;
};

// The LiDAR's beams and range: a preset and what replaces parts of it; empty unless given.
struct GivenSensor {
  std::optional<std::string> preset;
  std::optional<int> rings;
  std::optional<double> min_elevation_deg;
  std::optional<double> max_elevation_deg;
  std::optional<double> field_of_view_deg;
  std::optional<int> azimuth_steps;
  std::optional<double> min_range_m;
  std::optional<double> max_range_m;
};

// What the command line says, before the defaults of the scene and the sensor are filled in.
struct SimulateArguments {
  SimulationOptions simulation;
  DatasetWriterOptions writer;
  std::string scene = "town";
  GivenOptions given;
  GivenSensor sensor;
  // Options given that only some scenes have, with those scenes.
  std::vector<std::pair<std::string, std::vector<SceneKind>>> scene_options;
  uint64_t seed = 1;
  std::optional<uint64_t> drive_seed;
  bool skew = false;
  std::optional<double> scan_duration_s;
  std::optional<double> stamp_at;
  std::string map_origin = "0,0,0";
};

// The flags by subject. Parsing writes into `arguments`, which must outlive the command.
void AddSceneFlags(CLI::App& command, SimulateArguments& arguments);
void AddLidarFlags(CLI::App& command, SimulateArguments& arguments);
void AddDriveFlags(CLI::App& command, SimulateArguments& arguments);
void AddMapFlags(CLI::App& command, SimulateArguments& arguments);

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
