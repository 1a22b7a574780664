// SPDX-License-Identifier: Apache-2.0
//
// TileLayout and TileResidency: where the tiles of a revision lie, and which of them are in memory.
// A map that is in memory whole needs neither. Immutable and thread-safe.

#ifndef VOXLOC_CORE_MAP_TILE_RESIDENCY_H_
#define VOXLOC_CORE_MAP_TILE_RESIDENCY_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/map/bounds_tree.h"
#include "core/map/tile_catalogue.h"

namespace voxloc {

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
  // Of how many tiles what is so.
  struct Counts {
    size_t resident = 0;
    size_t missing = 0;
    size_t damaged = 0;

    // Tiles that an alignment does without.
    [[nodiscard]] size_t absent() const { return missing + damaged; }
  };

  // Null where every tile is resident. `layout`: of these tiles, if there is one already.
  [[nodiscard]] static std::shared_ptr<const TileResidency> Of(
      const TileCatalogue& tiles, std::shared_ptr<const TileLayout> layout = nullptr);

  [[nodiscard]] const std::shared_ptr<const TileLayout>& layout() const { return layout_; }
  [[nodiscard]] TileState state(uint32_t number) const { return states_[number]; }

  [[nodiscard]] const Counts& all() const { return all_; }
  // Tiles whose bounds come this near to a place, seen from above, metres, map frame.
  [[nodiscard]] Counts Within(const Eigen::Vector2d& centre, double radius_m) const;
  // Tiles whose bounds touch a box, seen from above.
  [[nodiscard]] Counts Touching(const Eigen::Vector2d& min, const Eigen::Vector2d& max) const;

 private:
  TileResidency(std::shared_ptr<const TileLayout> layout, std::vector<TileState> states);

  std::shared_ptr<const TileLayout> layout_;
  std::vector<TileState> states_;
  Counts all_;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_TILE_RESIDENCY_H_
