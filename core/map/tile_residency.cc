// SPDX-License-Identifier: Apache-2.0

#include "core/map/tile_residency.h"

#include <algorithm>
#include <utility>

namespace voxloc {
namespace {

constexpr size_t kFanout = 16;  // a node's children fill a few cache lines
constexpr uint32_t kCurveBits = 16;

// Spreads the low 16 bits to the even places.
uint32_t SpreadBits(uint32_t bits) {
  bits = (bits | (bits << 8U)) & 0x00ff00ffU;
  bits = (bits | (bits << 4U)) & 0x0f0f0f0fU;
  bits = (bits | (bits << 2U)) & 0x33333333U;
  return (bits | (bits << 1U)) & 0x55555555U;
}

template <typename A, typename B>
bool Overlap(const A& a, const B& b) {
  return (a.min.array() <= b.max.array()).all() && (b.min.array() <= a.max.array()).all();
}

// The smallest boxes around runs of kFanout of these.
template <typename Node, typename Children>
std::vector<Node> BoundRuns(const Children& children) {
  std::vector<Node> nodes;
  nodes.reserve((children.size() + kFanout - 1) / kFanout);
  for (size_t i = 0; i < children.size(); ++i) {
    if (i % kFanout == 0) nodes.push_back({children[i].min, children[i].max});
    nodes.back().min = nodes.back().min.cwiseMin(children[i].min);
    nodes.back().max = nodes.back().max.cwiseMax(children[i].max);
  }
  return nodes;
}

void AddState(TileState state, TileResidency::Counts& counts) {
  ++(state == TileState::kResident  ? counts.resident
     : state == TileState::kMissing ? counts.missing
                                    : counts.damaged);
}

}  // namespace

BoundsTree::BoundsTree(std::vector<Box> boxes) : boxes_(std::move(boxes)) {
  if (boxes_.empty()) return;
  Eigen::Vector2d min = boxes_.front().min;
  Eigen::Vector2d max = boxes_.front().max;
  for (const Box& box : boxes_) {
    min = min.cwiseMin(box.min);
    max = max.cwiseMax(box.max);
  }
  // Where the extent along an axis is 0, all boxes get coordinate 0.
  const Eigen::Array2d steps = ((1U << kCurveBits) - 1) / (max - min).array();
  const Eigen::Array2d scale = steps.isFinite().select(steps, 0.0);
  const auto place = [&](const Box& box) {
    const Eigen::Array2d centre = (0.5 * (box.min + box.max) - min).array() * scale;
    return SpreadBits(static_cast<uint32_t>(centre.x())) |
           (SpreadBits(static_cast<uint32_t>(centre.y())) << 1U);
  };
  std::sort(boxes_.begin(), boxes_.end(), [&](const Box& a, const Box& b) {
    return std::make_pair(place(a), a.number) < std::make_pair(place(b), b.number);
  });
  levels_.push_back(BoundRuns<Node>(boxes_));
  while (levels_.back().size() > 1) levels_.push_back(BoundRuns<Node>(levels_.back()));
}

void BoundsTree::ForEachTouching(const Eigen::Vector2d& min, const Eigen::Vector2d& max,
                                 absl::FunctionRef<void(const Box&)> visit) const {
  if (boxes_.empty()) return;
  const Node wanted{min, max};
  std::vector<std::pair<size_t, size_t>> open = {{levels_.size() - 1, 0}};  // level, node
  while (!open.empty()) {
    const auto [level, node] = open.back();
    open.pop_back();
    if (!Overlap(levels_[level][node], wanted)) continue;
    const size_t begin = node * kFanout;
    if (level == 0) {
      const size_t end = std::min(begin + kFanout, boxes_.size());
      for (size_t i = begin; i < end; ++i) {
        if (Overlap(boxes_[i], wanted)) visit(boxes_[i]);
      }
      continue;
    }
    const size_t end = std::min(begin + kFanout, levels_[level - 1].size());
    for (size_t i = begin; i < end; ++i) open.emplace_back(level - 1, i);
  }
}

void BoundsTree::ForEachWithin(const Eigen::Vector2d& centre, double radius_m,
                               absl::FunctionRef<void(const Box&)> visit) const {
  const Eigen::Vector2d reach = Eigen::Vector2d::Constant(radius_m);
  ForEachTouching(centre - reach, centre + reach, [&](const Box& box) {
    const Eigen::Vector2d nearest = centre.cwiseMax(box.min).cwiseMin(box.max);
    if ((nearest - centre).squaredNorm() <= radius_m * radius_m) visit(box);
  });
}

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
  for (const TileState state : states_) AddState(state, all_);
}

std::shared_ptr<const TileResidency> TileResidency::Create(
    const TileCatalogue& tiles, std::shared_ptr<const TileLayout> layout) {
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
      centre, radius_m, [&](const BoundsTree::Box& box) { AddState(states_[box.number], counts); });
  return counts;
}

TileResidency::Counts TileResidency::Touching(const Eigen::Vector2d& min,
                                              const Eigen::Vector2d& max) const {
  Counts counts;
  layout_->tree().ForEachTouching(
      min, max, [&](const BoundsTree::Box& box) { AddState(states_[box.number], counts); });
  return counts;
}

}  // namespace voxloc
