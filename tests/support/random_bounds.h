// SPDX-License-Identifier: Apache-2.0
//
// Random grids, scans and requests for tests of bounds, and a brute-force count of hits.

#ifndef VOXLOC_TESTS_SUPPORT_RANDOM_BOUNDS_H_
#define VOXLOC_TESTS_SUPPORT_RANDOM_BOUNDS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/engine/bound.h"
#include "tests/support/random_numbers.h"

namespace voxloc {

struct RandomBoundsOptions {
  BoundGridShape shape;
  double occupied_share = 0.1;
  int32_t reach = 12;  // of the points, voxels
  size_t points = 61;
  size_t headings = 3;
};

// Voxels as the columns that BoundGrid::Make takes.
std::vector<uint64_t> RandomColumns(const RandomBoundsOptions& options, RandomNumbers& random);
std::shared_ptr<const BoundScan> RandomScan(const RandomBoundsOptions& options,
                                            RandomNumbers& random);

// Whether a voxel of level 0 or one within the tolerance above and below it is occupied, straight
// from the columns.
bool OccupiedNear(const BoundGridShape& shape, const std::vector<uint64_t>& columns,
                  int32_t tolerance, int32_t x, int32_t y, int32_t z);

// Points of a heading that meet the map from one voxel, one by one.
uint32_t CountHits(const BoundGridShape& shape, const std::vector<uint64_t>& columns,
                   const BoundScan& scan, uint32_t heading, int32_t x, int32_t y, int32_t z);

// Nodes of level `level` in blocks of `nodes_x` by `nodes_y`, at random places that keep the
// points within the grid; `blocks` of them.
BoundRequest RandomRequest(const RandomBoundsOptions& options, size_t level, int32_t nodes_x,
                           int32_t nodes_y, size_t blocks, RandomNumbers& random);

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_RANDOM_BOUNDS_H_
