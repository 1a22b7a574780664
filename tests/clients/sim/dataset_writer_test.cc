// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "clients/dataset/cloud_sources.h"
#include "clients/dataset/trajectory_file.h"
#include "clients/sim/simulation.h"
#include "core/cloud/io/cloud_file.h"
#include "tests/clients/sim/surface_distance.h"

namespace voxloc::sim {
namespace {

namespace fs = std::filesystem;

class DatasetWriterTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) /
            testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  static SimulationOptions Tiny() {
    SimulationOptions options;
    options.town.size_m = 100.0;
    options.lidar.rings = 8;
    options.lidar.azimuth_steps = 90;
    options.lidar.range_noise_m = 0.0;
    options.drive.scans = 6;
    options.map.spacing_m = 0.5;
    options.map.noise_m = 0.0;
    options.traffic.pedestrians_per_km = 100.0;
    return options;
  }

  static std::map<std::string, std::string> FilesOf(const fs::path& directory) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      files[fs::relative(entry.path(), directory).string()] =
          std::string(std::istreambuf_iterator<char>(in), {});
    }
    return files;
  }

  fs::path root_;
};

TEST_F(DatasetWriterTest, WhatIsWrittenReadsBackAsTheSimulation) {
  const SimulationOptions options = Tiny();
  const std::string out = (root_ / "new" / "set").string();
  const SimulationSummary summary = *WriteSimulation(options, {out});

  const World town = *BuildTown(options.town);
  const std::vector<TileSource> tiles = *ResolveMapSources({out + "/map"});
  EXPECT_EQ(tiles.size(), summary.map_tiles);
  size_t map_points = 0;
  for (const TileSource& tile : tiles) {
    const PointCloud cloud = *LoadTile(tile);
    map_points += cloud.size();
    ASSERT_TRUE(tile.bounds.has_value());
    EXPECT_NEAR(tile.bounds->max.x() - tile.bounds->min.x(), 20.0, 1e-9);
    for (size_t i = 0; i < cloud.size(); i += 97) {
      const Eigen::Vector3d point = cloud.Point(i);
      EXPECT_TRUE((point.head<2>().array() >= tile.bounds->min.array() - 1e-4).all());
      EXPECT_TRUE((point.head<2>().array() <= tile.bounds->max.array() + 1e-4).all());
      EXPECT_LT(SurfaceDistance(town.scene, {}, point), 2e-5);
    }
  }
  EXPECT_EQ(map_points, summary.map_points);
  EXPECT_GT(map_points, 1000U);

  const std::vector<std::string> scans = *ListClouds(out + "/scans");
  const auto kitti = *ReadTrajectory(out + "/poses.txt", TrajectoryFormat::kKitti);
  const auto tum = *ReadTrajectory(out + "/poses_tum.txt", TrajectoryFormat::kTum);
  ASSERT_EQ(scans.size(), 6U);
  ASSERT_EQ(kitti.size(), 6U);
  ASSERT_EQ(tum.size(), 6U);
  const Traffic traffic(town, options.traffic);
  size_t scan_points = 0;
  for (size_t k = 0; k < scans.size(); ++k) {
    EXPECT_EQ(fs::path(scans[k]).filename().string(), "00000" + std::to_string(k) + ".pcd");
    EXPECT_LT(TranslationDistance(kitti[k].pose, tum[k].pose), 1e-9);
    EXPECT_LT(RotationDistance(kitti[k].pose, tum[k].pose), 1e-7);
    EXPECT_EQ(tum[k].stamp_ns, static_cast<int64_t>(k) * 100'000'000);
    const PointCloud scan = *ReadCloud(scans[k]);
    scan_points += scan.size();
    const auto moving =
        traffic.At(static_cast<double>(tum[k].stamp_ns) * 1e-9, kitti[k].pose.translation);
    for (size_t i = 0; i < scan.size(); i += 13) {
      EXPECT_LT(SurfaceDistance(town.scene, moving, kitti[k].pose * scan.Point(i)), 1e-5);
    }
  }
  EXPECT_EQ(scan_points, summary.scan_points);

  const nlohmann::json record = nlohmann::json::parse(FilesOf(out).at("simulation.json"));
  EXPECT_EQ(record["complete"], true);
  EXPECT_EQ(record["town"]["size_m"], 100.0);
  EXPECT_EQ(record["result"]["map_points"], map_points);
}

TEST_F(DatasetWriterTest, TheNumberOfThreadsChangesNoByte) {
  ASSERT_TRUE(WriteSimulation(Tiny(), {(root_ / "one").string(), false, 1}).ok());
  ASSERT_TRUE(WriteSimulation(Tiny(), {(root_ / "three").string(), false, 3}).ok());
  EXPECT_TRUE(FilesOf(root_ / "one") == FilesOf(root_ / "three"));
}

TEST_F(DatasetWriterTest, WritesEverySceneTheSameOnAnyNumberOfThreads) {
  for (const SceneKind scene :
       {SceneKind::kCorridor, SceneKind::kTunnel, SceneKind::kField, SceneKind::kHall,
        SceneKind::kGarage, SceneKind::kForest, SceneKind::kMotorway}) {
    SimulationOptions options = Tiny();
    options.scene = scene;
    options.lidar.max_range_m = 40.0;
    options.passage.length_m = 60.0;
    options.field.size_m = 100.0;
    options.forest.size_m = 100.0;
    options.motorway.length_m = 300.0;
    const std::string name(ToString(scene));
    const std::string one = (root_ / (name + "1")).string();
    const std::string three = (root_ / (name + "3")).string();
    const auto summary = WriteSimulation(options, {one, false, 1});
    ASSERT_TRUE(summary.ok()) << summary.status();
    EXPECT_EQ(summary->scans, 6U);
    EXPECT_GT(summary->map_points, 1000U);
    ASSERT_TRUE(WriteSimulation(options, {three, false, 3}).ok());
    EXPECT_TRUE(FilesOf(one) == FilesOf(three)) << name;
    const nlohmann::json record = nlohmann::json::parse(FilesOf(one).at("simulation.json"));
    EXPECT_TRUE(record.contains(name));
    EXPECT_FALSE(record.contains("town"));
  }
}

// The field t of a binary PCD with the fields x y z t.
std::vector<float> TimesOf(const std::string& pcd) {
  const std::string end = "DATA binary\n";
  EXPECT_NE(pcd.find("FIELDS x y z t\nSIZE 4 4 4 4\nTYPE F F F F\n"), std::string::npos);
  const size_t data = pcd.find(end) + end.size();
  std::vector<float> times;
  for (size_t at = data + 12; at + 4 <= pcd.size(); at += 16) {
    float time_s = 0.0F;
    std::memcpy(&time_s, pcd.data() + at, 4);
    times.push_back(time_s);
  }
  return times;
}

TEST_F(DatasetWriterTest, SkewedScansAreSeenFromWhereTheVehicleWasAtEachPointsTime) {
  SimulationOptions options = Tiny();
  options.traffic.pedestrians_per_km = 0.0;
  options.drive.rate_hz = 5.0;
  options.scan_duration_s = 0.1;
  options.point_times = true;
  const std::string out = (root_ / "set").string();
  ASSERT_TRUE(WriteSimulation(options, {out}).ok());
  const World town = *BuildTown(options.town);
  DriveOptions drive_options = options.drive;
  drive_options.tail_s = 0.1;
  const Drive drive = *Drive::Plan(town, drive_options);
  const auto poses = *ReadTrajectory(out + "/poses_tum.txt", TrajectoryFormat::kTum);
  const std::map<std::string, std::string> files = FilesOf(out + "/scans");
  double largest = 0.0;
  for (size_t k = 0; k < poses.size(); ++k) {
    const std::string name = "00000" + std::to_string(k) + ".pcd";
    const PointCloud scan = *ReadCloud(out + "/scans/" + name);
    const std::vector<float> times = TimesOf(files.at(name));
    ASSERT_EQ(times.size(), scan.size());
    // The pose in the file is the one of the stamp, when the first ray leaves.
    const double stamp_s = static_cast<double>(poses[k].stamp_ns) * 1e-9;
    EXPECT_LT(TranslationDistance(poses[k].pose, drive.At(stamp_s).world_T_sensor), 1e-6);
    for (size_t i = 0; i < scan.size(); i += 7) {
      EXPECT_GE(times[i], 0.0F);
      EXPECT_LT(times[i], 0.1F);
      const Pose pose = drive.At(stamp_s + static_cast<double>(times[i])).world_T_sensor;
      EXPECT_LT(SurfaceDistance(town.scene, {}, pose * scan.Point(i)), 1e-4);
      largest = std::max(largest, SurfaceDistance(town.scene, {}, poses[k].pose * scan.Point(i)));
    }
  }
  EXPECT_GT(largest, 0.2);
}

TEST_F(DatasetWriterTest, StampsMayLieInTheMiddleOfTheScans) {
  SimulationOptions options = Tiny();
  options.scan_duration_s = 0.1;
  options.point_times = true;
  ASSERT_TRUE(WriteSimulation(options, {(root_ / "start").string()}).ok());
  options.stamp_at = 0.5;
  ASSERT_TRUE(WriteSimulation(options, {(root_ / "middle").string()}).ok());
  const auto poses =
      *ReadTrajectory((root_ / "middle" / "poses_tum.txt").string(), TrajectoryFormat::kTum);
  const World town = *BuildTown(options.town);
  DriveOptions drive_options = options.drive;
  drive_options.tail_s = 0.1;
  const Drive drive = *Drive::Plan(town, drive_options);
  for (size_t k = 0; k < poses.size(); ++k) {
    const double stamp_s = 0.1 * static_cast<double>(k) + 0.05;
    EXPECT_NEAR(static_cast<double>(poses[k].stamp_ns) * 1e-9, stamp_s, 1e-9);
    EXPECT_LT(TranslationDistance(poses[k].pose, drive.At(stamp_s).world_T_sensor), 1e-6);
  }
  // The rays are the same; their times count from the stamp.
  const std::string start = FilesOf(root_ / "start").at("scans/000003.pcd");
  const std::string middle = FilesOf(root_ / "middle").at("scans/000003.pcd");
  ASSERT_EQ(start.size(), middle.size());
  const std::vector<float> since_start = TimesOf(start);
  const std::vector<float> since_middle = TimesOf(middle);
  for (size_t i = 0; i < since_start.size(); ++i) {
    EXPECT_NEAR(since_middle[i], since_start[i] - 0.05F, 1e-7F);
  }
}

TEST_F(DatasetWriterTest, SkewWithTrafficIsTheSameOnAnyNumberOfThreads) {
  SimulationOptions options = Tiny();
  options.traffic.cars_per_km = 60.0;
  options.scan_duration_s = 0.1;
  ASSERT_TRUE(WriteSimulation(options, {(root_ / "one").string(), false, 1}).ok());
  ASSERT_TRUE(WriteSimulation(options, {(root_ / "three").string(), false, 3}).ok());
  EXPECT_TRUE(FilesOf(root_ / "one") == FilesOf(root_ / "three"));
}

TEST_F(DatasetWriterTest, AnOldAndDriftedMapLeavesScansAndPosesAsTheyAre) {
  SimulationOptions options = Tiny();
  ASSERT_TRUE(WriteSimulation(options, {(root_ / "new").string()}).ok());
  options.map_age.changed_parking = 1.0;
  options.map_age.missing_structures = 0.3;
  options.map_drift.sigma_m = 0.1;
  ASSERT_TRUE(WriteSimulation(options, {(root_ / "old").string(), false, 1}).ok());
  ASSERT_TRUE(WriteSimulation(options, {(root_ / "again").string(), false, 3}).ok());
  EXPECT_EQ(FilesOf(root_ / "new" / "scans"), FilesOf(root_ / "old" / "scans"));
  EXPECT_NE(FilesOf(root_ / "new" / "map"), FilesOf(root_ / "old" / "map"));
  EXPECT_TRUE(FilesOf(root_ / "old") == FilesOf(root_ / "again"));
  EXPECT_EQ(FilesOf(root_ / "new").at("poses.txt"), FilesOf(root_ / "old").at("poses.txt"));
  const nlohmann::json record = nlohmann::json::parse(FilesOf(root_ / "old").at("simulation.json"));
  EXPECT_GT(record["result"]["changed_places"], 0);
  const nlohmann::json& drift = record["result"]["map_drift_at_scans"];
  ASSERT_EQ(drift.size(), 6U);
  const auto poses =
      *ReadTrajectory((root_ / "old" / "poses.txt").string(), TrajectoryFormat::kKitti);
  const Eigen::Vector3d expected =
      MapDrift(options.map_drift).DisplacementAt(poses[3].pose.translation);
  for (size_t axis = 0; axis < 3; ++axis) {
    EXPECT_NEAR(drift[3][axis].get<double>(), expected[static_cast<Eigen::Index>(axis)], 1e-6);
  }
}

TEST_F(DatasetWriterTest, AMapOriginMovesMapAndPosesAndLosesNothing) {
  SimulationOptions options = Tiny();
  const std::string near = (root_ / "near").string();
  ASSERT_TRUE(WriteSimulation(options, {near}).ok());
  options.map_origin = {400000.0, 4000000.0, 100.0};
  const std::string far = (root_ / "far").string();
  ASSERT_TRUE(WriteSimulation(options, {far}).ok());
  const auto at_zero = *ReadTrajectory(near + "/poses.txt", TrajectoryFormat::kKitti);
  const auto at_utm = *ReadTrajectory(far + "/poses.txt", TrajectoryFormat::kKitti);
  for (size_t i = 0; i < at_zero.size(); ++i) {
    EXPECT_LT((at_utm[i].pose.translation - at_zero[i].pose.translation - options.map_origin)
                  .cwiseAbs()
                  .maxCoeff(),
              2e-9);
  }
  const World town = *BuildTown(options.town);
  const std::vector<TileSource> tiles = *ResolveMapSources({far + "/map"});
  for (const TileSource& tile : tiles) {
    const PointCloud cloud = *LoadTile(tile);
    for (size_t i = 0; i < cloud.size(); i += 211) {
      EXPECT_LT(SurfaceDistance(town.scene, {}, cloud.Point(i) - options.map_origin), 2e-5);
    }
  }
  EXPECT_EQ(FilesOf(near + "/scans"), FilesOf(far + "/scans"));
}

TEST_F(DatasetWriterTest, OdometryIsAFileBesideTheOthers) {
  SimulationOptions options = Tiny();
  const std::string out = (root_ / "set").string();
  ASSERT_TRUE(WriteSimulation(options, {out}).ok());
  std::map<std::string, std::string> without = FilesOf(out);
  options.odometry.emplace().slips_per_km = 3.0;
  ASSERT_TRUE(WriteSimulation(options, {out, true}).ok());
  std::map<std::string, std::string> with = FilesOf(out);
  const auto truth = *ReadTrajectory(out + "/poses_tum.txt", TrajectoryFormat::kTum);
  const auto odometry = *ReadTrajectory(out + "/odometry.txt", TrajectoryFormat::kTum);
  std::vector<DrivePose> drive;
  for (const StampedPose& at : truth) {
    drive.push_back({static_cast<double>(at.stamp_ns) * 1e-9, 0.0, at.pose});
  }
  const std::vector<Pose> expected = OdometryOf(drive, *options.odometry);
  ASSERT_EQ(odometry.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(odometry[i].stamp_ns, truth[i].stamp_ns);
    EXPECT_LT(TranslationDistance(odometry[i].pose, expected[i]), 1e-9);
  }
  const nlohmann::json record = nlohmann::json::parse(with.at("simulation.json"));
  EXPECT_EQ(record["odometry"]["slips_per_km"], 3.0);
  with.erase("simulation.json");
  with.erase("odometry.txt");
  const std::string record_without = without.at("simulation.json");
  EXPECT_EQ(record_without.find("odometry"), std::string::npos);
  without.erase("simulation.json");
  EXPECT_TRUE(with == without);
  // Replaced by a simulation without odometry, the directory holds none.
  ASSERT_TRUE(WriteSimulation(Tiny(), {out, true}).ok());
  EXPECT_EQ(FilesOf(out).count("odometry.txt"), 0U);
}

TEST_F(DatasetWriterTest, ADirectoryInUseIsNotWrittenTo) {
  const std::string out = (root_ / "set").string();
  ASSERT_TRUE(WriteSimulation(Tiny(), {out}).ok());
  EXPECT_EQ(WriteSimulation(Tiny(), {out}).status().code(), absl::StatusCode::kAlreadyExists);

  SimulationOptions fewer = Tiny();
  fewer.drive.scans = 2;
  ASSERT_TRUE(WriteSimulation(fewer, {out, true}).ok());
  EXPECT_EQ(ListClouds(out + "/scans")->size(), 2U);

  const fs::path foreign = root_ / "foreign";
  fs::create_directories(foreign);
  std::ofstream(foreign / "letter.txt") << "dear reader";
  for (const bool replace : {false, true}) {
    EXPECT_EQ(WriteSimulation(Tiny(), {foreign.string(), replace}).status().code(),
              absl::StatusCode::kFailedPrecondition);
  }
  EXPECT_EQ(FilesOf(foreign).size(), 1U);
  EXPECT_FALSE(WriteSimulation(Tiny(), {(foreign / "letter.txt").string()}).ok());
}

TEST_F(DatasetWriterTest, AbsurdOptionsLeaveTheDiskAlone) {
  SimulationOptions options = Tiny();
  options.lidar.rings = 0;
  EXPECT_EQ(WriteSimulation(options, {(root_ / "set").string()}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(fs::exists(root_ / "set"));
}

TEST_F(DatasetWriterTest, ReportsEachPhaseToItsEnd) {
  std::map<std::string, std::pair<size_t, size_t>> last;
  ASSERT_TRUE(WriteSimulation(Tiny(), {(root_ / "set").string()},
                              [&](absl::string_view phase, size_t done, size_t total) {
                                last[std::string(phase)] = {done, total};
                              })
                  .ok());
  ASSERT_EQ(last.size(), 3U);
  for (const auto& [phase, progress] : last) EXPECT_EQ(progress.first, progress.second) << phase;
}

}  // namespace
}  // namespace voxloc::sim
