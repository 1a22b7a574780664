// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/dataset/cloud_sources.h"
#include "clients/dataset/trajectory_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A camera looks along the LiDAR's x axis; its x is to the right and its y down. It sits 0.27 m
// before and 0.08 m below the LiDAR: p_camera = (-y, -z - 0.08, x - 0.27).
constexpr char kTr[] = "0 -1 0 0 0 0 -1 -0.08 1 0 0 -0.27";

Pose CameraFromLidar() {
  Eigen::Matrix4d matrix;
  matrix << 0, -1, 0, 0, 0, 0, -1, -0.08, 1, 0, 0, -0.27, 0, 0, 0, 1;
  return *PoseFromMatrix(matrix);
}

// The LiDAR of a vehicle that drives a curve, in the axes in which it started.
std::vector<StampedPose> Drive() {
  std::vector<StampedPose> poses;
  for (int i = 0; i < 10; ++i) {
    const double yaw = 0.1 * i;
    poses.push_back({int64_t{100'000'000} * i,
                     Pose{Eigen::Vector3d(20.0 * std::sin(yaw), 20.0 - 20.0 * std::cos(yaw), 0.0),
                          Eigen::Quaterniond(Eigen::AngleAxisd(yaw, Eigen::Vector3d::UnitZ()))}});
  }
  return poses;
}

std::string CameraFile(const ScratchDir& scratch) {
  std::vector<StampedPose> poses = Drive();
  for (StampedPose& stamped : poses) {
    stamped.pose = CameraFromLidar() * stamped.pose * CameraFromLidar().Inverse();
  }
  const std::string path = scratch.Path("camera.txt");
  EXPECT_TRUE(WriteTrajectory(path, TrajectoryFormat::kKitti, poses).ok());
  return path;
}

TEST(CameraPosesTest, EveryFormOfKittisCalibrationIsRead) {
  const ScratchDir scratch;
  const std::string unit = "1 0 0 0 1 0 0 0 1";
  for (const std::string& text :
       {absl::StrCat("P0: 7 0 0 0 0 7 0 0 0 0 1 0\nTr: ", kTr, "\n"),
        absl::StrCat("R0_rect: ", unit, "\nTr_velo_to_cam: ", kTr, "\n"),
        absl::StrCat("R_rect ", unit, "\nTr_velo_cam ", kTr, "\n"),
        std::string("calib_time: 15-Mar-2012 11:37:16\nR: 0 -1 0 0 0 -1 1 0 0\nT: 0 -0.08 -0.27\n"
                    "delta_f: 0 0\n")}) {
    const auto pose = ReadKittiCalibration(scratch.Write("calib.txt", text));
    ASSERT_TRUE(pose.ok()) << pose.status();
    // A point 5 m before the LiDAR, 2 m to its left and 1 m up.
    EXPECT_LT((*pose * Eigen::Vector3d(5, 2, 1) - Eigen::Vector3d(-2, -1.08, 4.73)).norm(), 1e-9);
  }
  // The rectifying rotation comes after: here a quarter turn about the camera's x axis.
  const auto turned = ReadKittiCalibration(scratch.Write(
      "calib.txt", absl::StrCat("R0_rect: 1 0 0 0 0 -1 0 1 0\nTr_velo_to_cam: ", kTr, "\n")));
  EXPECT_LT((*turned * Eigen::Vector3d(5, 2, 1) - Eigen::Vector3d(-2, -4.73, -1.08)).norm(), 1e-9);
}

TEST(CameraPosesTest, WhatIsNoCalibrationIsNamed) {
  const ScratchDir scratch;
  const auto error = [&](const std::string& text) {
    const auto pose = ReadKittiCalibration(scratch.Write("calib.txt", text));
    EXPECT_EQ(pose.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(pose.status().message());
  };
  EXPECT_THAT(error("P0: 1 0 0\n"), AllOf(HasSubstr("calib.txt"), HasSubstr("Tr_velo_to_cam")));
  EXPECT_THAT(error("Tr: 1 2 3\n"), AllOf(HasSubstr("12 numbers"), HasSubstr("got 3")));
  EXPECT_THAT(error("Tr: 1 0 0 0 0 2 0 0 0 0 1 0\n"), HasSubstr("not a rotation"));
  EXPECT_THAT(error("R: 1 0 0 0 1 0 0 0 1\nT: 1 2\n"), HasSubstr("T must have 3 numbers"));
  EXPECT_EQ(ReadKittiCalibration(scratch.Path("missing.txt")).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(CameraPosesTest, CalibrationTurnsThemIntoTheLidars) {
  const ScratchDir scratch;
  const std::string calib = scratch.Write("calib.txt", absl::StrCat("Tr: ", kTr, "\n"));
  const auto poses = ReadPoses(CameraFile(scratch), TrajectoryFormat::kKitti, calib);
  ASSERT_TRUE(poses.ok()) << poses.status();
  const std::vector<StampedPose> expected = Drive();
  ASSERT_EQ(poses->size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ((*poses)[i].stamp_ns, expected[i].stamp_ns);
    EXPECT_LT(TranslationDistance((*poses)[i].pose, expected[i].pose), 1e-9);
    EXPECT_LT(RotationDistance((*poses)[i].pose, expected[i].pose), 1e-7);
  }
  EXPECT_FALSE(AxesWarning(*poses).has_value());
  const auto as_they_are = ReadPoses(CameraFile(scratch), TrajectoryFormat::kKitti, "");
  ASSERT_TRUE(as_they_are.ok()) << as_they_are.status();
  ASSERT_TRUE(AxesWarning(*as_they_are).has_value());
  EXPECT_THAT(*AxesWarning(*as_they_are), AllOf(HasSubstr("on its side"), HasSubstr("--calib")));
}

TEST(CameraPosesTest, PosesThatHardlyMoveAreNotDoubted) {
  std::vector<StampedPose> lift = {{0, Pose()}, {1, Pose()}};
  lift[1].pose.translation.z() = 0.5;
  EXPECT_FALSE(AxesWarning(lift).has_value());
  EXPECT_FALSE(AxesWarning({{0, Pose()}}).has_value());
}

TEST(CameraPosesTest, MapsOfThemStandUprightWithTheirCalibration) {
  const ScratchDir scratch;
  for (size_t i = 0; i < Drive().size(); ++i) {
    scratch.Write(absl::StrCat("scans/", i, ".pcd"),
                  "VERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH 1\n"
                  "HEIGHT 1\nPOINTS 1\nDATA ascii\n5 0 -1.8\n");
  }
  MapSourceOptions options;
  options.poses = CameraFile(scratch);
  const std::vector<std::string> paths = {scratch.Path("scans")};
  InputNotes plain;
  ASSERT_TRUE(ResolveMapSources(paths, options, &plain).ok());
  EXPECT_THAT(plain.warnings, ElementsAre(HasSubstr("along their own z axis")));

  options.calibration = scratch.Write("calib.txt", absl::StrCat("Tr: ", kTr, "\n"));
  InputNotes calibrated;
  const auto sources = ResolveMapSources(paths, options, &calibrated);
  ASSERT_TRUE(sources.ok()) << sources.status();
  EXPECT_THAT(calibrated.warnings, IsEmpty());
  for (size_t i = 0; i < sources->size(); ++i) {
    const Eigen::Vector3d point = LoadTile((*sources)[i])->Point(0);
    EXPECT_LT((point - Drive()[i].pose * Eigen::Vector3d(5, 0, -1.8)).norm(), 1e-5);
    EXPECT_NEAR(point.z(), -1.8, 1e-5);
  }

  // The mount alone puts the points together, but leaves the map in the camera's axes.
  options.calibration.clear();
  options.base_T_sensor = CameraFromLidar();
  InputNotes mounted;
  const auto lying = ResolveMapSources(paths, options, &mounted);
  ASSERT_TRUE(lying.ok()) << lying.status();
  EXPECT_THAT(mounted.warnings, ElementsAre(HasSubstr("lies on its side")));
  for (size_t i = 0; i < lying->size(); ++i) {
    const Eigen::Vector3d expected =
        CameraFromLidar() * (Drive()[i].pose * Eigen::Vector3d(5, 0, -1.8));
    EXPECT_LT((LoadTile((*lying)[i])->Point(0) - expected).norm(), 1e-5);
  }
}

}  // namespace
}  // namespace voxloc
