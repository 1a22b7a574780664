// SPDX-License-Identifier: Apache-2.0
//
// TileCatalogue: the tiles of one revision of a map, by id. An immutable value: a catalogue that
// differs in few tiles shares the rest with the one that it was made from, so that a change costs
// in proportion to what changes. Thread-safe.

#ifndef VOXLOC_CORE_MAP_TILE_CATALOGUE_H_
#define VOXLOC_CORE_MAP_TILE_CATALOGUE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/checksum/sha256.h"
#include "core/cloud/point_cloud.h"
#include "core/map/resident_map.h"

namespace voxloc {

// What a store keeps of a tile beside its content.
struct TileRecord {
  Sha256Digest digest{};  // of its content
  size_t points = 0;      // finite
  Bounds bounds;          // of them, map frame
  uint32_t crc32c = 0;    // of the bytes that it was sent as
  uint64_t revision = 0;  // of the map at which it came

  friend bool operator==(const TileRecord& a, const TileRecord& b) {
    return a.digest == b.digest && a.points == b.points && a.crc32c == b.crc32c &&
           a.revision == b.revision;
  }
};

// A tile of a map that is served.
struct MapTile : TileRecord {
  MapTile() = default;
  explicit MapTile(const TileRecord& record) : TileRecord(record) {}

  // Null: it is not in memory, and the map is served without it.
  std::shared_ptr<const ResidentTile> resident;
  bool damaged = false;  // its content is, so that it cannot be in memory
};

class TileCatalogue {
 public:
  using Tile = std::pair<const std::string, MapTile>;
  // By id; nullopt: the tile goes. One that is not there may go.
  using Change = std::map<std::string, std::optional<MapTile>>;

  TileCatalogue() = default;

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] size_t resident() const { return resident_; }  // tiles that are in memory
  [[nodiscard]] size_t points() const { return points_; }
  // The box around all tiles; finite_points == 0 where there is none.
  [[nodiscard]] const Bounds& bounds() const { return bounds_; }
  // Of the resident tiles.
  [[nodiscard]] size_t MemoryBytes() const { return memory_bytes_; }

  // Null where there is none. Valid as long as the catalogue.
  [[nodiscard]] const MapTile* Find(absl::string_view id) const;

  // Every tile, ascending by the bytes of its id.
  void ForEach(absl::FunctionRef<void(const Tile&)> take) const;
  // Those after `id` until `take` returns false.
  void ForEachAfter(absl::string_view id, absl::FunctionRef<bool(const Tile&)> take) const;

  [[nodiscard]] TileCatalogue With(const Change& change) const;

 private:
  // A run of tiles with what all of them come to. At least one tile, at most kMaxTilesPerPage.
  struct Page {
    explicit Page(std::vector<Tile> page_tiles);

    std::vector<Tile> tiles;
    size_t resident = 0;
    size_t points = 0;
    size_t memory_bytes = 0;
    Bounds bounds;
  };
  using PagePtr = std::shared_ptr<const Page>;

  explicit TileCatalogue(std::vector<PagePtr> pages);

  // The page whose range of ids holds `id`: the last one that begins at or before it, or the first.
  [[nodiscard]] size_t PageOf(absl::string_view id) const;
  static void AppendPages(std::vector<Tile> tiles, std::vector<PagePtr>& pages);

  std::vector<PagePtr> pages_;
  size_t size_ = 0;
  size_t resident_ = 0;
  size_t points_ = 0;
  size_t memory_bytes_ = 0;
  Bounds bounds_;
};

// TileChange: what a map's list of tiles has that its predecessor's had not, and the other way
// round.
struct TileChange {
  // False: too much has changed, or the order of the tiles that stay, and everything is made anew.
  bool incremental = false;
  std::vector<size_t> removed;  // positions in the list before, ascending
  std::vector<size_t> added;    // positions in the list now, ascending

  [[nodiscard]] bool empty() const { return removed.empty() && added.empty(); }
};

// Tiles are told apart by their addresses; what they hold is not looked at.
[[nodiscard]] TileChange CompareTiles(absl::Span<const ResidentTile* const> before,
                                      absl::Span<const ResidentTile* const> now);

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_TILE_CATALOGUE_H_
