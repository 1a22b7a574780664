// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/viewpoints.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace voxloc::sim {
namespace {

constexpr double kEyeHeight_m = 2.0;
constexpr double kEyeDistance_m = 5.0;
constexpr double kCell_m = 8.0;
constexpr size_t kEyesPerCell = 6;
constexpr double kApart_m = 8.0;
constexpr double kStorey_m = 2.5;  // floors are at least this far above each other

}  // namespace

Viewpoints::Viewpoints(const World& world, const RayCaster& caster, double max_distance_m)
    : caster_(caster), half_size_m_(world.scene.ground().half_size_m()) {
  for (const Street& street : world.streets.streets()) {
    const int count = std::max(1, static_cast<int>(std::lround(street.length_m / kEyeDistance_m)));
    for (int i = 0; i < count; ++i) {
      const double along_m = (i + 0.5) * street.length_m / count;
      const Eigen::Vector2d point = street.PointAt(along_m, 0.0);
      const double elevation_m = street.ElevationAt(along_m);
      eyes_.emplace_back(
          point.x(), point.y(),
          world.scene.ground().Height(point.x(), point.y()) + elevation_m + kEyeHeight_m);
      storeys_.push_back(static_cast<int>(elevation_m / kStorey_m));
    }
  }
  SquareIndex index(half_size_m_, max_distance_m);
  for (size_t i = 0; i < eyes_.size(); ++i) index.Add(i, eyes_[i].head<2>(), eyes_[i].head<2>());
  const int storeys = 1 + *std::max_element(storeys_.begin(), storeys_.end());
  cells_per_side_ = static_cast<int>(std::ceil(2.0 * half_size_m_ / kCell_m));
  for (int row = 0; row < cells_per_side_; ++row) {
    for (int column = 0; column < cells_per_side_; ++column) {
      const Eigen::Vector2d middle((column + 0.5) * kCell_m - half_size_m_,
                                   (row + 0.5) * kCell_m - half_size_m_);
      std::vector<int>& chosen = eyes_of_cell_.emplace_back();
      for (int storey = 0; storey < storeys; ++storey) {
        const std::vector<int> eyes = ChooseEyes(middle, storey, max_distance_m, index);
        chosen.insert(chosen.end(), eyes.begin(), eyes.end());
      }
    }
  }
}

std::vector<int> Viewpoints::ChooseEyes(const Eigen::Vector2d& place, int storey,
                                        double max_distance_m, const SquareIndex& index) const {
  std::vector<std::pair<double, int>> near;
  const Eigen::Vector2d reach = Eigen::Vector2d::Constant(max_distance_m);
  index.Within(place - reach, place + reach, [&](size_t i) {
    if (storeys_[i] != storey) return;
    const double distance = (eyes_[i].head<2>() - place).norm();
    if (distance <= max_distance_m) near.emplace_back(distance, static_cast<int>(i));
  });
  std::sort(near.begin(), near.end());
  std::vector<int> chosen;
  for (const auto& candidate : near) {
    if (chosen.size() == kEyesPerCell) break;
    const Eigen::Vector3d& eye = eyes_[static_cast<size_t>(candidate.second)];
    const bool apart = std::all_of(chosen.begin(), chosen.end(), [&](int other) {
      return (eyes_[static_cast<size_t>(other)] - eye).norm() >= kApart_m;
    });
    if (apart) chosen.push_back(candidate.second);
  }
  return chosen;
}

bool Viewpoints::See(const Eigen::Vector3d& point, const Eigen::Vector3d& normal) const {
  const auto cell_of = [&](double position) {
    return std::clamp(static_cast<int>((position + half_size_m_) / kCell_m), 0,
                      cells_per_side_ - 1);
  };
  const size_t cell =
      static_cast<size_t>(cell_of(point.y())) * static_cast<size_t>(cells_per_side_) +
      static_cast<size_t>(cell_of(point.x()));
  for (const int i : eyes_of_cell_[cell]) {
    const Eigen::Vector3d& eye = eyes_[static_cast<size_t>(i)];
    if ((eye - point).dot(normal) > 0.0 && caster_.Sees(eye, point)) return true;
  }
  return false;
}

}  // namespace voxloc::sim
