// SPDX-License-Identifier: Apache-2.0

#include "tests/ros_wire/town_drive.h"

#include <gtest/gtest.h>

#include "clients/dataset/cloud_sources.h"
#include "core/cloud/io/cloud_file.h"
#include "tests/e2e/served_town.h"

namespace voxloc::ros_wire {
namespace {

constexpr int64_t kFirstStamp_ns = 1'700'000'000'000'000'000;
constexpr int64_t kPeriod_ns = 100'000'000;

// How wrong a guess is: less than half a cell, which is inside the basin of convergence.
Pose Guess(const Pose& map_T_base, size_t index) {
  const double sign = index % 2 == 0 ? 1.0 : -1.0;
  Pose guess = map_T_base;
  guess.translation += sign * Eigen::Vector3d(0.25, -0.2, 0.05);
  guess.rotation =
      (Eigen::AngleAxisd(sign * 0.01, Eigen::Vector3d::UnitZ()) * guess.rotation).normalized();
  return guess;
}

}  // namespace

void MakeTownDrive(const std::filesystem::path& folder, TownDrive* drive) {
  const ProcessResult simulated =
      RunVoxloc({"simulate", "--size", "120", "--scans", std::to_string(kDriveScans), "--rings",
                 "16", "--steps", "240", "--map-spacing", "0.2", folder.string()});
  ASSERT_EQ(simulated.exit_code, 0) << simulated.error;
  drive->map = folder / "map";
  drive->scans = folder / "scans";
  drive->poses = folder / "stamped_poses.txt";
  drive->guesses = folder / "stamped_guesses.txt";
  auto truth = ReadTrajectory((folder / "poses_tum.txt").string(), TrajectoryFormat::kTum);
  ASSERT_TRUE(truth.ok()) << truth.status();
  std::vector<voxloc::StampedPose> guessed;
  for (size_t i = 0; i < truth->size(); ++i) {
    voxloc::StampedPose& stamped = truth->at(i);
    stamped.stamp_ns = kFirstStamp_ns + static_cast<int64_t>(i) * kPeriod_ns;
    guessed.push_back({stamped.stamp_ns, Guess(stamped.pose, i)});
  }
  ASSERT_TRUE(WriteTrajectory(drive->poses.string(), TrajectoryFormat::kTum, *truth).ok());
  ASSERT_TRUE(WriteTrajectory(drive->guesses.string(), TrajectoryFormat::kTum, guessed).ok());
  drive->truth = *truth;
  auto read = ReadTrajectory(drive->guesses.string(), TrajectoryFormat::kTum);
  ASSERT_TRUE(read.ok()) << read.status();
  drive->guessed = *read;
  const auto files = ListClouds(drive->scans.string());
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ(files->size(), static_cast<size_t>(kDriveScans));
  for (const std::string& file : *files) {
    auto cloud = ReadCloud(file);
    ASSERT_TRUE(cloud.ok()) << cloud.status();
    drive->clouds.push_back(*std::move(cloud));
  }
}

}  // namespace voxloc::ros_wire
