// SPDX-License-Identifier: Apache-2.0
//
// TileCatalogue: the tiles of one revision of a map, by id. An immutable value: a modified copy
// (With) shares unchanged tiles with the original, so that its cost is proportional to the change.
// Thread-safe.

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
#include "core/map/cells.h"

namespace voxloc {

// The metadata of a tile in a store.
struct TileRecord {
  Sha256Digest digest{};  // of its content
  size_t points = 0;      // finite
  Bounds bounds;          // of them, map frame
  uint32_t crc32c = 0;    // of the uploaded bytes
  uint64_t revision = 0;  // of the map that added it

  friend bool operator==(const TileRecord& a, const TileRecord& b) {
    return a.digest == b.digest && a.points == b.points && a.crc32c == b.crc32c &&
           a.revision == b.revision;
  }
};

// A tile of a map that is served.
struct MapTile : TileRecord {
  MapTile() = default;
  explicit MapTile(const TileRecord& record) : TileRecord(record) {}

  // Null: not in memory; the map is served without the tile.
  std::shared_ptr<const ResidentTile> resident;
  bool damaged = false;  // its content is corrupt, so it cannot be loaded
};

class TileCatalogue {
 public:
  using Tile = std::pair<const std::string, MapTile>;
  // By id; nullopt removes the tile, if there is one.
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
  void ForEach(absl::FunctionRef<void(const Tile&)> visit) const;
  // The tiles with a larger id, until the function returns false.
  void ForEachAfter(absl::string_view id, absl::FunctionRef<bool(const Tile&)> visit) const;

  [[nodiscard]] TileCatalogue With(const Change& change) const;

 private:
  // A run of tiles, from 1 to kMaxTilesPerPage, and their totals.
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

  // The page whose range of ids contains `id`: the last with a first id <= `id`, or the first page.
  [[nodiscard]] size_t FindPage(absl::string_view id) const;
  static void AppendPages(std::vector<Tile> tiles, std::vector<PagePtr>& pages);

  std::vector<PagePtr> pages_;
  size_t size_ = 0;
  size_t resident_ = 0;
  size_t points_ = 0;
  size_t memory_bytes_ = 0;
  Bounds bounds_;
};

// TileChange: the tiles added to and removed from a map's list of tiles since its predecessor.
struct TileChange {
  // False: too much has changed, or the order of the common tiles has; rebuild everything.
  bool incremental = false;
  std::vector<size_t> removed;  // positions in the list before, ascending
  std::vector<size_t> added;    // positions in the list now, ascending

  [[nodiscard]] bool empty() const { return removed.empty() && added.empty(); }
};

// Tiles are compared by address, not by content.
[[nodiscard]] TileChange CompareTiles(absl::Span<const ResidentTile* const> before,
                                      absl::Span<const ResidentTile* const> now);

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_TILE_CATALOGUE_H_
