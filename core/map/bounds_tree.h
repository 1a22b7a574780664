// SPDX-License-Identifier: Apache-2.0
//
// BoundsTree: finds those of many boxes that touch another one, seen from above. Made for the tiles
// of a map, of which there are tens of thousands, of any size and overlapping in any way: a tree
// whose leaves are runs of boxes that lie near one another (a packed R-tree along the Morton curve:
// Kamel and Faloutsos, "On packing R-trees", 1993). Immutable and thread-safe.

#ifndef VOXLOC_CORE_MAP_BOUNDS_TREE_H_
#define VOXLOC_CORE_MAP_BOUNDS_TREE_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"

namespace voxloc {

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
                       absl::FunctionRef<void(const Box&)> take) const;
  // Every box with a point at most this far from the centre, likewise.
  void ForEachWithin(const Eigen::Vector2d& centre, double radius_m,
                     absl::FunctionRef<void(const Box&)> take) const;

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

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_BOUNDS_TREE_H_
