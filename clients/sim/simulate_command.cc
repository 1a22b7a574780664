// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/simulate_command.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace voxloc::sim {
namespace {

constexpr char kDescription[] =
    "Simulate a vehicle with a LiDAR driving through a made-up town: a map, scans, exact poses.";

constexpr char kManual[] = R"(
What is written:
  OUT/map/              tiles in Autoware's layout: pointcloud_map_metadata.yaml and
                        pointcloud_map.pcd/<x>_<y>.pcd (x, y: lowest corner in metres)
  OUT/scans/000000.pcd  a scan each, in the sensor's frame (x ahead, y left, z up)
  OUT/poses.txt         the exact map_T_base of each scan, KITTI form: 12 numbers a line
  OUT/poses_tum.txt     the same as: stamp x y z qx qy qz qw
  OUT/simulation.json   every option and seed, and the counts
base is the sensor's own frame. A scan is a snapshot at its stamp: no motion distortion. Range
noise is along the ray. Without noise every point within 100 m lies on a surface to 0.01 mm. Parked
cars are in the map; moving cars and pedestrians are in the scans only. The same options give the
same bytes, whatever the number of threads.

Examples:
  The demo's drive: 300 m of town, 200 scans, 20 seconds
    voxloc simulate --size 300 --scans 200 demo
  The accuracy set: nothing moves, 2 cm of noise, map points every 5 cm, 800 m driven;
  replay then thins each scan to about 1,500 points
    voxloc simulate --seed 1 --scans 240 --rate 2 --noise 0.02 --map-spacing 0.05 accuracy
    voxloc map load --map accuracy accuracy/map
    voxloc replay --map accuracy --scans accuracy/scans --poses accuracy/poses.txt \
        --points 1500 --perturb 0.5,0.5,0,0,0,2
  Dense traffic: much in the scans is not in the map
    voxloc simulate --traffic-cars 60 --traffic-people 300 --parked 0.9 --scans 400 traffic
  The same town at UTM coordinates, another drive through it
    voxloc simulate --seed 1 --drive-seed 7 --map-origin 400000,4000000,100 utm
)";

void AddTownOptions(CLI::App& command, TownOptions& town) {
  command.add_option("--size", town.size_m, "Edge of the town, m (100 to 2000)")
      ->capture_default_str()
      ->group("Town");
  command
      .add_option("--street-spacing", town.street_spacing_m,
                  "From junction to junction, about, m (50 to 300)")
      ->capture_default_str()
      ->group("Town");
  command
      .add_option("--missing-streets", town.missing_streets,
                  "Share of the inner streets left out, 0 to 1")
      ->capture_default_str()
      ->group("Town");
  command.add_option("--density", town.building_density, "Share of the plots with a house, 0 to 1")
      ->capture_default_str()
      ->group("Town");
  command.add_option("--trees", town.tree_density, "Share of the places for trees taken, 0 to 1")
      ->capture_default_str()
      ->group("Town");
  command
      .add_option("--parked", town.parked_car_density,
                  "Share of the parking places taken, 0 to 1; parked cars are in the map")
      ->capture_default_str()
      ->group("Town");
  command
      .add_option("--relief", town.relief_m,
                  "From the lowest to the highest ground, about, m (0 to 20)")
      ->capture_default_str()
      ->group("Town");
}

void AddLidarOptions(CLI::App& command, LidarOptions& lidar) {
  command.add_option("--rings", lidar.rings, "Rings of the LiDAR (1 to 256)")
      ->capture_default_str()
      ->group("LiDAR");
  command
      .add_option("--min-elevation", lidar.min_elevation_deg, "Elevation of the lowest ring, deg")
      ->capture_default_str()
      ->group("LiDAR");
  command
      .add_option("--max-elevation", lidar.max_elevation_deg, "Elevation of the highest ring, deg")
      ->capture_default_str()
      ->group("LiDAR");
  command.add_option("--steps", lidar.azimuth_steps, "Rays a ring and turn (8 to 36000)")
      ->capture_default_str()
      ->group("LiDAR");
  command.add_option("--min-range", lidar.min_range_m, "Nearer surfaces give no return, m")
      ->capture_default_str()
      ->group("LiDAR");
  command
      .add_option("--max-range", lidar.max_range_m, "Farther surfaces give no return, m (to 1000)")
      ->capture_default_str()
      ->group("LiDAR");
  command.add_option("--noise", lidar.range_noise_m, "Standard deviation of the range, m (0 to 1)")
      ->capture_default_str()
      ->group("LiDAR");
  command.add_option("--dropout", lidar.dropout, "Share of the returns lost, 0 to 1")
      ->capture_default_str()
      ->group("LiDAR");
  command
      .add_flag("--keep-missing", lidar.keep_missing,
                "Write missing returns as (0, 0, 0) instead of leaving them out")
      ->group("LiDAR");
}

void AddDriveOptions(CLI::App& command, DriveOptions& drive, TrafficOptions& traffic) {
  command.add_option("--scans", drive.scans, "Number of scans (1 to 100000)")
      ->capture_default_str()
      ->group("Drive");
  command.add_option("--rate", drive.rate_hz, "Scans a second, Hz (0.1 to 100)")
      ->capture_default_str()
      ->group("Drive");
  command.add_option("--speed", drive.max_speed_mps, "Highest speed, m/s (0.1 to 40)")
      ->capture_default_str()
      ->group("Drive");
  command
      .add_option("--lateral", drive.max_lateral_mps2,
                  "Highest acceleration across, in turns, m/s^2 (0.1 to 10)")
      ->capture_default_str()
      ->group("Drive");
  command
      .add_option("--longitudinal", drive.max_longitudinal_mps2,
                  "Highest acceleration and braking, m/s^2 (0.1 to 10)")
      ->capture_default_str()
      ->group("Drive");
  command
      .add_option("--sensor-height", drive.sensor_height_m,
                  "Height of the sensor above the ground, m (0.3 to 10)")
      ->capture_default_str()
      ->group("Drive");
  command
      .add_option("--traffic-cars", traffic.cars_per_km,
                  "Moving cars a km of street, not in the map (0 to 200)")
      ->capture_default_str()
      ->group("Moving objects");
  command
      .add_option("--traffic-people", traffic.pedestrians_per_km,
                  "Pedestrians a km of street, not in the map (0 to 2000)")
      ->capture_default_str()
      ->group("Moving objects");
}

void AddMapOptions(CLI::App& command, SimulateArguments& arguments) {
  MapSamplingOptions& map = arguments.simulation.map;
  command.add_option("--map-spacing", map.spacing_m, "Between map points, m (0.01 to 2)")
      ->capture_default_str()
      ->group("Map");
  command
      .add_option("--map-noise", map.noise_m,
                  "Standard deviation of map points across their surface, m (0 to 1)")
      ->capture_default_str()
      ->group("Map");
  command
      .add_option("--map-view", map.view_distance_m,
                  "How far from a street surfaces are mapped, m (5 to 200)")
      ->capture_default_str()
      ->group("Map");
  command
      .add_option("--tile-size", arguments.simulation.tile_size_m,
                  "Edge of a tile, whole m (5 to 1000)")
      ->capture_default_str()
      ->group("Map");
  command
      .add_option("--map-origin", arguments.map_origin,
                  "X,Y,Z of the town's middle in the map, m; tiles are then written in float64")
      ->capture_default_str()
      ->group("Map");
}

}  // namespace

CLI::App* AddSimulateCommand(CLI::App& program, SimulateArguments& arguments) {
  CLI::App* command = program.add_subcommand("simulate", kDescription);
  command->footer(kManual);
  command->add_option("OUT", arguments.writer.directory, "Directory to write to, empty or new")
      ->required();
  command->add_flag("--force", arguments.writer.replace, "Replace an earlier simulation in OUT")
      ->group("Output");
  command->add_option("--threads", arguments.writer.threads, "Threads; 0: all cores (to 1024)")
      ->capture_default_str()
      ->group("Output");
  command->add_option("--seed", arguments.seed, "Everything follows from it: the town and its map")
      ->capture_default_str()
      ->group("Town");
  command
      ->add_option_function<uint64_t>(
          "--drive-seed",
          [&arguments](const uint64_t& seed) {
            arguments.drive_seed = seed;
            arguments.drive_seed_given = true;
          },
          "The drive, the LiDAR's noise and the traffic; the default is --seed")
      ->group("Drive");
  AddTownOptions(*command, arguments.simulation.town);
  AddLidarOptions(*command, arguments.simulation.lidar);
  AddDriveOptions(*command, arguments.simulation.drive, arguments.simulation.traffic);
  AddMapOptions(*command, arguments);
  return command;
}

absl::StatusOr<SimulationOptions> SimulationOf(const SimulateArguments& arguments) {
  SimulationOptions options = arguments.simulation;
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
    return absl::InvalidArgumentError(absl::StrCat("--map-origin is '", arguments.map_origin,
                                                   "'; it takes three numbers: X,Y,Z"));
  }
  if (arguments.writer.threads < 0 || arguments.writer.threads > 1024) {
    return absl::InvalidArgumentError(
        absl::StrCat("--threads is ", arguments.writer.threads, "; allowed are 0 to 1024"));
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
      "%s\n  town   %u solids, %u moving objects\n  map    %u points in %u tiles\n"
      "  drive  %.0f m in %.1f s\n  scans  %u, %.0f points each\n",
      arguments.writer.directory, summary.solids, summary.moving_objects, summary.map_points,
      summary.map_tiles, summary.drive_length_m, summary.drive_duration_s, summary.scans,
      points_a_scan);
}

}  // namespace voxloc::sim
