// SPDX-License-Identifier: Apache-2.0
//
// A whole simulation: its options, its scene, the data set that it writes, and its record.

#ifndef VOXLOC_CLIENTS_SIM_SIMULATION_H_
#define VOXLOC_CLIENTS_SIM_SIMULATION_H_

#include <Eigen/Core>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/sim/drive.h"
#include "clients/sim/lidar.h"
#include "clients/sim/map_changes.h"
#include "clients/sim/map_sampler.h"
#include "clients/sim/odometry.h"
#include "clients/sim/scenes.h"

namespace voxloc::sim {

// The worlds there are to drive through.
enum class SceneKind {
  kTown,
  kCorridor,
  kTunnel,
  kField,
  kHall,
  kGarage,
  kForest,
  kMotorway,
  kRooms,
  kRoute
};

// As on the command line and in the record: "town" and so on.
[[nodiscard]] absl::string_view ToString(SceneKind kind);
[[nodiscard]] absl::StatusOr<SceneKind> ParseSceneKind(absl::string_view name);

struct SimulationOptions {
  SceneKind scene = SceneKind::kTown;
  TownOptions town;
  PassageOptions passage;  // the corridor or the tunnel
  FieldOptions field;
  HallOptions hall;
  GarageOptions garage;
  ForestOptions forest;
  MotorwayOptions motorway;
  RoomsOptions rooms;
  RouteOptions route;
  LidarOptions lidar;
  DriveOptions drive;
  // How long a scan takes, at most the time from scan to scan; the sensor moves during it. 0:
  // scans are snapshots.
  double scan_duration_s = 0.0;
  // The stamp and the pose of a scan are those after this share of its duration, [0, 1]. 0: of its
  // first ray.
  double stamp_at = 0.0;
  bool point_times = false;                 // write when each point's ray left
  std::optional<OdometryOptions> odometry;  // nullopt: none is written
  TrafficOptions traffic;
  MapSamplingOptions map;
  MapAgeOptions map_age;
  MapDriftOptions map_drift;
  int tile_size_m = 20;  // [5, 1000]
  // Where the world's zero lies in the map's frame, each within 1e8 m.
  Eigen::Vector3d map_origin = Eigen::Vector3d::Zero();
};

[[nodiscard]] absl::Status Validate(const SimulationOptions& options);

// The chosen scene; the options of other scenes are ignored.
[[nodiscard]] absl::StatusOr<World> BuildWorld(const SimulationOptions& options);

// How the map is displaced and turned around a scan's true pose, in the map's frame.
struct DriftAtScan {
  Eigen::Vector3d displacement_m = Eigen::Vector3d::Zero();
  Eigen::Vector3d rotation_rad = Eigen::Vector3d::Zero();  // a rotation vector
};

// Where a drive begins with a part of a world.
struct PartOfDrive {
  std::string name;
  double from_m = 0.0;  // driven since the start
  double from_s = 0.0;  // stamp
};

// Those that a drive reaches before its last scan; none where the world has none.
[[nodiscard]] std::vector<PartOfDrive> PartsOf(const World& world, const Drive& drive,
                                               double last_stamp_s);

struct SimulationSummary {
  size_t solids = 0;
  size_t moving_objects = 0;
  size_t map_points = 0;
  size_t map_tiles = 0;
  size_t scans = 0;
  size_t scan_points = 0;  // of all scans
  double drive_length_m = 0.0;
  double drive_duration_s = 0.0;
  MapAgeCounts map_age;
  std::vector<DriftAtScan> drift_at_scans;  // empty without drift
  std::vector<PartOfDrive> parts;
};

// The record of a simulation, simulation.json: every option under its group, the scene's under its
// name, then "result" where there is one. "complete" says whether there is.
[[nodiscard]] std::string SimulationJson(const SimulationOptions& options,
                                         const SimulationSummary* summary);

struct DatasetWriterOptions {
  std::string directory;  // made where it is missing
  // Replace an earlier simulation in the directory. A directory with anything else in it is never
  // written to.
  bool replace = false;
  int threads = 0;  // 0: all cores
};

// What is being done, and how far it is; one call at a time, from any thread.
using SimulationProgress = std::function<void(absl::string_view phase, size_t done, size_t total)>;

// Runs a simulation and writes it as a data set, whose files the manual in simulate_command.cc
// describes. The same options give the same bytes on any number of threads.
[[nodiscard]] absl::StatusOr<SimulationSummary> WriteSimulation(
    const SimulationOptions& options, const DatasetWriterOptions& writer,
    const SimulationProgress& progress = nullptr);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_SIMULATION_H_
