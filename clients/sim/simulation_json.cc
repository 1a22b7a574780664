// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/simulation_json.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace voxloc::sim {
namespace {

nlohmann::ordered_json SceneJson(const SimulationOptions& options) {
  switch (options.scene) {
    case SceneKind::kTown:
      return {{"seed", options.town.seed},
              {"size_m", options.town.size_m},
              {"street_spacing_m", options.town.street_spacing_m},
              {"missing_streets", options.town.missing_streets},
              {"building_density", options.town.building_density},
              {"tree_density", options.town.tree_density},
              {"parked_car_density", options.town.parked_car_density},
              {"relief_m", options.town.relief_m}};
    case SceneKind::kCorridor:
    case SceneKind::kTunnel:
      return {{"length_m", options.passage.length_m},
              {"width_m", options.passage.width_m},
              {"height_m", options.passage.height_m},
              {"slope", options.passage.slope},
              {"heading_deg", options.passage.heading_deg}};
    case SceneKind::kField:
      return {{"seed", options.field.seed},
              {"size_m", options.field.size_m},
              {"relief_m", options.field.relief_m},
              {"posts_per_hectare", options.field.posts_per_hectare}};
    case SceneKind::kHall:
      return {{"seed", options.hall.seed},
              {"width_m", options.hall.width_m},
              {"length_m", options.hall.length_m},
              {"height_m", options.hall.height_m}};
    case SceneKind::kGarage:
      return {{"seed", options.garage.seed},
              {"parked_car_density", options.garage.parked_car_density}};
    case SceneKind::kForest:
      return {{"seed", options.forest.seed},
              {"size_m", options.forest.size_m},
              {"relief_m", options.forest.relief_m},
              {"trees_per_hectare", options.forest.trees_per_hectare}};
    case SceneKind::kMotorway:
      return {{"seed", options.motorway.seed},
              {"length_m", options.motorway.length_m},
              {"relief_m", options.motorway.relief_m}};
  }
  return {};
}

}  // namespace

std::string SimulationJson(const SimulationOptions& options, const SimulationSummary* summary) {
  nlohmann::ordered_json json;
  json["format"] = "voxloc simulation 1";
  json["complete"] = summary != nullptr;
  json[std::string(ToString(options.scene))] = SceneJson(options);
  json["lidar"] = {{"seed", options.lidar.seed},
                   {"rings", options.lidar.rings},
                   {"min_elevation_deg", options.lidar.min_elevation_deg},
                   {"max_elevation_deg", options.lidar.max_elevation_deg},
                   {"elevations_deg", options.lidar.elevations_deg},
                   {"field_of_view_deg", options.lidar.field_of_view_deg},
                   {"azimuth_steps", options.lidar.azimuth_steps},
                   {"min_range_m", options.lidar.min_range_m},
                   {"max_range_m", options.lidar.max_range_m},
                   {"range_noise_m", options.lidar.range_noise_m},
                   {"range_noise_per_m", options.lidar.range_noise_per_m},
                   {"range_bias_m", options.lidar.range_bias_m},
                   {"beam_divergence_deg", options.lidar.beam_divergence_deg},
                   {"dropout", options.lidar.dropout},
                   {"glass_dropout", options.lidar.glass_dropout},
                   {"dark_car_dropout", options.lidar.dark_car_dropout},
                   {"wet_ground_dropout", options.lidar.wet_ground_dropout},
                   {"incidence_dropout", options.lidar.incidence_dropout},
                   {"keep_missing", options.lidar.keep_missing}};
  json["drive"] = {{"seed", options.drive.seed},
                   {"scans", options.drive.scans},
                   {"rate_hz", options.drive.rate_hz},
                   {"max_speed_mps", options.drive.max_speed_mps},
                   {"max_lateral_mps2", options.drive.max_lateral_mps2},
                   {"max_longitudinal_mps2", options.drive.max_longitudinal_mps2},
                   {"sensor_height_m", options.drive.sensor_height_m}};
  json["scan"] = {{"duration_s", options.scan_duration_s},
                  {"stamp_at", options.stamp_at},
                  {"point_times", options.point_times}};
  json["traffic"] = {{"seed", options.traffic.seed},
                     {"cars_per_km", options.traffic.cars_per_km},
                     {"pedestrians_per_km", options.traffic.pedestrians_per_km}};
  json["map"] = {
      {"seed", options.map.seed},
      {"spacing_m", options.map.spacing_m},
      {"noise_m", options.map.noise_m},
      {"view_distance_m", options.map.view_distance_m},
      {"tile_size_m", options.tile_size_m},
      {"origin", {options.map_origin.x(), options.map_origin.y(), options.map_origin.z()}}};
  json["map_age"] = {{"seed", options.map_age.seed},
                     {"changed_parking", options.map_age.changed_parking},
                     {"missing_structures", options.map_age.missing_structures},
                     {"moved_structures", options.map_age.moved_structures},
                     {"moved_by_m", options.map_age.moved_by_m}};
  json["map_drift"] = {{"seed", options.map_drift.seed},
                       {"sigma_m", options.map_drift.sigma_m},
                       {"wavelength_m", options.map_drift.wavelength_m}};
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
