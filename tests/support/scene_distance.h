// SPDX-License-Identifier: Apache-2.0
//
// How far points are from the surfaces of a simulated scene, and shares of such numbers.

#ifndef VOXLOC_TESTS_SUPPORT_SCENE_DISTANCE_H_
#define VOXLOC_TESTS_SUPPORT_SCENE_DISTANCE_H_

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "clients/sim/world.h"
#include "core/map/lattice.h"
#include "tests/clients/sim/surface_distance.h"

namespace voxloc {

// Solids near a place, so that distances need not look at all.
class NearScene {
 public:
  explicit NearScene(const sim::Scene& scene) : scene_(scene) {
    for (const sim::Solid& solid : scene.solids()) {
      const sim::Aabb box = sim::BoundsOf(solid);
      const CellKey low = CellOf(box.min - Eigen::Vector3d::Constant(1.0), kCellM);
      const CellKey high = CellOf(box.max + Eigen::Vector3d::Constant(1.0), kCellM);
      for (int32_t x = low.x; x <= high.x; ++x) {
        for (int32_t y = low.y; y <= high.y; ++y) near_[{x, y}].push_back(&solid);
      }
    }
  }
  // Up to 1 m.
  [[nodiscard]] double Distance(const Eigen::Vector3d& point) const {
    const sim::Ground& ground = scene_.ground();
    double nearest = std::abs(point.z() - ground.Height(point.x(), point.y())) *
                     ground.Normal(point.x(), point.y()).z();
    const CellKey key = CellOf(point, kCellM);
    const auto found = near_.find({key.x, key.y});
    if (found == near_.end()) return std::min(1.0, nearest);
    for (const sim::Solid* solid : found->second) {
      nearest = std::min(nearest, std::abs(sim::SignedDistance(*solid, point)));
    }
    return std::min(1.0, nearest);
  }

 private:
  static constexpr double kCellM = 5.0;
  const sim::Scene& scene_;
  std::map<std::pair<int32_t, int32_t>, std::vector<const sim::Solid*>> near_;
};

inline double Quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0.0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

inline void Append(const std::vector<double>& more, std::vector<double>& values) {
  values.insert(values.end(), more.begin(), more.end());
}

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_SCENE_DISTANCE_H_
