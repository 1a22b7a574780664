// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/simulate_command.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <vector>

namespace voxloc::sim {
namespace {

struct Parsed {
  SimulateArguments arguments;
  absl::StatusOr<SimulationOptions> options;
};

Parsed Parse(std::vector<std::string> words) {
  Parsed parsed;
  CLI::App program("voxloc");
  AddSimulateCommand(program, parsed.arguments);
  words.insert(words.begin(), "simulate");
  std::vector<std::string> reversed(words.rbegin(), words.rend());
  program.parse(reversed);
  parsed.options = MakeSimulationOptions(parsed.arguments);
  return parsed;
}

TEST(SimulateCommandTest, DefaultsAreTheDemosDrive) {
  const Parsed parsed = Parse({"out"});
  ASSERT_TRUE(parsed.options.ok()) << parsed.options.status();
  EXPECT_EQ(parsed.arguments.writer.directory, "out");
  EXPECT_FALSE(parsed.arguments.writer.replace);
  EXPECT_EQ(parsed.options->town.size_m, 300.0);
  EXPECT_EQ(parsed.options->drive.scans, 200);
  EXPECT_EQ(parsed.options->lidar.range_noise_m, 0.02);
  EXPECT_EQ(parsed.options->traffic.cars_per_km, 0.0);
  EXPECT_TRUE(parsed.options->map_origin.isZero(0.0));
}

TEST(SimulateCommandTest, OneSeedRulesAllUnlessTheDriveHasItsOwn) {
  const SimulationOptions one = *Parse({"--seed", "9", "out"}).options;
  EXPECT_EQ(one.town.seed, 9U);
  EXPECT_EQ(one.map.seed, 9U);
  EXPECT_EQ(one.drive.seed, 9U);
  EXPECT_EQ(one.lidar.seed, 9U);
  EXPECT_EQ(one.traffic.seed, 9U);
  const SimulationOptions two = *Parse({"--seed", "9", "--drive-seed", "4", "out"}).options;
  EXPECT_EQ(two.town.seed, 9U);
  EXPECT_EQ(two.drive.seed, 4U);
  EXPECT_EQ(two.lidar.seed, 4U);
}

TEST(SimulateCommandTest, OptionsArriveWhereTheyBelong) {
  const SimulationOptions options = *Parse({"--size",
                                            "500",
                                            "--density",
                                            "0.5",
                                            "--rings",
                                            "64",
                                            "--steps",
                                            "900",
                                            "--noise",
                                            "0.01",
                                            "--rate",
                                            "2",
                                            "--speed",
                                            "12",
                                            "--traffic-cars",
                                            "30",
                                            "--map-spacing",
                                            "0.05",
                                            "--tile-size",
                                            "50",
                                            "--map-origin",
                                            "400000,4000000.5,-3",
                                            "out"})
                                         .options;
  EXPECT_EQ(options.town.size_m, 500.0);
  EXPECT_EQ(options.town.building_density, 0.5);
  EXPECT_EQ(options.lidar.rings, 64);
  EXPECT_EQ(options.lidar.azimuth_steps, 900);
  EXPECT_EQ(options.lidar.range_noise_m, 0.01);
  EXPECT_EQ(options.drive.rate_hz, 2.0);
  EXPECT_EQ(options.drive.max_speed_mps, 12.0);
  EXPECT_EQ(options.traffic.cars_per_km, 30.0);
  EXPECT_EQ(options.map.spacing_m, 0.05);
  EXPECT_EQ(options.tile_size_m, 50);
  EXPECT_EQ(options.map_origin, Eigen::Vector3d(400000.0, 4000000.5, -3.0));
}

TEST(SimulateCommandTest, ScenesHaveDefaultsOfTheirOwn) {
  const SimulationOptions town = *Parse({"out"}).options;
  EXPECT_EQ(town.scene, SceneKind::kTown);
  EXPECT_EQ(town.town.relief_m, 4.0);
  EXPECT_EQ(town.map.view_distance_m, 45.0);
  const SimulationOptions corridor = *Parse({"--scene=corridor", "out"}).options;
  EXPECT_EQ(corridor.scene, SceneKind::kCorridor);
  EXPECT_EQ(corridor.passage.slope, 0.0);
  EXPECT_EQ(corridor.passage.length_m, 1000.0);
  EXPECT_EQ(corridor.drive.max_speed_mps, 8.0);
  const SimulationOptions tunnel = *Parse({"--scene=tunnel", "out"}).options;
  EXPECT_EQ(tunnel.scene, SceneKind::kTunnel);
  EXPECT_GE(std::abs(tunnel.passage.slope), 0.01);
  EXPECT_LE(std::abs(tunnel.passage.slope), 0.04);
  EXPECT_EQ(Parse({"--scene=tunnel", "--slope=0", "out"}).options->passage.slope, 0.0);
  const SimulationOptions field =
      *Parse({"--scene=field", "--seed=3", "--size=150", "--max-range=80", "--posts=2", "out"})
           .options;
  EXPECT_EQ(field.scene, SceneKind::kField);
  EXPECT_EQ(field.field.seed, 3U);
  EXPECT_EQ(field.field.size_m, 150.0);
  EXPECT_EQ(field.field.relief_m, 0.5);
  EXPECT_EQ(field.field.posts_per_hectare, 2.0);
  EXPECT_EQ(field.map.view_distance_m, 80.0);
  EXPECT_EQ(Parse({"--scene=field", "--relief=0", "out"}).options->field.relief_m, 0.0);
  const SimulationOptions hall = *Parse({"--scene=hall", "--seed=3", "--width=33", "out"}).options;
  EXPECT_EQ(hall.hall.seed, 3U);
  EXPECT_EQ(hall.hall.width_m, 33.0);
  EXPECT_EQ(hall.hall.length_m, SeededHall(3).length_m);
  EXPECT_EQ(hall.drive.max_speed_mps, 3.0);
  const SimulationOptions garage = *Parse({"--scene=garage", "--parked=0.2", "out"}).options;
  EXPECT_EQ(garage.garage.parked_car_density, 0.2);
  EXPECT_EQ(garage.drive.max_speed_mps, 4.0);
  const SimulationOptions forest =
      *Parse({"--scene=forest", "--trees-per-hectare=100", "out"}).options;
  EXPECT_EQ(forest.forest.trees_per_hectare, 100.0);
  EXPECT_EQ(forest.forest.size_m, 200.0);
  const SimulationOptions motorway =
      *Parse({"--scene=motorway", "--length=900", "--speed=20", "out"}).options;
  EXPECT_EQ(motorway.motorway.length_m, 900.0);
  EXPECT_EQ(motorway.drive.max_speed_mps, 20.0);
  EXPECT_EQ(motorway.drive.sensor_height_m, 1.9);
  const SimulationOptions route =
      *Parse({"--scene=route", "--seed=3", "--tunnel-length=500", "out"}).options;
  EXPECT_EQ(route.route.seed, 3U);
  EXPECT_EQ(route.route.tunnel_length_m, 500.0);
  EXPECT_EQ(route.drive.max_speed_mps, 28.0);
  const SimulationOptions rooms = *Parse({"--scene=rooms", "--seed=3", "out"}).options;
  EXPECT_EQ(rooms.rooms.seed, 3U);
  EXPECT_EQ(rooms.drive.max_speed_mps, 1.0);
  EXPECT_EQ(rooms.drive.sensor_height_m, 0.6);
  EXPECT_EQ(Parse({"--scene=rooms", "--sensor-height=1.2", "out"}).options->drive.sensor_height_m,
            1.2);
}

TEST(SimulateCommandTest, TheSeedShapesCorridorsAndTunnelsUnlessTheirShapeIsGiven) {
  for (const char* scene : {"--scene=corridor", "--scene=tunnel"}) {
    const PassageOptions one = Parse({scene, "--seed=101", "out"}).options->passage;
    const PassageOptions two = Parse({scene, "--seed=102", "out"}).options->passage;
    EXPECT_NE(one.width_m, two.width_m);
    EXPECT_NE(one.height_m, two.height_m);
    EXPECT_NE(one.heading_deg, two.heading_deg);
    const PassageOptions given =
        Parse({scene, "--seed=102", "--width=10", "--height=6", "--heading=20", "out"})
            .options->passage;
    EXPECT_EQ(given.width_m, 10.0);
    EXPECT_EQ(given.height_m, 6.0);
    EXPECT_EQ(given.heading_deg, 20.0);
    EXPECT_EQ(given.slope, two.slope);
  }
}

TEST(SimulateCommandTest, FlagsReplacePartsOfASensor) {
  const LidarOptions whole = Parse({"--sensor=spinning-64", "out"}).options->lidar;
  EXPECT_EQ(whole.rings, 64);
  EXPECT_EQ(whole.elevations_deg.size(), 64U);
  const LidarOptions range =
      Parse({"--max-range=50", "--sensor=spinning-64", "--noise-growth=0.001", "out"})
          .options->lidar;
  EXPECT_EQ(range.max_range_m, 50.0);
  EXPECT_EQ(range.range_noise_per_m, 0.001);
  EXPECT_EQ(range.elevations_deg, whole.elevations_deg);
  const LidarOptions even = Parse({"--sensor=spinning-64", "--rings=8", "out"}).options->lidar;
  EXPECT_EQ(even.rings, 8);
  EXPECT_TRUE(even.elevations_deg.empty());
  EXPECT_EQ(even.min_elevation_deg, whole.min_elevation_deg);
  EXPECT_EQ(even.azimuth_steps, 2048);
}

TEST(SimulateCommandTest, SkewTakesATenthOfASecondOrTheTimeBetweenScans) {
  EXPECT_EQ(Parse({"out"}).options->scan_duration_s, 0.0);
  EXPECT_EQ(Parse({"--skew", "--rate=2", "out"}).options->scan_duration_s, 0.1);
  EXPECT_EQ(Parse({"--skew", "--rate=20", "out"}).options->scan_duration_s, 0.05);
  const SimulationOptions given =
      *Parse({"--skew", "--rate=2", "--scan-duration=0.4", "--point-times", "out"}).options;
  EXPECT_EQ(given.scan_duration_s, 0.4);
  EXPECT_EQ(given.stamp_at, 0.0);
  EXPECT_EQ(Parse({"--skew", "--stamp-at=0.5", "out"}).options->stamp_at, 0.5);
  EXPECT_TRUE(given.point_times);
}

TEST(SimulateCommandTest, OdometryIsWrittenOnDemandWithItsOptionsAndASeedOfItsOwn) {
  EXPECT_FALSE(Parse({"out"}).options->odometry.has_value());
  const OdometryOptions plain = *Parse({"--odometry", "--drive-seed=7", "out"}).options->odometry;
  EXPECT_EQ(plain.seed, 7U);
  EXPECT_EQ(plain.scale_error, 0.01);
  EXPECT_EQ(plain.slips_per_km, 0.0);
  const OdometryOptions given =
      *Parse({"--odometry", "--odometry-seed=4", "--odometry-scale-error=-0.02",
              "--odometry-position-noise=0.01", "--odometry-rotation-noise=0.002",
              "--odometry-yaw-bias=0.001", "--odometry-slips=3", "--odometry-slip-length=2",
              "--odometry-slip-size=0.5", "out"})
           .options->odometry;
  EXPECT_EQ(given.seed, 4U);
  EXPECT_EQ(given.scale_error, -0.02);
  EXPECT_EQ(given.position_noise_m, 0.01);
  EXPECT_EQ(given.rotation_noise_rad, 0.002);
  EXPECT_EQ(given.yaw_bias_radps, 0.001);
  EXPECT_EQ(given.slips_per_km, 3.0);
  EXPECT_EQ(given.slip_length_m, 2.0);
  EXPECT_EQ(given.slip_size, 0.5);
  EXPECT_THROW(Parse({"--odometry-slips=3", "out"}), CLI::RequiresError);
}

TEST(SimulateCommandTest, AbsurdOptionsAreNamed) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--size=-1", "out"}, "size"},
      {{"--rings=0", "out"}, "rings"},
      {{"--scans=0", "out"}, "scans"},
      {{"--map-spacing=0.0001", "out"}, "spacing"},
      {{"--rings=200", "--steps=36000", "out"}, "rays (got 200 rings"},
      {{"--map-origin=1,2", "out"}, "map-origin"},
      {{"--map-origin=1,2,north", "out"}, "map-origin"},
      {{"--threads=-1", "out"}, "threads"},
      {{"--tile-size=0", "out"}, "tile size"},
      {{"--scene=castle", "out"},
       "town, corridor, tunnel, field, hall, garage, forest, motorway, rooms, route"},
      {{"--scene=rooms", "--traffic-cars=5", "out"}, "--traffic-cars"},
      {{"--scene=route", "--tunnel-length=50", "out"}, "tunnel length"},
      {{"--scene=tunnel", "--tunnel-length=500", "out"}, "--tunnel-length"},
      {{"--scene=hall", "--width=10", "out"}, "width"},
      {{"--scene=garage", "--length=50", "out"}, "--length"},
      {{"--scene=forest", "--trees=0.5", "out"}, "--trees"},
      {{"--scene=motorway", "--length=100", "out"}, "length"},
      {{"--scene=field", "--slope=0.1", "out"}, "--slope"},
      {{"--scene=corridor", "--trees=0.1", "out"}, "--trees"},
      {{"--posts=1", "out"}, "--posts"},
      {{"--point-times", "out"}, "--skew"},
      {{"--stamp-at=0.5", "out"}, "--skew"},
      {{"--skew", "--stamp-at=2", "out"}, "stamp at"},
      {{"--map-drift=3", "out"}, "map drift"},
      {{"--odometry", "--odometry-slips=90", "out"}, "odometry slips per km"},
      {{"--scene=forest", "--changed-parking=0.5", "out"}, "--changed-parking"},
      {{"--scene=field", "--moved-structures=0.5", "out"}, "--moved-structures"},
      {{"--skew", "--rate=10", "--scan-duration=0.2", "out"}, "scan duration"},
      {{"--sensor=radar", "out"}, "sensor must be one of"},
      {{"--field-of-view=400", "out"}, "field of view"},
      {{"--wet-ground=2", "out"}, "wet ground dropout"},
      {{"--scene=tunnel", "--slope=0.5", "out"}, "slope"},
      {{"--scene=corridor", "--width=2", "out"}, "width"},
      {{"--scene=field", "--posts=-1", "out"}, "posts"},
  };
  for (const auto& [words, expected] : cases) {
    const absl::Status status = Parse(words).options.status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << words.front();
    EXPECT_NE(status.message().find(expected), absl::string_view::npos) << status;
  }
}

TEST(SimulateCommandTest, TheHelpTeachesWithExamples) {
  CLI::App program("voxloc");
  SimulateArguments arguments;
  CLI::App* command = AddSimulateCommand(program, arguments);
  const std::string help = command->help();
  for (const char* text :
       {"--size", "--seed", "--map-origin", "--traffic-cars", "--force", "map_T_base",
        "voxloc simulate --size 300 --scans 200 demo", "--scene corridor", "--scene tunnel",
        "--scene field", "--scene garage", "--scene motorway", "--map-spacing 0.05 accuracy"}) {
    EXPECT_NE(help.find(text), std::string::npos) << text;
  }
}

TEST(SimulateCommandTest, RunsAndDescribesWhatItDid) {
  const std::string out = testing::TempDir() + "simulate_command_test_out";
  std::filesystem::remove_all(out);
  const Parsed parsed =
      Parse({"--size=100", "--scans=2", "--rings=4", "--steps=60", "--map-spacing=1", out});
  const absl::StatusOr<SimulationSummary> summary = RunSimulate(parsed.arguments);
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(summary->scans, 2U);
  EXPECT_NE(DescribeSimulation(parsed.arguments, *summary).find("scans  2,"), std::string::npos);
  std::filesystem::remove_all(out);
}

}  // namespace
}  // namespace voxloc::sim
