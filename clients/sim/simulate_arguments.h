// SPDX-License-Identifier: Apache-2.0
//
// What the command line of `voxloc simulate` says, before the scene's defaults are filled in. A
// plain value.

#ifndef VOXLOC_CLIENTS_SIM_SIMULATE_ARGUMENTS_H_
#define VOXLOC_CLIENTS_SIM_SIMULATE_ARGUMENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

struct SimulateArguments {
  SimulationOptions simulation;
  DatasetWriterOptions writer;
  std::string scene = "town";
  GivenOptions given;
  GivenSensor sensor;
  // Options given that only some scenes have, with those scenes.
  std::vector<std::pair<std::string, std::vector<SceneKind>>> scene_options;
  uint64_t seed = 1;
  uint64_t drive_seed = 1;
  bool drive_seed_given = false;
  bool skew = false;
  std::optional<double> scan_duration_s;
  std::optional<double> stamp_at;
  std::string map_origin = "0,0,0";
};

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_SIMULATE_ARGUMENTS_H_
