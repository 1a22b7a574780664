// SPDX-License-Identifier: Apache-2.0

#include "server/maps/residency/residency_plan.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace voxloc::server {
namespace {

constexpr double kNowhere = std::numeric_limits<double>::infinity();

// Appends the tiles around these positions that have not been taken, nearest first.
void AppendAround(const TileLayout& layout, absl::Span<const Eigen::Vector2d> positions,
                  double radius_m, std::vector<bool>& taken, std::vector<uint32_t>& numbers) {
  std::vector<double> squared_m(layout.size(), kNowhere);
  std::vector<std::pair<double, uint32_t>> found;
  for (const Eigen::Vector2d& position : positions) {
    layout.tree().ForEachWithin(position, radius_m, [&](const BoundsTree::Box& box) {
      if (taken[box.number]) return;
      const Eigen::Vector2d nearest = position.cwiseMax(box.min).cwiseMin(box.max);
      double& least = squared_m[box.number];
      if (least == kNowhere) found.emplace_back(0.0, box.number);
      least = std::min(least, (nearest - position).squaredNorm());
    });
  }
  for (auto& [distance, number] : found) distance = squared_m[number];
  std::sort(found.begin(), found.end());
  for (const auto& [distance, number] : found) {
    taken[number] = true;
    numbers.push_back(number);
  }
}

}  // namespace

std::vector<uint32_t> PlanResidency(const TileLayout& layout, absl::Span<const PlaceInUse> places,
                                    const ResidencyOptions& options) {
  std::vector<Eigen::Vector2d> now;
  std::vector<Eigen::Vector2d> soon;
  now.reserve(places.size());
  for (const PlaceInUse& place : places) {
    now.push_back(place.position);
    const Eigen::Vector2d ahead_m = place.velocity * options.ahead_s;
    if (ahead_m.squaredNorm() > 0.0) soon.push_back(place.position + ahead_m);
  }
  std::vector<uint32_t> numbers;
  std::vector<bool> taken(layout.size());
  AppendAround(layout, now, options.map_radius_m, taken, numbers);
  AppendAround(layout, soon, options.map_radius_m, taken, numbers);
  return numbers;
}

}  // namespace voxloc::server
