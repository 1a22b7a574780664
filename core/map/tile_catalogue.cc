// SPDX-License-Identifier: Apache-2.0

#include "core/map/tile_catalogue.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/container/flat_table.h"

namespace voxloc {
namespace {

// The square root of the maximum of 100,000 tiles per map: a change of one tile then copies about
// as many tiles as page pointers.
constexpr size_t kMaxTilesPerPage = 316;

bool IdLess(const TileCatalogue::Tile& tile, absl::string_view id) { return tile.first < id; }

using Tiles = absl::Span<const ResidentTile* const>;

// Appends the tiles that are among `others` to `kept`, the positions of the rest to `rest`.
void Partition(Tiles tiles, Tiles others, std::vector<const ResidentTile*>& kept,
               std::vector<size_t>& rest) {
  FlatTable<const ResidentTile*, bool> known;
  for (const ResidentTile* tile : others) {
    if (known.Find(tile) == nullptr) known.Insert(tile, true);
  }
  for (size_t i = 0; i < tiles.size(); ++i) {
    if (known.Find(tiles[i]) != nullptr) {
      kept.push_back(tiles[i]);
    } else {
      rest.push_back(i);
    }
  }
}

}  // namespace

TileCatalogue::Page::Page(std::vector<Tile> page_tiles) : tiles(std::move(page_tiles)) {
  for (const auto& [id, tile] : tiles) {
    points += tile.points;
    if (tile.resident != nullptr) {
      ++resident;
      memory_bytes += tile.resident->MemoryBytes();
    }
    Enlarge(tile.bounds, bounds);
  }
}

TileCatalogue::TileCatalogue(std::vector<PagePtr> pages) : pages_(std::move(pages)) {
  for (const PagePtr& page : pages_) {
    size_ += page->tiles.size();
    resident_ += page->resident;
    points_ += page->points;
    memory_bytes_ += page->memory_bytes;
    Enlarge(page->bounds, bounds_);
  }
}

size_t TileCatalogue::FindPage(absl::string_view id) const {
  const auto after = std::upper_bound(
      pages_.begin(), pages_.end(), id,
      [](absl::string_view wanted, const PagePtr& page) { return wanted < page->tiles[0].first; });
  return after == pages_.begin() ? 0 : static_cast<size_t>(after - pages_.begin()) - 1;
}

const MapTile* TileCatalogue::Find(absl::string_view id) const {
  if (pages_.empty()) return nullptr;
  const std::vector<Tile>& tiles = pages_[FindPage(id)]->tiles;
  const auto tile = std::lower_bound(tiles.begin(), tiles.end(), id, IdLess);
  return tile == tiles.end() || tile->first != id ? nullptr : &tile->second;
}

void TileCatalogue::ForEach(absl::FunctionRef<void(const Tile&)> visit) const {
  for (const PagePtr& page : pages_) {
    for (const Tile& tile : page->tiles) visit(tile);
  }
}

void TileCatalogue::ForEachAfter(absl::string_view id,
                                 absl::FunctionRef<bool(const Tile&)> visit) const {
  if (pages_.empty()) return;
  for (size_t page = FindPage(id); page < pages_.size(); ++page) {
    for (const Tile& tile : pages_[page]->tiles) {
      if (tile.first > id && !visit(tile)) return;
    }
  }
}

void TileCatalogue::AppendPages(std::vector<Tile> tiles, std::vector<PagePtr>& pages) {
  const size_t count = (tiles.size() + kMaxTilesPerPage - 1) / kMaxTilesPerPage;
  for (size_t i = 0; i < count; ++i) {
    const auto begin = tiles.begin() + static_cast<ptrdiff_t>(i * tiles.size() / count);
    const auto end = tiles.begin() + static_cast<ptrdiff_t>((i + 1) * tiles.size() / count);
    pages.push_back(std::make_shared<const Page>(std::vector<Tile>(begin, end)));
  }
}

TileCatalogue TileCatalogue::With(const Change& change) const {
  const std::vector<Tile> none;
  std::vector<PagePtr> pages;
  auto changed = change.begin();
  // One iteration per page, and one if there is no page.
  for (size_t i = 0; i < std::max<size_t>(pages_.size(), 1); ++i) {
    const bool last = i + 1 >= pages_.size();
    const auto end = last ? change.end() : change.lower_bound(pages_[i + 1]->tiles[0].first);
    if (changed == end) {
      if (i < pages_.size()) pages.push_back(pages_[i]);
      continue;
    }
    std::vector<Tile> merged;
    const auto keep = [&](const Tile& tile) { merged.push_back(tile); };
    const std::vector<Tile>& tiles = pages_.empty() ? none : pages_[i]->tiles;
    auto old = tiles.begin();
    const auto old_end = tiles.end();
    for (; changed != end; ++changed) {
      for (; old != old_end && old->first < changed->first; ++old) keep(*old);
      if (old != old_end && old->first == changed->first) ++old;
      if (changed->second.has_value()) keep({changed->first, *changed->second});
    }
    std::for_each(old, old_end, keep);
    AppendPages(std::move(merged), pages);
  }
  return TileCatalogue(std::move(pages));
}

TileChange CompareTiles(Tiles before, Tiles now) {
  TileChange change;
  std::vector<const ResidentTile*> stayed;
  std::vector<const ResidentTile*> stay;
  Partition(before, now, stayed, change.removed);
  Partition(now, before, stay, change.added);
  // A tile that is listed more than once makes the lists differ, unless its count is unchanged.
  change.incremental =
      !stay.empty() && stayed == stay && change.removed.size() + change.added.size() <= now.size();
  return change;
}

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
