// SPDX-License-Identifier: Apache-2.0

#include "tests/support/yard.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_format.h"
#include "core/cloud/io/cloud_file.h"

namespace voxloc {

sim::Solid SolidBetween(const Eigen::Vector3d& low, const Eigen::Vector3d& high) {
  sim::Solid solid;
  solid.center = 0.5 * (low + high);
  solid.half_extent = 0.5 * (high - low);
  return solid;
}

std::vector<sim::Solid> Yard() {
  return {SolidBetween({-25, -15, -1}, {25, 15, 0}), SolidBetween({-25, 8, 0}, {-8, 12, 6}),
          SolidBetween({-6, 9, 0}, {10, 12, 7}),     SolidBetween({12, 8.5, 0}, {25, 12, 5}),
          SolidBetween({-25, -12, 0}, {-3, -8, 6}),  SolidBetween({-1, -12, 0}, {25, -9, 6}),
          SolidBetween({-25, -8, 0}, {-20, 8, 6}),   SolidBetween({20, -8, 0}, {25, 8, 6}),
          SolidBetween({3, 5, 0}, {9, 8, 5})};
}

PointCloud SampleFaces(const std::vector<sim::Solid>& solids) {
  constexpr double kSpacingM = 0.2;
  PointCloud cloud;
  for (const sim::Solid& solid : solids) {
    for (int axis = 0; axis < 3; ++axis) {
      const int u = (axis + 1) % 3;
      const int v = (axis + 2) % 3;
      for (const double side : {-1.0, 1.0}) {
        for (double a = -solid.half_extent[u]; a <= solid.half_extent[u]; a += kSpacingM) {
          for (double b = -solid.half_extent[v]; b <= solid.half_extent[v]; b += kSpacingM) {
            Eigen::Vector3d point = solid.center;
            point[axis] += side * solid.half_extent[axis];
            point[u] += a;
            point[v] += b;
            cloud.PushBack(static_cast<float>(point.x()), static_cast<float>(point.y()),
                           static_cast<float>(point.z()));
          }
        }
      }
    }
  }
  return cloud;
}

std::vector<Pose> WriteDrive(const std::vector<sim::Solid>& solids, const DriveThrough& drive,
                             const std::string& folder) {
  const sim::Scene scene(sim::Ground(1.0), solids);
  const sim::RayCaster caster(scene);
  sim::LidarOptions options;
  options.seed = drive.seed;
  options.rings = drive.rings;
  options.azimuth_steps = 720;
  const sim::Lidar lidar(options);
  std::filesystem::create_directories(folder);
  std::vector<Pose> poses;
  for (int i = 0; i < drive.scans; ++i) {
    Pose& pose = poses.emplace_back();
    pose.translation = {drive.from_x_m + drive.step_m * i, drive.y_m, 2.0};
    const auto number = static_cast<uint64_t>(i);
    EXPECT_TRUE(
        WritePcd(absl::StrFormat("%s/%02d.pcd", folder, i), lidar.Scan(caster, pose, number)).ok());
  }
  return poses;
}

}  // namespace voxloc
