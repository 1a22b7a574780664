// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/simulate_flags.h"

namespace voxloc::sim {

void AddDriveFlags(CLI::App& command, SimulateArguments& arguments) {
  DriveOptions& drive = arguments.simulation.drive;
  TrafficOptions& traffic = arguments.simulation.traffic;
  command
      .add_option_function<uint64_t>(
          "--drive-seed",
          [&arguments](const uint64_t& seed) {
            arguments.drive_seed = seed;
            arguments.drive_seed_given = true;
          },
          "Set the seed of the drive, the LiDAR's noise and the traffic; default: --seed")
      ->group("Drive");
  command.add_option("--scans", drive.scans, "Set the number of scans (1 to 100000)")
      ->capture_default_str()
      ->group("Drive");
  command.add_option("--rate", drive.rate_hz, "Set the scan rate, Hz (0.1 to 100)")
      ->capture_default_str()
      ->group("Drive");
  command.add_flag("--skew", arguments.skew, "Let the vehicle move on while a scan is taken")
      ->group("Drive");
  command
      .add_option(
          "--scan-duration", arguments.scan_duration_s,
          "Set the time that a scan with --skew takes, s (0.001 to the time between scans); "
          "default 0.1, or the time between scans where that is shorter")
      ->group("Drive");
  command
      .add_option(
          "--stamp-at", arguments.stamp_at,
          "Set the stamp and the pose of a scan with --skew to those after this share of its "
          "duration (0 to 1); 0: of its first ray, which is the default; 0.5: of its middle")
      ->group("Drive");
  command
      .add_flag("--point-times", arguments.simulation.point_times,
                "Write when the ray of each point left as the field t of the scans, s since the "
                "stamp; needs --skew")
      ->group("Drive");
  command
      .add_option("--speed", arguments.given.max_speed_mps,
                  "Limit the speed, m/s (0.1 to 40); default 3 in a hall, 4 in a garage, 5 in a "
                  "forest, 28 on a motorway, otherwise 8")
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

void AddMapFlags(CLI::App& command, SimulateArguments& arguments) {
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
      .add_option("--map-view", arguments.given.map_view_m,
                  "Map surfaces up to this distance from a street, m (5 to 200); default 45, in a "
                  "field the LiDAR's range")
      ->group("Map");
  command
      .add_option("--map-drift", arguments.simulation.map_drift.sigma_m,
                  "Displace the map smoothly, as the map of a SLAM drive is, with this standard "
                  "deviation along each axis, m (0 to 1); the poses stay those of the true world")
      ->capture_default_str()
      ->group("Map");
  command
      .add_option("--map-drift-wavelength", arguments.simulation.map_drift.wavelength_m,
                  "Set the approximate wavelength of the displacement, m (20 to 1000)")
      ->capture_default_str()
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

}  // namespace voxloc::sim
