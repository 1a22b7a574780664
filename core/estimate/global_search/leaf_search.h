// SPDX-License-Identifier: Apache-2.0
//
// LeafSearch: the places in a grid where most points of a scan meet the map, by branch and bound.
//
// All nodes of the coarsest level are bounded, and those with at least min_hits hits are expanded
// down to single voxels, best first. The first pass starts with a guess of min_hits; its leaves
// give the min_hits of the next pass, until no leaf can be missed. Guarantee: a leaf with at least
// complete_share of the best leaf's hits is in the result, or is near a better one, or has no more
// hits than the last leaf of a full result. Results are the same on every engine with any number of
// threads.

#ifndef VOXLOC_CORE_ESTIMATE_GLOBAL_SEARCH_LEAF_SEARCH_H_
#define VOXLOC_CORE_ESTIMATE_GLOBAL_SEARCH_LEAF_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/engine/bound.h"
#include "core/engine/engine.h"
#include "core/estimate/global_search/search_grid.h"
#include "core/estimate/global_search/search_points.h"

namespace voxloc {

// The coarsest nodes of a search that have enough hits, millions of them, and the order in which
// they are followed. Pure functions.
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

struct LeafSearchOptions {
  size_t max_leaves = 64;
  // Leaves nearer than this in both, columns and headings, count as one.
  int32_t min_separation_columns = 3;
  int32_t min_separation_headings = 8;
  double min_share = 0.3;        // of the points that must hit
  double share_of_best = 0.9;    // of the best leaf's hits, which others must have to be reported
  double complete_share = 0.95;  // likewise, to be reported for certain; >= share_of_best
};

struct Leaf {
  uint32_t heading = 0;
  int32_t x = 0;  // column
  int32_t y = 0;
  int32_t z = 0;  // level
  uint32_t hits = 0;
};

struct LeafSearchJob {
  const SearchGrid* grid = nullptr;
  std::shared_ptr<const BoundScan> scan;
  Headings headings;
  // Columns [begin, end) and z levels [begin_z, end_z) to search, within those of the grid.
  Eigen::Vector2i begin = Eigen::Vector2i::Zero();
  Eigen::Vector2i end = Eigen::Vector2i::Zero();
  int32_t begin_z = 0;
  int32_t end_z = 0;
  StopToken stop;
};

struct LeafSearchResult {
  std::vector<Leaf> leaves;  // most hits first; equal ones by heading, y, x
  uint64_t nodes = 0;        // bounded
  bool timed_out = false;    // what was found before the deadline
};

// With the share of the work done, 0 to 1, and the nodes bounded.
using LeafSearchProgress = std::function<void(double fraction, uint64_t nodes)>;

// Cancelled. What the engine says.
[[nodiscard]] absl::StatusOr<LeafSearchResult> SearchLeaves(Engine& engine,
                                                            const LeafSearchJob& job,
                                                            const LeafSearchOptions& options,
                                                            const LeafSearchProgress& progress);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_GLOBAL_SEARCH_LEAF_SEARCH_H_
