// SPDX-License-Identifier: Apache-2.0

#include "tests/support/room_scene.h"

#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

void AddBox(const Eigen::Vector3d& low, const Eigen::Vector3d& size,
            std::vector<Rectangle>& rectangles) {
  const Eigen::Vector3d x = size.x() * Eigen::Vector3d::UnitX();
  const Eigen::Vector3d y = size.y() * Eigen::Vector3d::UnitY();
  const Eigen::Vector3d z = size.z() * Eigen::Vector3d::UnitZ();
  rectangles.insert(
      rectangles.end(),
      {{low, x, y}, {low + z, x, y}, {low, x, z}, {low + y, x, z}, {low, y, z}, {low + x, y, z}});
}

}  // namespace

std::vector<Rectangle> Room() {
  std::vector<Rectangle> rectangles;
  AddBox({-6.0, -5.0, 0.0}, {12.0, 10.0, 4.0}, rectangles);
  AddBox({2.3, 1.2, 0.0}, {0.7, 0.7, 4.0}, rectangles);
  AddBox({-3.4, -2.1, 0.0}, {0.7, 1.1, 4.0}, rectangles);
  AddBox({-1.2, 3.3, 0.0}, {2.0, 0.8, 0.6}, rectangles);
  return rectangles;
}

std::vector<Rectangle> Corridor() {
  const Eigen::Vector3d along = 200.0 * Eigen::Vector3d::UnitX();
  const Eigen::Vector3d up = 4.0 * Eigen::Vector3d::UnitZ();
  const Eigen::Vector3d low(-100.0, -2.3, 0.0);
  const Eigen::Vector3d across = 4.6 * Eigen::Vector3d::UnitY();
  return {{low, along, across}, {low, along, up}, {low + across, along, up}};
}

PointCloud PointsOn(const std::vector<Rectangle>& rectangles, size_t count, double noise_m,
                    uint64_t seed) {
  RandomNumbers random(seed);
  std::vector<double> up_to;
  double area = 0.0;
  for (const Rectangle& r : rectangles) up_to.push_back(area += r.side_a.norm() * r.side_b.norm());
  PointCloud cloud;
  for (size_t i = 0; i < count; ++i) {
    const double at = random.Uniform(0.0, area);
    size_t k = 0;
    while (k + 1 < rectangles.size() && up_to[k] <= at) ++k;
    const double a = random.Uniform(0.0, 1.0);
    const double b = random.Uniform(0.0, 1.0);
    const Eigen::Vector3f point = (rectangles[k].corner + a * rectangles[k].side_a +
                                   b * rectangles[k].side_b + noise_m * random.NormalVector())
                                      .cast<float>();
    cloud.PushBack(point.x(), point.y(), point.z());
  }
  return cloud;
}

PointCloud ScanOf(const std::vector<Rectangle>& rectangles, const Pose& map_T_base, size_t count,
                  double noise_m, uint64_t seed, double range_m) {
  const PointCloud seen =
      Transform(map_T_base.Inverse(), PointsOn(rectangles, count, noise_m, seed));
  PointCloud scan;
  for (size_t i = 0; i < seen.size(); ++i) {
    const Eigen::Vector3f point = seen.Point(i).cast<float>();
    if (point.norm() <= static_cast<float>(range_m)) scan.PushBack(point.x(), point.y(), point.z());
  }
  return scan;
}

}  // namespace voxloc
