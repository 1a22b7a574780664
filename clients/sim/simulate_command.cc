// SPDX-License-Identifier: Apache-2.0
//
// One file, because the manual describes the flags that are made below it.

#include "clients/sim/simulate_command.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/status/try.h"

namespace voxloc::sim {
namespace {

// The texts of `voxloc simulate --help` around its flags: the manual of the simulator.
constexpr char kSimulateDescription[] =
    "Simulate the drive of a vehicle with a LiDAR through a town, a hall, a garage, a forest, "
    "along a motorway, or through a scene where scans do not observe the whole pose; write the "
    "map, the scans and the exact poses.";

constexpr char kSimulateManual[] = R"(
Output:
  OUT/map/              tiles in Autoware's layout: pointcloud_map_metadata.yaml and
                        pointcloud_map.pcd/<x>_<y>.pcd (x, y: lowest corner in metres)
  OUT/scans/000000.pcd  one scan per file, in the sensor's frame (x ahead, y left, z up)
  OUT/poses.txt         the exact map_T_base of each scan, KITTI format: 12 numbers per line
  OUT/poses_tum.txt     the same as: stamp x y z qx qy qz qw
  OUT/simulation.json   every option and seed, and the counts
The base frame is the sensor's own frame. A scan is a snapshot at its stamp, without motion
distortion; with --skew its stamp and its pose are those of its first ray unless --stamp-at is
given, each point is in the sensor's frame at the moment of its own ray, and --point-times writes
that moment as the field t, in seconds since the stamp. Range noise is along the ray. Without noise,
every point within 100 m is on a surface to 0.01 mm. Parked cars are in the map; moving cars and
pedestrians are in the scans only. The same options give the same bytes with any number of threads.

Scenes:
  town      streets, houses, trees, parked cars: scans observe the whole pose
  corridor  a straight street between smooth walls without a visible end: scans do not observe the
            position along it
  tunnel    the same under a vault, uphill or downhill
  field     open ground with tracks across it: scans observe z, roll and pitch, and x, y and yaw by
            the relief and the posts only; not at all with --relief 0 and --posts 0
  hall      inside a warehouse or a factory: racks, machines, goods, columns, gates, roof beams
  garage    two storeys under low ceilings, joined by ramps: both alike, with different cars
  forest    trunks, crowns and undergrowth on undulating ground with tracks through it
  motorway  two carriageways with guard rails, gantries, bridges and noise walls, almost straight
Each seed gives another geometry. The drive of a garage starts on either storey and takes the ramps.

Examples:
  The demo's drive: 300 m of town, 200 scans, 20 seconds
    voxloc simulate --size 300 --scans 200 demo
  The accuracy set: nothing moves, 2 cm of noise, map points every 5 cm, 800 m driven;
  replay then thins each scan to about 1,500 points
    voxloc simulate --seed 1 --scans 240 --rate 2 --noise 0.02 --map-spacing 0.05 accuracy
    voxloc map load --map accuracy accuracy/map
    voxloc replay --map accuracy --scans accuracy/scans --poses accuracy/poses.txt \
        --points 1500 --perturb 0.5,0.5,0,0,0,2
  Dense traffic: many objects in the scans are not in the map
    voxloc simulate --traffic-cars 60 --traffic-people 300 --parked 0.9 --scans 400 traffic
  The same town at UTM coordinates with another drive
    voxloc simulate --seed 1 --drive-seed 7 --map-origin 400000,4000000,100 utm
  Drives where scans do not observe the whole pose
    voxloc simulate --scene corridor --scans 240 --rate 2 corridor
    voxloc simulate --scene tunnel --length 500 --slope 0.04 tunnel
    voxloc simulate --scene field --size 150 --relief 0 --posts 2 --max-range 60 field
  A sensor with 128 rings and its imperfections in wet weather
    voxloc simulate --sensor spinning-128 --noise-growth 0.0005 --beam-divergence 0.15 \
        --glass-dropout 0.6 --dark-dropout 0.3 --incidence-dropout 0.8 --wet-ground 0.9 wet
  A map with the smooth errors of a SLAM drive that is also a few years old
    voxloc simulate --map-drift 0.05 --changed-parking 0.7 --missing-structures 0.1 \
        --moved-structures 0.1 old
  Two minutes in a garage, and a motorway at 100 km/h
    voxloc simulate --scene garage --seed 7 --scans 240 --rate 2 garage
    voxloc simulate --scene motorway --scans 200 --rate 5 --map-spacing 0.1 motorway
)";

constexpr double kMaxMapView_m = 200.0;

double DefaultSpeed(SceneKind scene, double default_mps) {
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
      return default_mps;
  }
}

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
  void AddOptional(const char* name, std::optional<Value>& value, const char* help) const {
    command.add_option(name, value, help)->group(title);
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
  void AddSwitch(const char* name, bool& value, const char* help) const {
    command.add_flag(name, value, help)->group(title);
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
            "Choose the scene: town, corridor, tunnel, field, hall, garage, forest or motorway");
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
  const std::vector<SceneKind> built = {SceneKind::kTown, SceneKind::kHall, SceneKind::kGarage,
                                        SceneKind::kMotorway};
  flags.AddFor({SceneKind::kTown, SceneKind::kGarage}, "--changed-parking", age.changed_parking,
               "Change this share of the parking places in the map: cars are gone, "
               "others are there (0 to 1)");
  flags.AddFor(built, "--missing-structures", age.missing_structures,
               "Leave this share of the houses, racks, rooms or bridges out of the map (0 "
               "to 1)");
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
  flags.AddLate("--speed",
                "Limit the speed, m/s (0.1 to 40); default 3 in a hall, 4 in a garage, 5 in a "
                "forest, 28 on a motorway, otherwise 8",
                [](SimulationOptions& o, double mps) { o.drive.max_speed_mps = mps; });
  flags.Add("--lateral", drive.max_lateral_mps2,
            "Limit the lateral acceleration in turns, m/s^2 (0.1 to 10)");
  flags.Add("--longitudinal", drive.max_longitudinal_mps2,
            "Limit the acceleration and the braking, m/s^2 (0.1 to 10)");
  flags.Add("--sensor-height", drive.sensor_height_m,
            "Set the height of the sensor above the ground, m (0.3 to 10)");
  moving.Add("--traffic-cars", traffic.cars_per_km,
             "Add this many moving cars per km of street, which are not in the map (0 to 200)");
  moving.Add("--traffic-people", traffic.pedestrians_per_km,
             "Add this many pedestrians per km of street, who are not in the map (0 to 2000)");
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

CLI::App* AddSimulateCommand(CLI::App& program, SimulateArguments& arguments) {
  CLI::App* command = program.add_subcommand("simulate", kSimulateDescription);
  command->footer(kSimulateManual);
  command
      ->add_option("OUT", arguments.writer.directory,
                   "Write to this directory, which must be empty or new")
      ->required();
  const FlagGroup output{*command, arguments, "Output"};
  output.AddSwitch("--force", arguments.writer.replace, "Replace an earlier simulation in OUT");
  output.Add("--threads", arguments.writer.threads,
             "Set the number of threads (0 to 1024); 0: one per core");
  AddSceneFlags(*command, arguments);
  AddSharedFlags(*command, arguments);
  AddAgeFlags(*command, arguments);
  AddBeamFlags(*command, arguments);
  AddReturnFlags(*command, arguments);
  AddDriveFlags(*command, arguments);
  AddMapFlags(*command, arguments);
  return command;
}

absl::StatusOr<SimulationOptions> MakeSimulationOptions(const SimulateArguments& arguments) {
  SimulationOptions options = arguments.simulation;
  VOXLOC_ASSIGN_OR_RETURN(const SceneKind scene, ParseSceneKind(arguments.scene));
  options.scene = scene;
  for (const auto& [name, scenes] : arguments.scene_options) {
    if (std::find(scenes.begin(), scenes.end(), scene) != scenes.end()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has no use in --scene ", arguments.scene,
        "; it is for: ", absl::StrJoin(scenes, ", ", [](std::string* out, SceneKind kind) {
          absl::StrAppend(out, ToString(kind));
        })));
  }
  if (arguments.sensor.has_value()) VOXLOC_TRY(SetSensorPreset(*arguments.sensor, options.lidar));
  options.town.seed = options.field.seed = options.garage.seed = arguments.seed;
  options.forest.seed = options.motorway.seed = arguments.seed;
  options.hall = SeededHall(arguments.seed);
  options.passage =
      SeededPassage(arguments.seed, scene == SceneKind::kTunnel ? Roof::kVault : Roof::kNone);
  options.drive.max_speed_mps = DefaultSpeed(scene, options.drive.max_speed_mps);
  for (const auto& set : arguments.given) set(options);
  if (scene == SceneKind::kField) {
    options.map.view_distance_m = std::min(options.lidar.max_range_m, kMaxMapView_m);
  }
  options.map.view_distance_m = arguments.map_view_m.value_or(options.map.view_distance_m);
  options.map.seed = arguments.seed;
  options.map_age.seed = arguments.seed;
  options.map_drift.seed = arguments.seed;
  const uint64_t drive_seed = arguments.drive_seed.value_or(arguments.seed);
  options.drive.seed = drive_seed;
  options.lidar.seed = drive_seed;
  options.traffic.seed = drive_seed;
  if (arguments.skew) {
    options.scan_duration_s =
        arguments.scan_duration_s.value_or(std::min(0.1, 1.0 / options.drive.rate_hz));
    options.stamp_at = arguments.stamp_at.value_or(0.0);
  } else if (arguments.scan_duration_s.has_value() || arguments.stamp_at.has_value() ||
             options.point_times) {
    return absl::InvalidArgumentError(
        "--scan-duration, --stamp-at and --point-times must be given with --skew");
  }
  const std::vector<std::string> parts = absl::StrSplit(arguments.map_origin, ',');
  bool valid = parts.size() == 3;
  for (int axis = 0; axis < 3 && valid; ++axis) {
    valid = absl::SimpleAtod(parts[static_cast<size_t>(axis)], &options.map_origin[axis]);
  }
  if (!valid) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--map-origin must be three numbers X,Y,Z (got '", arguments.map_origin, "')"));
  }
  if (arguments.writer.threads < 0 || arguments.writer.threads > 1024) {
    return absl::InvalidArgumentError(
        absl::StrCat("--threads must be from 0 to 1024 (got ", arguments.writer.threads, ")"));
  }
  VOXLOC_TRY(Validate(options));
  return options;
}

absl::StatusOr<SimulationSummary> RunSimulate(const SimulateArguments& arguments,
                                              const SimulationProgress& progress) {
  VOXLOC_ASSIGN_OR_RETURN(const SimulationOptions options, MakeSimulationOptions(arguments));
  return WriteSimulation(options, arguments.writer, progress);
}

std::string DescribeSimulation(const SimulateArguments& arguments,
                               const SimulationSummary& summary) {
  const double points_a_scan =
      static_cast<double>(summary.scan_points) / static_cast<double>(summary.scans);
  return absl::StrFormat(
      "%s\n  scene  %s, %u solids, %u moving objects\n  map    %u points in %u tiles\n"
      "  drive  %.0f m in %.1f s\n  scans  %u, %.0f points each\n",
      arguments.writer.directory, arguments.scene, summary.solids, summary.moving_objects,
      summary.map_points, summary.map_tiles, summary.drive_length_m, summary.drive_duration_s,
      summary.scans, points_a_scan);
}

}  // namespace voxloc::sim
