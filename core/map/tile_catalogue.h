// SPDX-License-Identifier: Apache-2.0
//
// TileCatalogue: the tiles of one revision of a map, by id. An immutable value: a modified copy
// (With) shares unchanged tiles with the original, so that its cost is proportional to the change.
// Thread-safe.

#ifndef VOXLOC_CORE_MAP_TILE_CATALOGUE_H_
#define VOXLOC_CORE_MAP_TILE_CATALOGUE_H_

#include <Eigen/Core>
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

// Of any range of smart pointers to tiles.
template <typename Tiles>
[[nodiscard]] std::vector<const ResidentTile*> PointersTo(const Tiles& tiles) {
  std::vector<const ResidentTile*> pointers;
  pointers.reserve(tiles.size());
  for (const auto& tile : tiles) pointers.push_back(tile.get());
  return pointers;
}

// Tiles are compared by address, not by content.
[[nodiscard]] TileChange CompareTiles(absl::Span<const ResidentTile* const> before,
                                      absl::Span<const ResidentTile* const> now);

// BoundsTree: a static 2D index of boxes, for the tens of thousands of tiles of a map, of any size
// and overlap: an R-tree packed along the Morton curve (Kamel and Faloutsos, "On packing R-trees",
// 1993). Immutable and thread-safe.
class BoundsTree {
 public:
  struct Box {
    Eigen::Vector2d min = Eigen::Vector2d::Zero();  // m, map frame
    Eigen::Vector2d max = Eigen::Vector2d::Zero();
    uint32_t number = 0;  // the caller's
  };

  BoundsTree() = default;
  // Finite boxes, min not above max.
  explicit BoundsTree(std::vector<Box> boxes);

  [[nodiscard]] bool empty() const { return boxes_.empty(); }
  [[nodiscard]] size_t size() const { return boxes_.size(); }

  // Every box that shares a point with this one, in an order that depends on the boxes alone.
  void ForEachTouching(const Eigen::Vector2d& min, const Eigen::Vector2d& max,
                       absl::FunctionRef<void(const Box&)> visit) const;
  // Every box with a point at most this far from the centre, likewise.
  void ForEachWithin(const Eigen::Vector2d& centre, double radius_m,
                     absl::FunctionRef<void(const Box&)> visit) const;

 private:
  struct Node {
    Eigen::Vector2d min;
    Eigen::Vector2d max;
  };

  std::vector<Box> boxes_;  // along the curve
  // levels_[0][i] bounds boxes i * kFanout to (i + 1) * kFanout - 1, levels_[k + 1] the nodes of
  // levels_[k] likewise, up to a single one.
  std::vector<std::vector<Node>> levels_;
};

// The tiles of a revision by number, 0, 1, 2, ... in the order of their ids. Like TileResidency,
// only needed for a map whose tiles are not all in memory; both are immutable and thread-safe.
class TileLayout {
 public:
  explicit TileLayout(const TileCatalogue& tiles);

  [[nodiscard]] size_t size() const { return ids_.size(); }
  [[nodiscard]] const std::string& id(uint32_t number) const { return ids_[number]; }
  // Of the tiles with points, their numbers.
  [[nodiscard]] const BoundsTree& tree() const { return tree_; }

 private:
  std::vector<std::string> ids_;
  BoundsTree tree_;
};

enum class TileState : uint8_t {
  kResident,
  kMissing,  // can be loaded
  kDamaged,  // cannot
};
[[nodiscard]] TileState StateOf(const MapTile& tile);

class TileResidency {
 public:
  // Numbers of tiles by state.
  struct Counts {
    size_t resident = 0;
    size_t missing = 0;
    size_t damaged = 0;

    // Tiles that are not in memory.
    [[nodiscard]] size_t absent() const { return missing + damaged; }
  };

  // Null where every tile is resident. `layout`: of these tiles, if there is one already.
  [[nodiscard]] static std::shared_ptr<const TileResidency> Create(
      const TileCatalogue& tiles, std::shared_ptr<const TileLayout> layout = nullptr);

  [[nodiscard]] const std::shared_ptr<const TileLayout>& layout() const { return layout_; }
  [[nodiscard]] TileState state(uint32_t number) const { return states_[number]; }

  [[nodiscard]] const Counts& all() const { return all_; }
  // Tiles whose bounds are within radius_m of a point of the map's x-y plane.
  [[nodiscard]] Counts Within(const Eigen::Vector2d& centre, double radius_m) const;
  // Tiles whose bounds intersect a box of the map's x-y plane.
  [[nodiscard]] Counts Touching(const Eigen::Vector2d& min, const Eigen::Vector2d& max) const;

 private:
  TileResidency(std::shared_ptr<const TileLayout> layout, std::vector<TileState> states);

  std::shared_ptr<const TileLayout> layout_;
  std::vector<TileState> states_;
  Counts all_;
};

// MapSnapshot: one revision of one map, complete and immutable. Alignments hold the snapshot they
// started with; the last owner frees it.
struct MapSnapshot {
  std::string name;
  uint64_t revision = 0;
  int64_t committed_unix_ns = 0;
  TileCatalogue tiles;
  // Composed of the resident ones of them, in the order of their ids.
  std::shared_ptr<const ResidentMap> resident;
  std::shared_ptr<const TileResidency> residency;  // null: all of them are resident
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_TILE_CATALOGUE_H_
