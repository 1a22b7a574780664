// SPDX-License-Identifier: Apache-2.0

#include "core/map/tile_catalogue.h"

#include <algorithm>
#include <iterator>

#include "core/container/flat_table.h"

namespace voxloc {
namespace {

// The square root of the maximum of 100,000 tiles per map: a change of one tile then copies about
// as many tiles as page pointers.
constexpr size_t kMaxTilesPerPage = 316;

void Enlarge(const Bounds& by, Bounds& bounds) {
  if (by.finite_points == 0) return;
  if (bounds.finite_points == 0) {
    bounds = by;
    return;
  }
  bounds.min = bounds.min.cwiseMin(by.min);
  bounds.max = bounds.max.cwiseMax(by.max);
  bounds.finite_points += by.finite_points;
}

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

}  // namespace voxloc
