// SPDX-License-Identifier: Apache-2.0

#include "tests/server/small_town.h"

#include <cmath>
#include <random>

#include "core/geometry/euler.h"
#include "server/convert/pose.h"
#include "server/convert/scan.h"

namespace voxloc::server {
namespace {

constexpr double kNoiseM = 0.02;

// Uniform in (-1, 1), the same on every machine: distributions of the library are not.
class Noise {
 public:
  double Next() { return static_cast<double>(engine_()) / 2147483648.0 - 1.0; }

 private:
  std::mt19937 engine_{7};
};

void AddWall(double x, double y, double heading, double length, double height, Noise& noise,
             PointCloud& town) {
  for (double along = 0.0; along < length; along += 0.2) {
    for (double up = 0.0; up < height; up += 0.25) {
      const double depth = 0.15 * std::sin(along) + kNoiseM * noise.Next();
      town.PushBack(static_cast<float>(x + along * std::cos(heading) - depth * std::sin(heading)),
                    static_cast<float>(y + along * std::sin(heading) + depth * std::cos(heading)),
                    static_cast<float>(up + kNoiseM * noise.Next()));
    }
  }
}

}  // namespace

PointCloud SmallTown() {
  Noise noise;
  PointCloud town;
  for (double x = -30.0; x < 30.0; x += 0.3) {
    for (double y = -30.0; y < 30.0; y += 0.3) {
      town.PushBack(static_cast<float>(x + 0.1 * noise.Next()),
                    static_cast<float>(y + 0.1 * noise.Next()),
                    static_cast<float>(0.01 * x + kNoiseM * noise.Next()));
    }
  }
  AddWall(-20.0, 12.0, 0.05, 40.0, 6.0, noise, town);
  AddWall(-22.0, -14.0, -0.04, 44.0, 5.0, noise, town);
  AddWall(18.0, -13.0, 1.5, 25.0, 4.0, noise, town);
  AddWall(-21.0, -13.0, 1.62, 24.0, 7.0, noise, town);
  AddWall(6.0, 3.0, 0.7, 6.0, 3.0, noise, town);
  for (int pole = 0; pole < 8; ++pole) {
    AddWall(-14.0 + 4.0 * pole, 6.0 - 1.7 * pole, 0.3 * pole, 0.5, 5.0, noise, town);
  }
  return town;
}

Pose VehiclePose() { return {{1.0, -0.5, 1.8}, RotationFromRosAngles(0.01, -0.02, 0.4)}; }

PointCloud ScanFrom(const Pose& map_T_base, size_t points) {
  const PointCloud town = SmallTown();
  const Pose base_T_map = map_T_base.Inverse();
  std::vector<Eigen::Vector3d> near;
  for (size_t i = 0; i < town.size(); ++i) {
    const Eigen::Vector3d point = base_T_map * town.Point(i);
    if (point.norm() < 25.0) near.push_back(point);
  }
  PointCloud scan;
  const double step = static_cast<double>(near.size()) / static_cast<double>(points);
  for (size_t i = 0; i < points; ++i) {
    const Eigen::Vector3d& point = near[static_cast<size_t>(static_cast<double>(i) * step)];
    scan.PushBack(static_cast<float>(point.x()), static_cast<float>(point.y()),
                  static_cast<float>(point.z()));
  }
  return scan;
}

v1::Cloud CloudOf(const PointCloud& cloud) {
  v1::Cloud proto;
  EncodeCloud(cloud, proto);
  return proto;
}

v1::Cloud CloudOf(const std::vector<float>& xyz) {
  PointCloud cloud;
  for (size_t i = 0; i + 2 < xyz.size(); i += 3) cloud.PushBack(xyz[i], xyz[i + 1], xyz[i + 2]);
  return CloudOf(cloud);
}

v1::Pose PoseOf(const Pose& pose) {
  v1::Pose proto;
  PoseToProto(pose, proto);
  return proto;
}

v1::Scan GoodScan(uint64_t sequence) {
  static const auto* const cloud = new v1::Cloud(CloudOf(ScanFrom(VehiclePose())));
  Pose guess = VehiclePose();
  guess.translation += Eigen::Vector3d(0.3, -0.2, 0.05);
  guess.rotation = RotationFromRosAngles(0.0, 0.0, 0.0175) * guess.rotation;
  v1::Scan scan;
  scan.set_sequence(sequence);
  scan.set_stamp_ns(static_cast<int64_t>(sequence) * 100'000'000);
  *scan.add_clouds()->mutable_cloud() = *cloud;
  *scan.mutable_guess_map_t_base()->mutable_pose() = PoseOf(guess);
  return scan;
}

}  // namespace voxloc::server
