// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/scene_defaults.h"

#include <algorithm>

#include "clients/sim/sensor_preset.h"

namespace voxloc::sim {
namespace {

constexpr double kMaxMapView_m = 200.0;

template <typename T>
void Override(const std::optional<T>& given, T& value) {
  if (given.has_value()) value = *given;
}

double DefaultSpeed(SceneKind scene, double otherwise_mps) {
  switch (scene) {
    case SceneKind::kHall:
      return 3.0;
    case SceneKind::kGarage:
      return 4.0;
    case SceneKind::kForest:
      return 5.0;
    case SceneKind::kMotorway:
      return 28.0;
    default:
      return otherwise_mps;
  }
}

}  // namespace

absl::Status SetSensorOptions(const GivenSensor& given, LidarOptions& lidar) {
  if (given.preset.has_value()) {
    if (absl::Status status = SetSensorPreset(*given.preset, lidar); !status.ok()) return status;
  }
  if (given.rings.has_value() || given.min_elevation_deg.has_value() ||
      given.max_elevation_deg.has_value()) {
    lidar.elevations_deg.clear();
  }
  Override(given.rings, lidar.rings);
  Override(given.min_elevation_deg, lidar.min_elevation_deg);
  Override(given.max_elevation_deg, lidar.max_elevation_deg);
  Override(given.field_of_view_deg, lidar.field_of_view_deg);
  Override(given.azimuth_steps, lidar.azimuth_steps);
  Override(given.min_range_m, lidar.min_range_m);
  Override(given.max_range_m, lidar.max_range_m);
  return absl::OkStatus();
}

void SetSceneOptions(const GivenOptions& given, uint64_t seed, SimulationOptions& options) {
  switch (options.scene) {
    case SceneKind::kTown:
      options.town.seed = seed;
      Override(given.size_m, options.town.size_m);
      Override(given.relief_m, options.town.relief_m);
      Override(given.parked_car_density, options.town.parked_car_density);
      break;
    case SceneKind::kCorridor:
    case SceneKind::kTunnel:
      options.passage =
          SeededPassage(seed, options.scene == SceneKind::kTunnel ? Roof::kVault : Roof::kNone);
      Override(given.length_m, options.passage.length_m);
      Override(given.width_m, options.passage.width_m);
      Override(given.height_m, options.passage.height_m);
      Override(given.heading_deg, options.passage.heading_deg);
      Override(given.slope, options.passage.slope);
      break;
    case SceneKind::kField:
      options.field.seed = seed;
      Override(given.size_m, options.field.size_m);
      Override(given.relief_m, options.field.relief_m);
      options.map.view_distance_m = std::min(options.lidar.max_range_m, kMaxMapView_m);
      break;
    case SceneKind::kHall:
      options.hall = SeededHall(seed);
      Override(given.length_m, options.hall.length_m);
      Override(given.width_m, options.hall.width_m);
      Override(given.height_m, options.hall.height_m);
      break;
    case SceneKind::kGarage:
      options.garage.seed = seed;
      Override(given.parked_car_density, options.garage.parked_car_density);
      break;
    case SceneKind::kForest:
      options.forest.seed = seed;
      Override(given.size_m, options.forest.size_m);
      Override(given.relief_m, options.forest.relief_m);
      break;
    case SceneKind::kMotorway:
      options.motorway.seed = seed;
      Override(given.length_m, options.motorway.length_m);
      Override(given.relief_m, options.motorway.relief_m);
      break;
  }
  options.drive.max_speed_mps = DefaultSpeed(options.scene, options.drive.max_speed_mps);
  Override(given.max_speed_mps, options.drive.max_speed_mps);
  Override(given.map_view_m, options.map.view_distance_m);
}

}  // namespace voxloc::sim
