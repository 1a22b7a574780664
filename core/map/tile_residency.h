// SPDX-License-Identifier: Apache-2.0
//
// TileLayout and TileResidency: where the tiles of a revision lie, and which of them are in memory.
// A map whose tiles are all in memory needs neither. Immutable and thread-safe.

#ifndef VOXLOC_CORE_MAP_TILE_RESIDENCY_H_
#define VOXLOC_CORE_MAP_TILE_RESIDENCY_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/map/cells.h"
#include "core/map/tile_catalogue.h"

namespace voxloc {

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

// The tiles of a revision by number, 0, 1, 2, ... in the order of their ids.
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

#endif  // VOXLOC_CORE_MAP_TILE_RESIDENCY_H_
