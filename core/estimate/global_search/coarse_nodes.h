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

// Groups by descending hits: no node has fewer hits than any node of a later group. The first group
// has about first_wanted (>= 1) nodes, each further one about twice as many; long runs of equal
// hits are split. Within a group nodes keep their order, since neighbours in memory are bounded
// faster.
[[nodiscard]] CoarseNodeGroups GroupByHits(const std::vector<CoarseNode>& nodes,
                                           size_t first_wanted);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_GLOBAL_SEARCH_COARSE_NODES_H_
