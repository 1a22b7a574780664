// SPDX-License-Identifier: Apache-2.0

#include "core/map/tile_residency.h"

#include <utility>

namespace voxloc {
namespace {

void Count(TileState state, TileResidency::Counts& counts) {
  switch (state) {
    case TileState::kResident:
      ++counts.resident;
      break;
    case TileState::kMissing:
      ++counts.missing;
      break;
    case TileState::kDamaged:
      ++counts.damaged;
      break;
  }
}

}  // namespace

TileLayout::TileLayout(const TileCatalogue& tiles) {
  ids_.reserve(tiles.size());
  std::vector<BoundsTree::Box> boxes;
  boxes.reserve(tiles.size());
  tiles.ForEach([&](const TileCatalogue::Tile& entry) {
    const Bounds& bounds = entry.second.bounds;
    if (bounds.finite_points > 0) {
      boxes.push_back(
          {bounds.min.head<2>(), bounds.max.head<2>(), static_cast<uint32_t>(ids_.size())});
    }
    ids_.push_back(entry.first);
  });
  tree_ = BoundsTree(std::move(boxes));
}

TileState StateOf(const MapTile& tile) {
  if (tile.resident != nullptr) return TileState::kResident;
  return tile.damaged ? TileState::kDamaged : TileState::kMissing;
}

TileResidency::TileResidency(std::shared_ptr<const TileLayout> layout,
                             std::vector<TileState> states)
    : layout_(std::move(layout)), states_(std::move(states)) {
  for (const TileState state : states_) Count(state, all_);
}

std::shared_ptr<const TileResidency> TileResidency::Of(const TileCatalogue& tiles,
                                                       std::shared_ptr<const TileLayout> layout) {
  if (tiles.resident() == tiles.size()) return nullptr;
  std::vector<TileState> states;
  states.reserve(tiles.size());
  tiles.ForEach([&](const TileCatalogue::Tile& entry) { states.push_back(StateOf(entry.second)); });
  if (layout == nullptr) layout = std::make_shared<const TileLayout>(tiles);
  return std::shared_ptr<const TileResidency>(
      new TileResidency(std::move(layout), std::move(states)));
}

TileResidency::Counts TileResidency::Within(const Eigen::Vector2d& centre, double radius_m) const {
  Counts counts;
  layout_->tree().ForEachWithin(
      centre, radius_m, [&](const BoundsTree::Box& box) { Count(states_[box.number], counts); });
  return counts;
}

TileResidency::Counts TileResidency::Touching(const Eigen::Vector2d& min,
                                              const Eigen::Vector2d& max) const {
  Counts counts;
  layout_->tree().ForEachTouching(
      min, max, [&](const BoundsTree::Box& box) { Count(states_[box.number], counts); });
  return counts;
}

}  // namespace voxloc
