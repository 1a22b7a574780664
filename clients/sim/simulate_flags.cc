// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "clients/sim/simulate_command.h"

namespace voxloc::sim {
namespace {

// An option whose default is in its variable.
template <typename Value>
void AddFlag(CLI::App& command, const char* group, const char* name, Value& value,
             const char* help) {
  command.add_option(name, value, help)->capture_default_str()->group(group);
}

// The same without a default; the help text describes the default.
template <typename Value>
void AddOptional(CLI::App& command, const char* group, const char* name, Value& value,
                 const char* help) {
  command.add_option(name, value, help)->group(group);
}

// Records the option if it is given, so that it can be rejected with scenes that do not use it.
CLI::Option* RestrictToScenes(std::vector<SceneKind> scenes, CLI::Option* option,
                              SimulateArguments& arguments) {
  return option->each(
      [&arguments, scenes = std::move(scenes), name = option->get_name()](const std::string&) {
        arguments.scene_options.emplace_back(name, scenes);
      });
}

void AddTownFlags(CLI::App& command, SimulateArguments& arguments) {
  TownOptions& town = arguments.simulation.town;
  const auto add = [&](const char* name, double& value, const char* help) {
    RestrictToScenes({SceneKind::kTown}, command.add_option(name, value, help), arguments)
        ->capture_default_str()
        ->group("Town");
  };
  add("--street-spacing", town.street_spacing_m,
      "Set the approximate distance between junctions, m (50 to 300)");
  add("--missing-streets", town.missing_streets,
      "Leave out this share of the inner streets (0 to 1)");
  add("--density", town.building_density, "Build houses on this share of the plots (0 to 1)");
  add("--trees", town.tree_density, "Plant trees at this share of the possible places (0 to 1)");
}

void AddPlantFlags(CLI::App& command, SimulateArguments& arguments) {
  RestrictToScenes({SceneKind::kField},
                   command.add_option("--posts", arguments.simulation.field.posts_per_hectare,
                                      "Set the number of posts and trees per hectare (0 to 100)"),
                   arguments)
      ->capture_default_str()
      ->group("Field");
  RestrictToScenes(
      {SceneKind::kForest},
      command.add_option("--trees-per-hectare", arguments.simulation.forest.trees_per_hectare,
                         "Set the number of trees per hectare (0 to 2000)"),
      arguments)
      ->capture_default_str()
      ->group("Forest");
}

// Options of several scenes, each with its own default.
void AddSharedFlags(CLI::App& command, SimulateArguments& arguments) {
  GivenOptions& given = arguments.given;
  const auto add = [&](const char* name, std::vector<SceneKind> scenes,
                       std::optional<double>& value, const char* help) {
    RestrictToScenes(std::move(scenes), command.add_option(name, value, help), arguments)
        ->group("Several scenes");
  };
  const std::vector<SceneKind> passages = {SceneKind::kCorridor, SceneKind::kTunnel};
  add("--size", {SceneKind::kTown, SceneKind::kField, SceneKind::kForest}, given.size_m,
      "Set the edge of the town, or of the area of the tracks, m (town: 100 to 5000; field: 100 to "
      "2000; forest: 100 to 1000); default 300, in a forest 200");
  add("--relief", {SceneKind::kTown, SceneKind::kField, SceneKind::kForest, SceneKind::kMotorway},
      given.relief_m,
      "Set the approximate height range of the ground, m (0 to 20); default 4 in a town, 0.5 in a "
      "field, 6 in a forest, 8 beside a motorway");
  add("--parked", {SceneKind::kTown, SceneKind::kGarage}, given.parked_car_density,
      "Park cars at this share of the parking places (0 to 1); parked cars are in the map; default "
      "0.45 in a town, 0.6 in a garage");
  add("--length",
      {SceneKind::kCorridor, SceneKind::kTunnel, SceneKind::kHall, SceneKind::kMotorway},
      given.length_m,
      "Set the length that is driven, m (corridor, tunnel: 50 to 3000; motorway: 300 to 3000), or "
      "the length of the hall (25 to 80); default 1000 in a corridor and a tunnel, 1500 on a "
      "motorway, 25 to 80 by the seed in a hall");
  add("--width", {SceneKind::kCorridor, SceneKind::kTunnel, SceneKind::kHall}, given.width_m,
      "Set the distance between the walls, m (8 to 40, in a hall 20 to 60); default by the seed: 8 "
      "to 14, in a hall 20 to 60");
  add("--height", {SceneKind::kCorridor, SceneKind::kTunnel, SceneKind::kHall}, given.height_m,
      "Set the height of the walls, or of the crown of the vault, m (3 to 30, in a hall 5 to 15); "
      "default by the seed: 4 to 8 in a corridor, 5 to 8 in a tunnel, 6 to 12 in a hall");
  add("--heading", passages, given.heading_deg,
      "Set the direction of the axis, from x towards y, deg (-180 to 180); default by the seed");
  add("--slope", passages, given.slope,
      "Set the rise of the axis, m per m (-0.15 to 0.15); default 0 in a corridor, 0.01 to 0.04 up "
      "or down by the seed in a tunnel");
}

// What an old map shows otherwise than the scans.
void AddAgeFlags(CLI::App& command, SimulateArguments& arguments) {
  MapAgeOptions& age = arguments.simulation.map_age;
  const auto add = [&](const char* name, std::vector<SceneKind> scenes, double& value,
                       const char* help) {
    RestrictToScenes(std::move(scenes), command.add_option(name, value, help), arguments)
        ->capture_default_str()
        ->group("Old map");
  };
  const std::vector<SceneKind> built = {SceneKind::kTown, SceneKind::kHall, SceneKind::kGarage,
                                        SceneKind::kMotorway};
  add("--changed-parking", {SceneKind::kTown, SceneKind::kGarage}, age.changed_parking,
      "Change this share of the parking places in the map: cars are gone, others are there (0 to "
      "1)");
  add("--missing-structures", built, age.missing_structures,
      "Leave this share of the houses, racks, rooms or bridges out of the map (0 to 1)");
  add("--moved-structures", built, age.moved_structures,
      "Move this share of them and of the outer walls in the map (0 to 1)");
  add("--moved-by", built, age.moved_by_m, "Set the distance of these moves, m (0.05 to 2)");
}

void AddBeamFlags(CLI::App& command, SimulateArguments& arguments) {
  GivenSensor& given = arguments.sensor;
  const auto add = [&](const char* name, auto& value, const char* help) {
    AddOptional(command, "LiDAR", name, value, help);
  };
  add("--sensor", given.preset,
      "Choose the beams and the range of a kind of LiDAR: spinning-16, spinning-32, spinning-64, "
      "spinning-128 or solid-state; default 32 evenly spaced rings from -25 to 15 deg, 1800 steps, "
      "1 to 100 m. The flags below replace parts");
  add("--rings", given.rings, "Set the number of rings of the LiDAR, evenly spaced (1 to 256)");
  add("--min-elevation", given.min_elevation_deg,
      "Set the elevation of the lowest of evenly spaced rings, deg (-90 to 90)");
  add("--max-elevation", given.max_elevation_deg,
      "Set the elevation of the highest of evenly spaced rings, deg (the lowest to 90)");
  add("--field-of-view", given.field_of_view_deg,
      "Set the horizontal field of view, centred ahead, deg (1 to 360)");
  add("--steps", given.azimuth_steps,
      "Set the number of rays per ring over the field of view (8 to 36000)");
  add("--min-range", given.min_range_m,
      "Drop returns of surfaces nearer than this, m (0 to the maximum range)");
  add("--max-range", given.max_range_m,
      "Drop returns of surfaces farther than this, m (0.1 to 1000)");
}

void AddReturnFlags(CLI::App& command, LidarOptions& lidar) {
  constexpr char kGroup[] = "LiDAR's returns";
  const auto add = [&](const char* name, double& value, const char* help) {
    AddFlag(command, kGroup, name, value, help);
  };
  add("--noise", lidar.range_noise_m, "Set the standard deviation of the range, m (0 to 1)");
  add("--noise-growth", lidar.range_noise_per_m,
      "Add this standard deviation per metre of range, in quadrature, m per m (0 to 0.1)");
  add("--range-bias", lidar.range_bias_m, "Add this to every range, m (-1 to 1)");
  add("--beam-divergence", lidar.beam_divergence_deg,
      "Set the full width of a beam, deg (0 to 2); at edges it measures ranges between fore- and "
      "background (mixed pixels); 0: none");
  add("--dropout", lidar.dropout, "Drop this share of the returns (0 to 1)");
  add("--glass-dropout", lidar.glass_dropout, "Drop this share of the returns of windows (0 to 1)");
  add("--dark-dropout", lidar.dark_car_dropout,
      "Drop this share of the returns of dark cars, three in ten (0 to 1)");
  add("--wet-ground", lidar.wet_ground_dropout,
      "Drop this share of the returns of ground at grazing incidence, less at steeper incidence (0 "
      "to 1)");
  add("--incidence-dropout", lidar.incidence_dropout,
      "Drop this share of the returns of any surface at grazing incidence, much less at steeper "
      "incidence (0 to 1)");
  command
      .add_flag("--keep-missing", lidar.keep_missing,
                "Write missing returns as (0, 0, 0) instead of leaving them out")
      ->group(kGroup);
}

}  // namespace

void AddSceneFlags(CLI::App& command, SimulateArguments& arguments) {
  AddFlag(command, "Scene", "--seed", arguments.seed, "Set the seed of the scene and its map");
  AddFlag(command, "Scene", "--scene", arguments.scene,
          "Choose the scene: town, corridor, tunnel, field, hall, garage, forest or motorway");
  AddTownFlags(command, arguments);
  AddPlantFlags(command, arguments);
  AddSharedFlags(command, arguments);
  AddAgeFlags(command, arguments);
}

void AddLidarFlags(CLI::App& command, SimulateArguments& arguments) {
  AddBeamFlags(command, arguments);
  AddReturnFlags(command, arguments.simulation.lidar);
}

void AddDriveFlags(CLI::App& command, SimulateArguments& arguments) {
  DriveOptions& drive = arguments.simulation.drive;
  TrafficOptions& traffic = arguments.simulation.traffic;
  AddOptional(command, "Drive", "--drive-seed", arguments.drive_seed,
              "Set the seed of the drive, the LiDAR's noise and the traffic; default: --seed");
  AddFlag(command, "Drive", "--scans", drive.scans, "Set the number of scans (1 to 100000)");
  AddFlag(command, "Drive", "--rate", drive.rate_hz, "Set the scan rate, Hz (0.1 to 100)");
  command.add_flag("--skew", arguments.skew, "Let the vehicle move on while a scan is taken")
      ->group("Drive");
  AddOptional(command, "Drive", "--scan-duration", arguments.scan_duration_s,
              "Set the time that a scan with --skew takes, s (0.001 to the time between scans); "
              "default 0.1, or the time between scans where that is shorter");
  AddOptional(command, "Drive", "--stamp-at", arguments.stamp_at,
              "Set the stamp and the pose of a scan with --skew to those after this share of its "
              "duration (0 to 1); 0: of its first ray, which is the default; 0.5: of its middle");
  command
      .add_flag("--point-times", arguments.simulation.point_times,
                "Write when the ray of each point left as the field t of the scans, s since the "
                "stamp; needs --skew")
      ->group("Drive");
  AddOptional(command, "Drive", "--speed", arguments.given.max_speed_mps,
              "Limit the speed, m/s (0.1 to 40); default 3 in a hall, 4 in a garage, 5 in a "
              "forest, 28 on a motorway, otherwise 8");
  AddFlag(command, "Drive", "--lateral", drive.max_lateral_mps2,
          "Limit the lateral acceleration in turns, m/s^2 (0.1 to 10)");
  AddFlag(command, "Drive", "--longitudinal", drive.max_longitudinal_mps2,
          "Limit the acceleration and the braking, m/s^2 (0.1 to 10)");
  AddFlag(command, "Drive", "--sensor-height", drive.sensor_height_m,
          "Set the height of the sensor above the ground, m (0.3 to 10)");
  AddFlag(command, "Moving objects", "--traffic-cars", traffic.cars_per_km,
          "Add this many moving cars per km of street, which are not in the map (0 to 200)");
  AddFlag(command, "Moving objects", "--traffic-people", traffic.pedestrians_per_km,
          "Add this many pedestrians per km of street, who are not in the map (0 to 2000)");
}

void AddMapFlags(CLI::App& command, SimulateArguments& arguments) {
  MapSamplingOptions& map = arguments.simulation.map;
  AddFlag(command, "Map", "--map-spacing", map.spacing_m,
          "Set the distance between map points, m (0.01 to 2)");
  AddFlag(command, "Map", "--map-noise", map.noise_m,
          "Set the standard deviation of map points across their surface, m (0 to 1)");
  AddOptional(command, "Map", "--map-view", arguments.given.map_view_m,
              "Map surfaces up to this distance from a street, m (5 to 200); default 45, in a "
              "field the LiDAR's range");
  AddFlag(command, "Map", "--map-drift", arguments.simulation.map_drift.sigma_m,
          "Displace the map smoothly, as the map of a SLAM drive is, with this standard "
          "deviation along each axis, m (0 to 1); the poses stay those of the true world");
  AddFlag(command, "Map", "--map-drift-wavelength", arguments.simulation.map_drift.wavelength_m,
          "Set the approximate wavelength of the displacement, m (20 to 1000)");
  AddFlag(command, "Map", "--tile-size", arguments.simulation.tile_size_m,
          "Set the edge of a tile, whole metres (5 to 1000)");
  AddFlag(
      command, "Map", "--map-origin", arguments.map_origin,
      "Place the middle of the scene at X,Y,Z in the map, m; tiles are then written in float64");
}

}  // namespace voxloc::sim
