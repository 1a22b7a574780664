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
#include "clients/sim/simulate_flags.h"
#include "core/status/try.h"

namespace voxloc::sim {
namespace {

// The texts of `voxloc simulate --help` around its flags: the manual of the simulator.
constexpr char kSimulateDescription[] =
    "Simulate the drive of a vehicle with a LiDAR through a town, a hall, a garage, rooms, a "
    "forest, along a motorway, along a route of several of these, or through a scene where scans "
    "do not observe the whole pose; write the map, the scans and the exact poses.";

constexpr char kSimulateManual[] = R"(
Output:
  OUT/map/              tiles in Autoware's layout: pointcloud_map_metadata.yaml and
                        pointcloud_map.pcd/<x>_<y>.pcd (x, y: lowest corner in metres)
  OUT/scans/000000.pcd  one scan per file, in the sensor's frame (x ahead, y left, z up)
  OUT/poses.txt         the exact map_T_base of each scan, KITTI format: 12 numbers per line
  OUT/poses_tum.txt     the same as: stamp x y z qx qy qz qw
  OUT/odometry.txt      with --odometry only: odom_T_base of each scan, at the same stamps and in
                        the same format; the first pose is the identity
  OUT/simulation.json   every option and seed, and the counts
The base frame is the sensor's own frame. A scan is a snapshot at its stamp, without motion
distortion; with --skew its stamp and its pose are those of its first ray unless --stamp-at is
given, each point is in the sensor's frame at the moment of its own ray, and --point-times writes
that moment as the field t, in seconds since the stamp. Range noise is along the ray. Without noise,
every point within 100 m is on a surface to 0.01 mm. Parked cars are in the map; moving cars and
pedestrians are in the scans only. Odometry adds up the true motion from scan to scan with a scale
error, noise on each axis, a bias of the yaw rate, and slips, where the wheels count more or less
than the way. The same options give the same bytes with any number of threads.

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
  rooms     offices, a flat or a small workshop: rooms of 4 to 20 m with doors and furniture along
            corridors, for a small robot that drives through the doors
  motorway  two carriageways with guard rails, gantries, bridges and noise walls, almost straight
  route     about 5 km through a town, a tunnel, along a motorway, through another town into a
            garage; simulation.json has where and when each part begins
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
  Odometry with two slips per kilometre, for the guesses of a drive
    voxloc simulate --odometry --odometry-slips 2 --scans 1000 slips
  A robot with a low LiDAR that sees near walls
    voxloc simulate --scene rooms --sensor spinning-16 --min-range 0.2 --sensor-height 0.4 rooms
  All of a route, in which the speed follows the limits of its parts
    voxloc simulate --scene route --scans 1080 --rate 2 --map-spacing 0.2 route
  Two minutes in a garage, and a motorway at 100 km/h
    voxloc simulate --scene garage --seed 7 --scans 240 --rate 2 garage
    voxloc simulate --scene motorway --scans 200 --rate 5 --map-spacing 0.1 motorway
)";

constexpr double kMaxMapView_m = 200.0;
constexpr double kRobotSensorHeight_m = 0.6;

double DefaultSpeed(SceneKind scene, double default_mps) {
  switch (scene) {
    case SceneKind::kHall:
      return 3.0;
    case SceneKind::kGarage:
      return 4.0;
    case SceneKind::kForest:
      return 5.0;
    case SceneKind::kMotorway:
    case SceneKind::kRoute:
      return 28.0;
    case SceneKind::kRooms:
      return 1.0;
    default:
      return default_mps;
  }
}

}  // namespace

CLI::App* AddSimulateCommand(CLI::App& program, SimulateArguments& arguments) {
  CLI::App* command = program.add_subcommand("simulate", kSimulateDescription);
  command->footer(kSimulateManual);
  command
      ->add_option("OUT", arguments.writer.directory,
                   "Write to this directory, which must be empty or new")
      ->required();
  AddSimulateFlags(*command, arguments);
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
  options.rooms.seed = options.route.seed = arguments.seed;
  options.drive.max_speed_mps = DefaultSpeed(scene, options.drive.max_speed_mps);
  if (scene == SceneKind::kRooms) options.drive.sensor_height_m = kRobotSensorHeight_m;
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
  if (arguments.write_odometry) {
    options.odometry = arguments.odometry;
    options.odometry->seed = arguments.odometry_seed.value_or(drive_seed);
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
