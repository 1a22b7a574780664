// SPDX-License-Identifier: Apache-2.0

#include "clients/sim/simulate_flags.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace voxloc::sim {
namespace {

// The options of one group of the help text.
struct FlagGroup {
  CLI::App& command;
  SimulateArguments& arguments;
  const char* title;

  // An option whose default is in its variable.
  template <typename Value>
  CLI::Option* Add(const char* name, Value& value, const char* help) const {
    return command.add_option(name, value, help)->capture_default_str()->group(title);
  }
  // The same without a default; the help text describes the default.
  template <typename Value>
  CLI::Option* AddOptional(const char* name, std::optional<Value>& value, const char* help) const {
    return command.add_option(name, value, help)->group(title);
  }
  // An option whose value set(options, value) applies after the defaults of the scene and the
  // sensor; the help text describes the default.
  template <typename Value = double, typename Set>
  CLI::Option* AddLate(const char* name, const char* help, const Set& set) const {
    const auto record = [&given = arguments.given, set](const Value& value) {
      given.emplace_back([set, value](SimulationOptions& options) { set(options, value); });
    };
    return command.add_option_function<Value>(name, record, help)->group(title);
  }
  CLI::Option* AddSwitch(const char* name, bool& value, const char* help) const {
    return command.add_flag(name, value, help)->group(title);
  }
  // Records the option if it is given, so that it can be rejected with scenes that do not use it.
  void RestrictTo(std::vector<SceneKind> scenes, CLI::Option* option) const {
    option->each(
        [&given = arguments.scene_options, scenes = std::move(scenes),
         name = option->get_name()](const std::string&) { given.emplace_back(name, scenes); });
  }
  template <typename Value>
  void AddFor(std::vector<SceneKind> scenes, const char* name, Value& value,
              const char* help) const {
    RestrictTo(std::move(scenes), Add(name, value, help));
  }
};

void AddSceneFlags(CLI::App& command, SimulateArguments& arguments) {
  const FlagGroup scene{command, arguments, "Scene"};
  scene.Add("--seed", arguments.seed, "Set the seed of the scene and its map");
  scene.Add("--scene", arguments.scene,
            "Choose the scene: town, corridor, tunnel, field, hall, garage, forest, motorway, "
            "rooms or route");
  FlagGroup{command, arguments, "Route"}.AddFor({SceneKind::kRoute}, "--tunnel-length",
                                                arguments.simulation.route.tunnel_length_m,
                                                "Set the length of the tunnel, m (100 to 2000)");
  const FlagGroup town_flags{command, arguments, "Town"};
  TownOptions& town = arguments.simulation.town;
  town_flags.AddFor({SceneKind::kTown}, "--street-spacing", town.street_spacing_m,
                    "Set the approximate distance between junctions, m (50 to 300)");
  town_flags.AddFor({SceneKind::kTown}, "--missing-streets", town.missing_streets,
                    "Leave out this share of the inner streets (0 to 1)");
  town_flags.AddFor({SceneKind::kTown}, "--density", town.building_density,
                    "Build houses on this share of the plots (0 to 1)");
  town_flags.AddFor({SceneKind::kTown}, "--trees", town.tree_density,
                    "Plant trees at this share of the possible places (0 to 1)");
  FlagGroup{command, arguments, "Field"}.AddFor(
      {SceneKind::kField}, "--posts", arguments.simulation.field.posts_per_hectare,
      "Set the number of posts and trees per hectare (0 to 100)");
  FlagGroup{command, arguments, "Forest"}.AddFor({SceneKind::kForest}, "--trees-per-hectare",
                                                 arguments.simulation.forest.trees_per_hectare,
                                                 "Set the number of trees per hectare (0 to 2000)");
}

// Options of several scenes, each with its own default. The options of other scenes than the chosen
// one are ignored.
void AddSharedFlags(CLI::App& command, SimulateArguments& arguments) {
  const FlagGroup flags{command, arguments, "Several scenes"};
  const auto add = [&](std::vector<SceneKind> scenes, const char* name, const char* help,
                       const auto& set) {
    flags.RestrictTo(std::move(scenes), flags.AddLate(name, help, set));
  };
  using Options = SimulationOptions;
  const std::vector<SceneKind> passages = {SceneKind::kCorridor, SceneKind::kTunnel};
  add({SceneKind::kTown, SceneKind::kField, SceneKind::kForest}, "--size",
      "Set the edge of the town, or of the area of the tracks, m (town: 100 to 5000; field: 100 to "
      "2000; forest: 100 to 1000); default 300, in a forest 200",
      [](Options& o, double m) { o.town.size_m = o.field.size_m = o.forest.size_m = m; });
  add({SceneKind::kTown, SceneKind::kField, SceneKind::kForest, SceneKind::kMotorway}, "--relief",
      "Set the approximate height range of the ground, m (0 to 20); default 4 in a town, 0.5 in a "
      "field, 6 in a forest, 8 beside a motorway",
      [](Options& o, double m) {
        o.town.relief_m = o.field.relief_m = o.forest.relief_m = o.motorway.relief_m = m;
      });
  add({SceneKind::kTown, SceneKind::kGarage}, "--parked",
      "Park cars at this share of the parking places (0 to 1); parked cars are in the map; default "
      "0.45 in a town, 0.6 in a garage",
      [](Options& o, double share) {
        o.town.parked_car_density = o.garage.parked_car_density = share;
      });
  add({SceneKind::kCorridor, SceneKind::kTunnel, SceneKind::kHall, SceneKind::kMotorway},
      "--length",
      "Set the length that is driven, m (corridor, tunnel: 50 to 3000; motorway: 300 to 3000), or "
      "the length of the hall (25 to 80); default 1000 in a corridor and a tunnel, 1500 on a "
      "motorway, 25 to 80 by the seed in a hall",
      [](Options& o, double m) { o.passage.length_m = o.hall.length_m = o.motorway.length_m = m; });
  add({SceneKind::kCorridor, SceneKind::kTunnel, SceneKind::kHall}, "--width",
      "Set the distance between the walls, m (8 to 40, in a hall 20 to 60); default by the seed: 8 "
      "to 14, in a hall 20 to 60",
      [](Options& o, double m) { o.passage.width_m = o.hall.width_m = m; });
  add({SceneKind::kCorridor, SceneKind::kTunnel, SceneKind::kHall}, "--height",
      "Set the height of the walls, or of the crown of the vault, m (3 to 30, in a hall 5 to 15); "
      "default by the seed: 4 to 8 in a corridor, 5 to 8 in a tunnel, 6 to 12 in a hall",
      [](Options& o, double m) { o.passage.height_m = o.hall.height_m = m; });
  add(passages, "--heading",
      "Set the direction of the axis, from x towards y, deg (-180 to 180); default by the seed",
      [](Options& o, double deg) { o.passage.heading_deg = deg; });
  add(passages, "--slope",
      "Set the rise of the axis, m per m (-0.15 to 0.15); default 0 in a corridor, 0.01 to 0.04 up "
      "or down by the seed in a tunnel",
      [](Options& o, double slope) { o.passage.slope = slope; });
}

// What an old map shows otherwise than the scans.
void AddAgeFlags(CLI::App& command, SimulateArguments& arguments) {
  const FlagGroup flags{command, arguments, "Old map"};
  MapAgeOptions& age = arguments.simulation.map_age;
  const std::vector<SceneKind> built = {SceneKind::kTown,     SceneKind::kHall,  SceneKind::kGarage,
                                        SceneKind::kMotorway, SceneKind::kRooms, SceneKind::kRoute};
  flags.AddFor({SceneKind::kTown, SceneKind::kGarage, SceneKind::kRoute}, "--changed-parking",
               age.changed_parking,
               "Change this share of the parking places in the map: cars are gone, "
               "others are there (0 to 1)");
  flags.AddFor(
      built, "--missing-structures", age.missing_structures,
      "Leave this share of the houses, racks, furniture, bridges and the like out of the map "
      "(0 to 1)");
  flags.AddFor(built, "--moved-structures", age.moved_structures,
               "Move this share of them and of the outer walls in the map (0 to 1)");
  flags.AddFor(built, "--moved-by", age.moved_by_m,
               "Set the distance of these moves, m (0.05 to 2)");
}

void AddBeamFlags(CLI::App& command, SimulateArguments& arguments) {
  const FlagGroup flags{command, arguments, "LiDAR"};
  using Options = SimulationOptions;
  flags.AddOptional(
      "--sensor", arguments.sensor,
      "Choose the beams and the range of a kind of LiDAR: spinning-16, spinning-32, spinning-64, "
      "spinning-128 or solid-state; default 32 evenly spaced rings from -25 to 15 deg, 1800 steps, "
      "1 to 100 m. The flags below replace parts");
  flags.AddLate<int>("--rings", "Set the number of rings of the LiDAR, evenly spaced (1 to 256)",
                     [](Options& o, int rings) {
                       o.lidar.rings = rings;
                       o.lidar.elevations_deg.clear();
                     });
  flags.AddLate("--min-elevation",
                "Set the elevation of the lowest of evenly spaced rings, deg (-90 to 90)",
                [](Options& o, double deg) {
                  o.lidar.min_elevation_deg = deg;
                  o.lidar.elevations_deg.clear();
                });
  flags.AddLate("--max-elevation",
                "Set the elevation of the highest of evenly spaced rings, deg (the lowest to 90)",
                [](Options& o, double deg) {
                  o.lidar.max_elevation_deg = deg;
                  o.lidar.elevations_deg.clear();
                });
  flags.AddLate("--field-of-view",
                "Set the horizontal field of view, centred ahead, deg (1 to 360)",
                [](Options& o, double deg) { o.lidar.field_of_view_deg = deg; });
  flags.AddLate<int>("--steps",
                     "Set the number of rays per ring over the field of view (8 to 36000)",
                     [](Options& o, int steps) { o.lidar.azimuth_steps = steps; });
  flags.AddLate("--min-range",
                "Drop returns of surfaces nearer than this, m (0 to the maximum range)",
                [](Options& o, double m) { o.lidar.min_range_m = m; });
  flags.AddLate("--max-range", "Drop returns of surfaces farther than this, m (0.1 to 1000)",
                [](Options& o, double m) { o.lidar.max_range_m = m; });
}

void AddReturnFlags(CLI::App& command, SimulateArguments& arguments) {
  const FlagGroup flags{command, arguments, "LiDAR's returns"};
  LidarOptions& lidar = arguments.simulation.lidar;
  flags.Add("--noise", lidar.range_noise_m, "Set the standard deviation of the range, m (0 to 1)");
  flags.Add("--noise-growth", lidar.range_noise_per_m,
            "Add this standard deviation per metre of range, in quadrature, m per m (0 to 0.1)");
  flags.Add("--range-bias", lidar.range_bias_m, "Add this to every range, m (-1 to 1)");
  flags.Add(
      "--beam-divergence", lidar.beam_divergence_deg,
      "Set the full width of a beam, deg (0 to 2); at edges it measures ranges between fore- and "
      "background (mixed pixels); 0: none");
  flags.Add("--dropout", lidar.dropout, "Drop this share of the returns (0 to 1)");
  flags.Add("--glass-dropout", lidar.glass_dropout,
            "Drop this share of the returns of windows (0 to 1)");
  flags.Add("--dark-dropout", lidar.dark_car_dropout,
            "Drop this share of the returns of dark cars, three in ten (0 to 1)");
  flags.Add(
      "--wet-ground", lidar.wet_ground_dropout,
      "Drop this share of the returns of ground at grazing incidence, less at steeper incidence (0 "
      "to 1)");
  flags.Add(
      "--incidence-dropout", lidar.incidence_dropout,
      "Drop this share of the returns of any surface at grazing incidence, much less at steeper "
      "incidence (0 to 1)");
  flags.AddSwitch("--keep-missing", lidar.keep_missing,
                  "Write missing returns as (0, 0, 0) instead of leaving them out");
}

void AddDriveFlags(CLI::App& command, SimulateArguments& arguments) {
  const FlagGroup flags{command, arguments, "Drive"};
  const FlagGroup moving{command, arguments, "Moving objects"};
  DriveOptions& drive = arguments.simulation.drive;
  TrafficOptions& traffic = arguments.simulation.traffic;
  flags.AddOptional(
      "--drive-seed", arguments.drive_seed,
      "Set the seed of the drive, the LiDAR's noise and the traffic; default: --seed");
  flags.Add("--scans", drive.scans, "Set the number of scans (1 to 100000)");
  flags.Add("--rate", drive.rate_hz, "Set the scan rate, Hz (0.1 to 100)");
  flags.AddSwitch("--skew", arguments.skew, "Let the vehicle move on while a scan is taken");
  flags.AddOptional(
      "--scan-duration", arguments.scan_duration_s,
      "Set the time that a scan with --skew takes, s (0.001 to the time between scans); "
      "default 0.1, or the time between scans where that is shorter");
  flags.AddOptional(
      "--stamp-at", arguments.stamp_at,
      "Set the stamp and the pose of a scan with --skew to those after this share of its "
      "duration (0 to 1); 0: of its first ray, which is the default; 0.5: of its middle");
  flags.AddSwitch("--point-times", arguments.simulation.point_times,
                  "Write when the ray of each point left as the field t of the scans, s since the "
                  "stamp; needs --skew");
  flags.AddLate(
      "--speed",
      "Limit the speed, m/s (0.1 to 40); default 1 in rooms, 3 in a hall, 4 in a garage, 5 "
      "in a forest, 28 on a motorway and on a route, otherwise 8",
      [](SimulationOptions& o, double mps) { o.drive.max_speed_mps = mps; });
  flags.Add("--lateral", drive.max_lateral_mps2,
            "Limit the lateral acceleration in turns, m/s^2 (0.1 to 10)");
  flags.Add("--longitudinal", drive.max_longitudinal_mps2,
            "Limit the acceleration and the braking, m/s^2 (0.1 to 10)");
  flags.AddLate(
      "--sensor-height",
      "Set the height of the sensor above the ground, m (0.3 to 10); default 0.6 in rooms, "
      "otherwise 1.9",
      [](SimulationOptions& o, double m) { o.drive.sensor_height_m = m; });
  moving.AddFor({SceneKind::kTown, SceneKind::kCorridor, SceneKind::kTunnel, SceneKind::kField,
                 SceneKind::kHall, SceneKind::kGarage, SceneKind::kForest, SceneKind::kMotorway,
                 SceneKind::kRoute},
                "--traffic-cars", traffic.cars_per_km,
                "Add this many moving cars per km of street, which are not in the map (0 to 200)");
  moving.Add("--traffic-people", traffic.pedestrians_per_km,
             "Add this many pedestrians per km of street, who are not in the map (0 to 2000)");
}

void AddOdometryFlags(CLI::App& command, SimulateArguments& arguments) {
  const FlagGroup flags{command, arguments, "Odometry"};
  OdometryOptions& odometry = arguments.odometry;
  CLI::Option* with = flags.AddSwitch(
      "--odometry", arguments.write_odometry,
      "Write odometry.txt: the poses that wheels and an inertial unit would report");
  flags
      .AddOptional("--odometry-seed", arguments.odometry_seed,
                   "Set the seed of the noise and the slips; default: --drive-seed")
      ->needs(with);
  const auto add = [&](const char* name, double& value, const char* help) {
    flags.Add(name, value, help)->needs(with);
  };
  add("--odometry-scale-error", odometry.scale_error,
      "Count this share of the way too much (-0.5 to 0.5)");
  add("--odometry-position-noise", odometry.position_noise_m,
      "Set the standard deviation along each axis from scan to scan, m (0 to 1)");
  add("--odometry-rotation-noise", odometry.rotation_noise_rad,
      "Set the standard deviation about each axis from scan to scan, rad (0 to 0.1)");
  add("--odometry-yaw-bias", odometry.yaw_bias_radps,
      "Add this to the yaw rate, to the left, rad/s (-0.1 to 0.1)");
  add("--odometry-slips", odometry.slips_per_km,
      "Let the wheels spin or lock this many times per km of way (0 to 50)");
  add("--odometry-slip-length", odometry.slip_length_m,
      "Set the mean length of way of a slip, which is 0.5 to 1.5 times this by the seed, m (0.1 to "
      "10)");
  add("--odometry-slip-size", odometry.slip_size,
      "Count this share of the way too much where wheels spin and too little where they lock (0 to "
      "1)");
}

void AddMapFlags(CLI::App& command, SimulateArguments& arguments) {
  const FlagGroup flags{command, arguments, "Map"};
  MapSamplingOptions& map = arguments.simulation.map;
  flags.Add("--map-spacing", map.spacing_m, "Set the distance between map points, m (0.01 to 2)");
  flags.Add("--map-noise", map.noise_m,
            "Set the standard deviation of map points across their surface, m (0 to 1)");
  flags.AddOptional(
      "--map-view", arguments.map_view_m,
      "Map surfaces up to this distance from a street, m (5 to 200); default 45, in a "
      "field the LiDAR's range");
  flags.Add("--map-drift", arguments.simulation.map_drift.sigma_m,
            "Displace the map smoothly, as the map of a SLAM drive is, with this standard "
            "deviation along each axis, m (0 to 1); the poses stay those of the true world");
  flags.Add("--map-drift-wavelength", arguments.simulation.map_drift.wavelength_m,
            "Set the approximate wavelength of the displacement, m (20 to 1000)");
  flags.Add("--tile-size", arguments.simulation.tile_size_m,
            "Set the edge of a tile, whole metres (5 to 1000)");
  flags.Add(
      "--map-origin", arguments.map_origin,
      "Place the middle of the scene at X,Y,Z in the map, m; tiles are then written in float64");
}

}  // namespace

void AddSimulateFlags(CLI::App& command, SimulateArguments& arguments) {
  const FlagGroup output{command, arguments, "Output"};
  output.AddSwitch("--force", arguments.writer.replace, "Replace an earlier simulation in OUT");
  output.Add("--threads", arguments.writer.threads,
             "Set the number of threads (0 to 1024); 0: one per core");
  AddSceneFlags(command, arguments);
  AddSharedFlags(command, arguments);
  AddAgeFlags(command, arguments);
  AddBeamFlags(command, arguments);
  AddReturnFlags(command, arguments);
  AddDriveFlags(command, arguments);
  AddOdometryFlags(command, arguments);
  AddMapFlags(command, arguments);
}

}  // namespace voxloc::sim
