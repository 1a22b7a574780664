// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/simulation.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

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

OptionRows ListSceneOptions(const SimulationOptions& options) {
  switch (options.scene) {
    case SceneKind::kTown:
      return ListOptions(options.town);
    case SceneKind::kCorridor:
    case SceneKind::kTunnel:
      return ListOptions(options.passage);
    case SceneKind::kField:
      return ListOptions(options.field);
    case SceneKind::kHall:
      return ListOptions(options.hall);
    case SceneKind::kGarage:
      return ListOptions(options.garage);
    case SceneKind::kForest:
      return ListOptions(options.forest);
    case SceneKind::kMotorway:
      return ListOptions(options.motorway);
  }
  return {};
}

// All options by their groups in simulation.json.
std::vector<std::pair<absl::string_view, OptionRows>> ListGroups(const SimulationOptions& options) {
  const bool sweeps = options.scan_duration_s != 0.0;
  const OptionRows scan = {{"duration_s", options.scan_duration_s,
                            sweeps ? "scan duration" : nullptr, 0.001, 1.0 / options.drive.rate_hz},
                           {"stamp_at", options.stamp_at, "stamp at", 0.0, 1.0},
                           {"point_times", options.point_times}};
  const Eigen::Vector3d& origin = options.map_origin;
  OptionRows map = ListOptions(options.map);
  map.push_back({"tile_size_m", options.tile_size_m, "tile size", 5, 1000});
  map.push_back(
      {"origin", std::vector<double>(origin.data(), origin.data() + 3), "map origin", -1e8, 1e8});
  return {{ToString(options.scene), ListSceneOptions(options)},
          {"lidar", ListOptions(options.lidar)},
          {"drive", ListOptions(options.drive)},
          {"scan", scan},
          {"traffic", ListOptions(options.traffic)},
          {"map", map},
          {"map_age", ListOptions(options.map_age)},
          {"map_drift", ListOptions(options.map_drift)}};
}

}  // namespace

absl::string_view ToString(SceneKind kind) {
  for (const SceneName& scene : kScenes) {
    if (scene.kind == kind) return scene.name;
  }
  return "unknown";
}

absl::StatusOr<SceneKind> ParseSceneKind(absl::string_view name) {
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

absl::Status Validate(const SimulationOptions& options) {
  absl::Status status = CheckRanges(ListSceneOptions(options));
  status.Update(Validate(options.lidar));
  for (const auto& [group, rows] : ListGroups(options)) status.Update(CheckRanges(rows));
  return status;
}

std::string SimulationJson(const SimulationOptions& options, const SimulationSummary* summary) {
  nlohmann::ordered_json json;
  json["format"] = "voxloc simulation 1";
  json["complete"] = summary != nullptr;
  for (const auto& [group, rows] : ListGroups(options)) {
    nlohmann::ordered_json& written = json[std::string(group)];
    for (const OptionRow& row : rows) {
      if (row.key == nullptr) continue;
      std::visit([&](const auto& value) { written[row.key] = value; }, row.value);
    }
  }
  if (summary != nullptr) {
    json["result"] = {{"solids", summary->solids},
                      {"moving_objects", summary->moving_objects},
                      {"map_points", summary->map_points},
                      {"map_tiles", summary->map_tiles},
                      {"scans", summary->scans},
                      {"scan_points", summary->scan_points},
                      {"drive_length_m", summary->drive_length_m},
                      {"drive_duration_s", summary->drive_duration_s},
                      {"changed_places", summary->map_age.changed_places},
                      {"missing_structures", summary->map_age.missing_structures},
                      {"moved_structures", summary->map_age.moved_structures}};
    nlohmann::ordered_json drift = nlohmann::ordered_json::array();
    for (const DriftAtScan& at : summary->drift_at_scans) {
      drift.push_back({at.displacement_m.x(), at.displacement_m.y(), at.displacement_m.z(),
                       at.rotation_rad.x(), at.rotation_rad.y(), at.rotation_rad.z()});
    }
    if (!drift.empty()) json["result"]["map_drift_at_scans"] = std::move(drift);
  }
  return json.dump(2) + "\n";
}

}  // namespace voxloc::sim
