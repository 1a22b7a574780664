// SPDX-License-Identifier: Apache-2.0

#include "core/engine/self_test/self_test_scene.h"

#include <Eigen/Core>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/geometry/euler.h"

namespace voxloc {
namespace {

constexpr double kHalfYardM = 9.0;
constexpr double kNoiseM = 0.01;  // largest, of every coordinate
constexpr size_t kMapPoints = 24'000;
constexpr size_t kScanPoints = 1'200;

// Numbers from 0 to 1 (SplitMix64).
class Sequence {
 public:
  explicit Sequence(uint64_t seed) : state_(seed) {}
  double Next() {
    state_ += 0x9e3779b97f4a7c15U;
    uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    z ^= z >> 31U;
    return static_cast<double>(z >> 11U) * 0x1p-53;
  }
  double Uniform(double low, double high) { return low + (high - low) * Next(); }

 private:
  uint64_t state_;
};

// An upright piece of wall on the ground.
struct Wall {
  double from_x, from_y, to_x, to_y, height_m;
};

constexpr Wall kWalls[] = {
    {-9.0, -9.0, 9.0, -8.2, 4.0}, {9.0, -8.2, 8.5, 9.0, 3.0},    {8.5, 9.0, -9.0, 8.0, 4.5},
    {-9.0, 8.0, -9.0, -9.0, 3.5}, {-4.0, 2.0, -1.0, 3.0, 2.5},   {-1.0, 3.0, -1.5, 5.0, 2.5},
    {3.0, -5.0, 5.0, -3.0, 1.5},  {5.0, -3.0, 6.5, -4.5, 1.5},   {-6.0, -4.0, -5.0, -6.0, 2.0},
    {4.0, 4.0, 4.0, 4.3, 5.0},    {-3.0, -3.0, -2.8, -3.0, 4.0},
};
constexpr size_t kSurfaces = 2 + sizeof(kWalls) / sizeof(kWalls[0]);

double GroundHeight(double x, double y) { return 0.03 * x - 0.02 * y + 0.004 * x * y; }

Eigen::Vector3d DrawPoint(Sequence& sequence) {
  // The ground counts for two surfaces.
  const auto surface = static_cast<size_t>(sequence.Next() * static_cast<double>(kSurfaces));
  Eigen::Vector3d point;
  if (surface < 2) {
    const double x = sequence.Uniform(-kHalfYardM, kHalfYardM);
    const double y = sequence.Uniform(-kHalfYardM, kHalfYardM);
    point = {x, y, GroundHeight(x, y)};
  } else {
    const Wall& wall = kWalls[surface - 2];
    const double along = sequence.Next();
    const double x = wall.from_x + along * (wall.to_x - wall.from_x);
    const double y = wall.from_y + along * (wall.to_y - wall.from_y);
    point = {x, y, GroundHeight(x, y) + sequence.Uniform(0.0, wall.height_m)};
  }
  for (int axis = 0; axis < 3; ++axis) point[axis] += sequence.Uniform(-kNoiseM, kNoiseM);
  return point;
}

PointCloud DrawCloud(uint64_t seed, size_t points, const Pose& frame_T_yard) {
  Sequence sequence(seed);
  PointCloud cloud;
  cloud.Reserve(points);
  for (size_t i = 0; i < points; ++i) {
    const Eigen::Vector3f point = (frame_T_yard * DrawPoint(sequence)).cast<float>();
    cloud.PushBack(point.x(), point.y(), point.z());
  }
  return cloud;
}

Pose MakePose(double x, double y, double z, double roll, double pitch, double yaw) {
  ChartVector chart;
  chart << x, y, z, roll, pitch, yaw;
  return PoseFromChart(chart);
}

}  // namespace

SelfTestScene MakeSelfTestScene() {
  const Eigen::Vector3d origin_map(400'000.0, 4'000'000.0, 100.0);
  const Pose yard_T_base = MakePose(0.6, -0.4, 1.5, 0.02, -0.03, 0.7);
  SelfTestScene scene;
  scene.cloud_map = DrawCloud(1, kMapPoints, Pose());
  scene.cloud_map.origin = origin_map;
  scene.scan = std::make_shared<const PointCloud>(DrawCloud(2, kScanPoints, yard_T_base.Inverse()));
  scene.map_T_base = yard_T_base;
  scene.map_T_base.translation += origin_map;

  const auto displaced = [&scene](const Pose& by) {
    return Pose{scene.map_T_base.translation + by.translation,
                (by.rotation * scene.map_T_base.rotation).normalized()};
  };
  scene.guesses = {
      displaced(MakePose(0.3, -0.2, 0.1, 0.01, -0.01, 0.03)),
      displaced(MakePose(-0.4, 0.25, -0.1, -0.015, 0.01, -0.02)),
      displaced(MakePose(0.1, 0.35, 0.05, 0.0, 0.02, 0.04)),
  };
  scene.poses = scene.guesses;
  scene.poses.push_back(scene.map_T_base);
  scene.poses.push_back(displaced(MakePose(6.0, 5.0, 0.5, 0.1, 0.05, 1.0)));
  return scene;
}

}  // namespace voxloc
