// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/camera_poses.h"

#include <cmath>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "core/cloud/io/file_bytes.h"
#include "core/cloud/io/malformed.h"
#include "core/cloud/io/text_scan.h"

namespace voxloc {
namespace {

constexpr size_t kMostCalibrationBytes = size_t{1} << 20;

// Poses that move less have no direction.
constexpr double kLeastWay_m = 1.0;
// Of the way, along the own z axis. Vehicles climb a few percent.
constexpr double kCameraShare = 0.7;

using Entries = std::map<std::string, std::vector<double>>;

absl::StatusOr<Entries> ReadCalibrationEntries(const std::string& path) {
  const absl::StatusOr<FileBytes> bytes = ReadFileBytes(path, kMostCalibrationBytes);
  if (!bytes.ok()) return bytes.status();
  Entries entries;
  LineScanner lines(bytes->view());
  absl::string_view line;
  while (lines.Next(line)) {
    const std::string key(absl::StripSuffix(TakeWord(line), ":"));
    std::vector<double> numbers;
    for (absl::string_view word = TakeWord(line); !word.empty(); word = TakeWord(line)) {
      double number = 0.0;
      // Dates and names of cameras.
      if (!ParseDouble(word, number)) break;
      numbers.push_back(number);
    }
    if (!key.empty()) entries[key] = std::move(numbers);
  }
  return entries;
}

absl::StatusOr<Pose> PoseOf(const std::string& path, const std::string& key,
                            const Eigen::Matrix4d& matrix) {
  const absl::StatusOr<Pose> pose = PoseFromMatrix(matrix);
  if (!pose.ok()) return Malformed(path, absl::StrCat(key, ": ", pose.status().message()));
  return pose;
}

// Of `rows` rows of `columns` numbers, where the entry has as many.
absl::StatusOr<Eigen::Matrix4d> MatrixOf(const std::string& path, const Entries& entries,
                                         const std::string& key, int rows, int columns) {
  const std::vector<double>& numbers = entries.at(key);
  if (numbers.size() != static_cast<size_t>(rows) * static_cast<size_t>(columns)) {
    return Malformed(path, absl::StrCat(key, " must have ", rows * columns, " numbers (got ",
                                        numbers.size(), ")"));
  }
  Eigen::Matrix4d matrix = Eigen::Matrix4d::Identity();
  for (int i = 0; i < rows * columns; ++i) {
    matrix(i / columns, i % columns) = numbers[static_cast<size_t>(i)];
  }
  return matrix;
}

}  // namespace

absl::StatusOr<Pose> ReadKittiCalibration(const std::string& path) {
  const absl::StatusOr<Entries> entries = ReadCalibrationEntries(path);
  if (!entries.ok()) return entries.status();
  for (const char* key : {"Tr", "Tr_velo_to_cam", "Tr_velo_cam"}) {
    if (entries->count(key) == 0) continue;
    const absl::StatusOr<Eigen::Matrix4d> matrix = MatrixOf(path, *entries, key, 3, 4);
    if (!matrix.ok()) return matrix.status();
    absl::StatusOr<Pose> camera_T_lidar = PoseOf(path, key, *matrix);
    if (!camera_T_lidar.ok()) return camera_T_lidar.status();
    for (const char* rectifying : {"R0_rect", "R_rect"}) {
      if (entries->count(rectifying) == 0) continue;
      const absl::StatusOr<Eigen::Matrix4d> rotation = MatrixOf(path, *entries, rectifying, 3, 3);
      if (!rotation.ok()) return rotation.status();
      const absl::StatusOr<Pose> rectified = PoseOf(path, rectifying, *rotation);
      if (!rectified.ok()) return rectified.status();
      return *rectified * *camera_T_lidar;
    }
    return camera_T_lidar;
  }
  if (entries->count("R") > 0 && entries->count("T") > 0) {
    absl::StatusOr<Eigen::Matrix4d> matrix = MatrixOf(path, *entries, "R", 3, 3);
    if (!matrix.ok()) return matrix.status();
    const absl::StatusOr<Eigen::Matrix4d> translation = MatrixOf(path, *entries, "T", 3, 1);
    if (!translation.ok()) return translation.status();
    matrix->topRightCorner<3, 1>() = translation->topLeftCorner<3, 1>();
    return PoseOf(path, "R and T", *matrix);
  }
  return Malformed(
      path,
      "a KITTI calibration must have Tr, Tr_velo_to_cam or Tr_velo_cam (12 numbers), or "
      "R and T: the pose of the LiDAR in the camera's axes");
}

absl::StatusOr<std::vector<StampedPose>> ReadPoses(const std::string& path, TrajectoryFormat format,
                                                   const std::string& calibration) {
  absl::StatusOr<std::vector<StampedPose>> poses = ReadTrajectory(path, format);
  if (!poses.ok() || calibration.empty()) return poses;
  const absl::StatusOr<Pose> camera_T_lidar = ReadKittiCalibration(calibration);
  if (!camera_T_lidar.ok()) return camera_T_lidar.status();
  const Pose lidar_T_camera = camera_T_lidar->Inverse();
  for (StampedPose& stamped : *poses) {
    stamped.pose = lidar_T_camera * stamped.pose * *camera_T_lidar;
  }
  return poses;
}

std::optional<std::string> DoubtOnAxes(const std::vector<StampedPose>& poses) {
  double way_m = 0.0;
  double along_z_m = 0.0;
  for (size_t i = 1; i < poses.size(); ++i) {
    const Pose& from = poses[i - 1].pose;
    const Eigen::Vector3d step =
        from.rotation.conjugate() * (poses[i].pose.translation - from.translation);
    way_m += step.norm();
    along_z_m += std::abs(step.z());
  }
  if (way_m < kLeastWay_m || along_z_m < kCameraShare * way_m) return std::nullopt;
  return absl::StrFormat(
      "the poses move along their own z axis for %.0f of %.0f m, as a camera's do, so that the map "
      "would lie on its side; --calib takes KITTI's calibration of camera and LiDAR, "
      "--base-t-sensor another mount",
      along_z_m, way_m);
}

}  // namespace voxloc
