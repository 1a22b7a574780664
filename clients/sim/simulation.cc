// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/simulation.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/sim/limits.h"

namespace voxloc::sim {
namespace {

struct SceneName {
  SceneKind kind;
  absl::string_view name;
};
constexpr SceneName kScenes[] = {
    {SceneKind::kTown, "town"},     {SceneKind::kCorridor, "corridor"},
    {SceneKind::kTunnel, "tunnel"}, {SceneKind::kField, "field"},
    {SceneKind::kHall, "hall"},     {SceneKind::kGarage, "garage"},
    {SceneKind::kForest, "forest"}, {SceneKind::kMotorway, "motorway"}};

absl::Status ValidateScene(const SimulationOptions& options) {
  switch (options.scene) {
    case SceneKind::kTown:
      return ValidateTownOptions(options.town);
    case SceneKind::kCorridor:
    case SceneKind::kTunnel:
      return ValidatePassageOptions(options.passage);
    case SceneKind::kField:
      return ValidateFieldOptions(options.field);
    case SceneKind::kHall:
      return ValidateHallOptions(options.hall);
    case SceneKind::kGarage:
      return ValidateGarageOptions(options.garage);
    case SceneKind::kForest:
      return ValidateForestOptions(options.forest);
    case SceneKind::kMotorway:
      return ValidateMotorwayOptions(options.motorway);
  }
  return absl::InvalidArgumentError("no such scene");
}

}  // namespace

absl::string_view ToString(SceneKind kind) {
  for (const SceneName& scene : kScenes) {
    if (scene.kind == kind) return scene.name;
  }
  return "unknown";
}

absl::StatusOr<SceneKind> SceneNamed(absl::string_view name) {
  std::vector<absl::string_view> names;
  for (const SceneName& scene : kScenes) {
    if (scene.name == name) return scene.kind;
    names.push_back(scene.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("scene must be one of ", absl::StrJoin(names, ", "), " (got '", name, "')"));
}

absl::StatusOr<World> BuildWorld(const SimulationOptions& options) {
  const double sight_m = options.lidar.max_range_m;
  switch (options.scene) {
    case SceneKind::kTown:
      return BuildTown(options.town);
    case SceneKind::kCorridor:
      return BuildPassage(options.passage, Roof::kNone, sight_m);
    case SceneKind::kTunnel:
      return BuildPassage(options.passage, Roof::kVault, sight_m);
    case SceneKind::kField:
      return BuildField(options.field, sight_m);
    case SceneKind::kHall:
      return BuildHall(options.hall);
    case SceneKind::kGarage:
      return BuildGarage(options.garage);
    case SceneKind::kForest:
      return BuildForest(options.forest, sight_m);
    case SceneKind::kMotorway:
      return BuildMotorway(options.motorway, sight_m);
  }
  return absl::InvalidArgumentError("no such scene");
}

absl::Status ValidateSimulationOptions(const SimulationOptions& options) {
  absl::Status status = ValidateScene(options);
  status.Update(ValidateLidarOptions(options.lidar));
  status.Update(ValidateDriveOptions(options.drive));
  status.Update(ValidateTrafficOptions(options.traffic));
  status.Update(ValidateMapSamplingOptions(options.map));
  status.Update(ValidateMapAgeOptions(options.map_age));
  status.Update(ValidateMapDriftOptions(options.map_drift));
  status.Update(CheckRange("stamp at", options.stamp_at, 0.0, 1.0));
  if (options.scan_duration_s != 0.0) {
    status.Update(
        CheckRange("scan duration", options.scan_duration_s, 0.001, 1.0 / options.drive.rate_hz));
  }
  status.Update(CheckRange("tile size", options.tile_size_m, 5, 1000));
  for (int axis = 0; axis < 3; ++axis) {
    status.Update(CheckRange("map origin", options.map_origin[axis], -1e8, 1e8));
  }
  return status;
}

}  // namespace voxloc::sim
