// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/simulate_command.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace voxloc::sim {
namespace {

constexpr char kDescription[] =
    "Simulate the drive of a vehicle with a LiDAR through a town, or through a scene where scans "
    "do not observe the whole pose; write the map, the scans and the exact poses.";

constexpr double kTunnelSlope = 0.02;
constexpr double kMaxMapView_m = 200.0;

constexpr char kManual[] = R"(
Output:
  OUT/map/              tiles in Autoware's layout: pointcloud_map_metadata.yaml and
                        pointcloud_map.pcd/<x>_<y>.pcd (x, y: lowest corner in metres)
  OUT/scans/000000.pcd  one scan per file, in the sensor's frame (x ahead, y left, z up)
  OUT/poses.txt         the exact map_T_base of each scan, KITTI format: 12 numbers per line
  OUT/poses_tum.txt     the same as: stamp x y z qx qy qz qw
  OUT/simulation.json   every option and seed, and the counts
The base frame is the sensor's own frame. A scan is a snapshot at its stamp, without motion
distortion. Range noise is along the ray. Without noise, every point within 100 m is on a surface to
0.01 mm. Parked cars are in the map; moving cars and pedestrians are in the scans only. The same
options give the same bytes with any number of threads.

Scenes:
  town      streets, houses, trees, parked cars: scans observe the whole pose
  corridor  a straight street between smooth walls without a visible end: scans do not observe the
            position along it
  tunnel    the same under a vault, slightly uphill
  field     open ground with tracks across it: scans observe z, roll and pitch, and x, y and yaw by
            the relief and the posts only; not at all with --relief 0 and --posts 0

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
)";

// Remembers that the option was given, so that it can be refused with a scene that has no use for
// it.
CLI::Option* OnlyFor(std::vector<SceneKind> scenes, CLI::Option* option,
                     SimulateArguments& arguments) {
  return option->each(
      [&arguments, scenes = std::move(scenes), name = option->get_name()](const std::string&) {
        arguments.scene_options.push_back({name, scenes});
      });
}

void AddTownOptions(CLI::App& command, SimulateArguments& arguments) {
  TownOptions& town = arguments.simulation.town;
  const auto add = [&](const char* name, double& value, const char* help) {
    OnlyFor({SceneKind::kTown}, command.add_option(name, value, help), arguments)
        ->capture_default_str()
        ->group("Town");
  };
  add("--street-spacing", town.street_spacing_m,
      "Set the approximate distance between junctions, m (50 to 300)");
  add("--missing-streets", town.missing_streets,
      "Leave out this share of the inner streets (0 to 1)");
  add("--density", town.building_density, "Build houses on this share of the plots (0 to 1)");
  add("--trees", town.tree_density, "Plant trees at this share of the possible places (0 to 1)");
  add("--parked", town.parked_car_density,
      "Park cars at this share of the parking places (0 to 1); parked cars are in the map");
}

void AddFieldOptions(CLI::App& command, SimulateArguments& arguments) {
  const std::vector<SceneKind> both = {SceneKind::kTown, SceneKind::kField};
  OnlyFor(
      both,
      command.add_option("--size", arguments.simulation.town.size_m,
                         "Set the edge of the town, or of the area of the tracks, m (100 to 2000)"),
      arguments)
      ->capture_default_str()
      ->group("Town and field");
  OnlyFor(both,
          command.add_option("--relief", arguments.relief_m,
                             "Set the approximate height range of the ground, m (0 to 20); "
                             "default 4 in a town, 0.5 in a field"),
          arguments)
      ->group("Town and field");
  OnlyFor({SceneKind::kField},
          command.add_option("--posts", arguments.simulation.field.posts_per_hectare,
                             "Set the number of posts and trees per hectare (0 to 100)"),
          arguments)
      ->capture_default_str()
      ->group("Field");
}

void AddPassageOptions(CLI::App& command, SimulateArguments& arguments) {
  PassageOptions& passage = arguments.simulation.passage;
  const std::vector<SceneKind> both = {SceneKind::kCorridor, SceneKind::kTunnel};
  constexpr char kGroup[] = "Corridor and tunnel";
  const auto add = [&](const char* name, double& value, const char* help) {
    OnlyFor(both, command.add_option(name, value, help), arguments)
        ->capture_default_str()
        ->group(kGroup);
  };
  add("--length", passage.length_m, "Set the length that is driven, m (50 to 3000)");
  add("--width", passage.width_m, "Set the distance between the walls, m (8 to 40)");
  add("--height", passage.height_m,
      "Set the height of the walls, or of the crown of the vault, m (3 to 30)");
  add("--heading", passage.heading_deg,
      "Set the direction of the axis, from x towards y, deg (-180 to 180)");
  OnlyFor(both,
          command.add_option("--slope", arguments.slope,
                             "Set the rise of the axis, m per m (-0.15 to 0.15); default 0 in a "
                             "corridor, 0.02 in a tunnel"),
          arguments)
      ->group(kGroup);
}

void AddLidarOptions(CLI::App& command, LidarOptions& lidar) {
  command.add_option("--rings", lidar.rings, "Set the number of rings of the LiDAR (1 to 256)")
      ->capture_default_str()
      ->group("LiDAR");
  command
      .add_option("--min-elevation", lidar.min_elevation_deg,
                  "Set the elevation of the lowest ring, deg (-90 to 90)")
      ->capture_default_str()
      ->group("LiDAR");
  command
      .add_option("--max-elevation", lidar.max_elevation_deg,
                  "Set the elevation of the highest ring, deg (the lowest to 90)")
      ->capture_default_str()
      ->group("LiDAR");
  command
      .add_option("--steps", lidar.azimuth_steps,
                  "Set the number of rays per ring and turn (8 to 36000)")
      ->capture_default_str()
      ->group("LiDAR");
  command
      .add_option("--min-range", lidar.min_range_m,
                  "Drop returns of surfaces nearer than this, m (0 to the maximum range)")
      ->capture_default_str()
      ->group("LiDAR");
  command
      .add_option("--max-range", lidar.max_range_m,
                  "Drop returns of surfaces farther than this, m (0.1 to 1000)")
      ->capture_default_str()
      ->group("LiDAR");
  command
      .add_option("--noise", lidar.range_noise_m,
                  "Set the standard deviation of the range, m (0 to 1)")
      ->capture_default_str()
      ->group("LiDAR");
  command.add_option("--dropout", lidar.dropout, "Drop this share of the returns (0 to 1)")
      ->capture_default_str()
      ->group("LiDAR");
  command
      .add_flag("--keep-missing", lidar.keep_missing,
                "Write missing returns as (0, 0, 0) instead of leaving them out")
      ->group("LiDAR");
}

void AddDriveOptions(CLI::App& command, DriveOptions& drive, TrafficOptions& traffic) {
  command.add_option("--scans", drive.scans, "Set the number of scans (1 to 100000)")
      ->capture_default_str()
      ->group("Drive");
  command.add_option("--rate", drive.rate_hz, "Set the scan rate, Hz (0.1 to 100)")
      ->capture_default_str()
      ->group("Drive");
  command.add_option("--speed", drive.max_speed_mps, "Limit the speed, m/s (0.1 to 40)")
      ->capture_default_str()
      ->group("Drive");
  command
      .add_option("--lateral", drive.max_lateral_mps2,
                  "Limit the lateral acceleration in turns, m/s^2 (0.1 to 10)")
      ->capture_default_str()
      ->group("Drive");
  command
      .add_option("--longitudinal", drive.max_longitudinal_mps2,
                  "Limit the acceleration and the braking, m/s^2 (0.1 to 10)")
      ->capture_default_str()
      ->group("Drive");
  command
      .add_option("--sensor-height", drive.sensor_height_m,
                  "Set the height of the sensor above the ground, m (0.3 to 10)")
      ->capture_default_str()
      ->group("Drive");
  command
      .add_option("--traffic-cars", traffic.cars_per_km,
                  "Add this many moving cars per km of street, which are not in the map (0 to 200)")
      ->capture_default_str()
      ->group("Moving objects");
  command
      .add_option("--traffic-people", traffic.pedestrians_per_km,
                  "Add this many pedestrians per km of street, who are not in the map (0 to 2000)")
      ->capture_default_str()
      ->group("Moving objects");
}

void AddMapOptions(CLI::App& command, SimulateArguments& arguments) {
  MapSamplingOptions& map = arguments.simulation.map;
  command
      .add_option("--map-spacing", map.spacing_m,
                  "Set the distance between map points, m (0.01 to 2)")
      ->capture_default_str()
      ->group("Map");
  command
      .add_option("--map-noise", map.noise_m,
                  "Set the standard deviation of map points across their surface, m (0 to 1)")
      ->capture_default_str()
      ->group("Map");
  command
      .add_option("--map-view", arguments.map_view_m,
                  "Map surfaces up to this distance from a street, m (5 to 200); default 45, in a "
                  "field the LiDAR's range")
      ->group("Map");
  command
      .add_option("--tile-size", arguments.simulation.tile_size_m,
                  "Set the edge of a tile, whole metres (5 to 1000)")
      ->capture_default_str()
      ->group("Map");
  command
      .add_option(
          "--map-origin", arguments.map_origin,
          "Place the middle of the scene at X,Y,Z in the map, m; tiles are then written in float64")
      ->capture_default_str()
      ->group("Map");
}

}  // namespace

CLI::App* AddSimulateCommand(CLI::App& program, SimulateArguments& arguments) {
  CLI::App* command = program.add_subcommand("simulate", kDescription);
  command->footer(kManual);
  command
      ->add_option("OUT", arguments.writer.directory,
                   "Write to this directory, which must be empty or new")
      ->required();
  command->add_flag("--force", arguments.writer.replace, "Replace an earlier simulation in OUT")
      ->group("Output");
  command
      ->add_option("--threads", arguments.writer.threads,
                   "Set the number of threads (0 to 1024); 0: one per core")
      ->capture_default_str()
      ->group("Output");
  command->add_option("--seed", arguments.seed, "Set the seed of the scene and its map")
      ->capture_default_str()
      ->group("Scene");
  command
      ->add_option("--scene", arguments.scene, "Choose the scene: town, corridor, tunnel or field")
      ->capture_default_str()
      ->group("Scene");
  command
      ->add_option_function<uint64_t>(
          "--drive-seed",
          [&arguments](const uint64_t& seed) {
            arguments.drive_seed = seed;
            arguments.drive_seed_given = true;
          },
          "Set the seed of the drive, the LiDAR's noise and the traffic; default: --seed")
      ->group("Drive");
  AddTownOptions(*command, arguments);
  AddFieldOptions(*command, arguments);
  AddPassageOptions(*command, arguments);
  AddLidarOptions(*command, arguments.simulation.lidar);
  AddDriveOptions(*command, arguments.simulation.drive, arguments.simulation.traffic);
  AddMapOptions(*command, arguments);
  return command;
}

absl::StatusOr<SimulationOptions> SimulationOf(const SimulateArguments& arguments) {
  SimulationOptions options = arguments.simulation;
  const absl::StatusOr<SceneKind> scene = SceneNamed(arguments.scene);
  if (!scene.ok()) return scene.status();
  options.scene = *scene;
  for (const auto& [name, scenes] : arguments.scene_options) {
    if (std::find(scenes.begin(), scenes.end(), *scene) != scenes.end()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has no use in --scene ", arguments.scene,
        "; it is for: ", absl::StrJoin(scenes, ", ", [](std::string* out, SceneKind kind) {
          absl::StrAppend(out, ToString(kind));
        })));
  }
  options.field.seed = arguments.seed;
  options.field.size_m = options.town.size_m;
  if (arguments.relief_m.has_value()) {
    options.town.relief_m = options.field.relief_m = *arguments.relief_m;
  }
  options.passage.slope =
      arguments.slope.value_or(*scene == SceneKind::kTunnel ? kTunnelSlope : 0.0);
  if (arguments.map_view_m.has_value()) {
    options.map.view_distance_m = *arguments.map_view_m;
  } else if (*scene == SceneKind::kField) {
    options.map.view_distance_m = std::min(options.lidar.max_range_m, kMaxMapView_m);
  }
  options.town.seed = arguments.seed;
  options.map.seed = arguments.seed;
  const uint64_t drive_seed = arguments.drive_seed_given ? arguments.drive_seed : arguments.seed;
  options.drive.seed = drive_seed;
  options.lidar.seed = drive_seed;
  options.traffic.seed = drive_seed;
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
  if (absl::Status status = ValidateSimulationOptions(options); !status.ok()) return status;
  return options;
}

absl::StatusOr<SimulationSummary> RunSimulate(const SimulateArguments& arguments,
                                              const SimulationProgress& progress) {
  const absl::StatusOr<SimulationOptions> options = SimulationOf(arguments);
  if (!options.ok()) return options.status();
  return WriteSimulation(*options, arguments.writer, progress);
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
