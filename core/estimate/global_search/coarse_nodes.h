// SPDX-License-Identifier: Apache-2.0
//
// The coarsest nodes of a search that have enough hits, millions of them, and the order in which
// they are followed. Pure functions.

#ifndef VOXLOC_CORE_ESTIMATE_GLOBAL_SEARCH_COARSE_NODES_H_
#define VOXLOC_CORE_ESTIMATE_GLOBAL_SEARCH_COARSE_NODES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/engine/bound.h"

namespace voxloc {

struct CoarseNode {
  uint16_t heading = 0;
  uint16_t x = 0;  // its first column
  uint16_t y = 0;
  uint16_t hits = 0;  // at most kMaxBoundPoints
};
static_assert(kMaxBoundColumns <= 1 << 16);

struct CoarseNodeGroups {
  std::vector<CoarseNode> nodes;
  std::vector<size_t> ends;  // of the groups, in nodes; ascending
};

// Every node of a group has as many hits as any of the groups after it, or more. The first group
// has about first_wanted nodes, at least 1, each further one about twice as many as the one before;
// many with the same hits are cut up. Nodes of the same hits, and those of a group, keep their
// order: what is near in memory is bounded faster together.
[[nodiscard]] CoarseNodeGroups GroupByHits(const std::vector<CoarseNode>& nodes,
                                           size_t first_wanted);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_GLOBAL_SEARCH_COARSE_NODES_H_
