// SPDX-License-Identifier: Apache-2.0
//
// The hot loop of bounding on the processor, behind plain structs like those of kernels.h: counts
// the hits of neighbouring nodes, all heights of a node at once.

#ifndef VOXLOC_CORE_ENGINE_CPU_BOUND_KERNELS_H_
#define VOXLOC_CORE_ENGINE_CPU_BOUND_KERNELS_H_

#include <cstddef>
#include <cstdint>

namespace voxloc::cpu {

// The voxel of a point relative to its node: `offset` words further in the plane and `up` z levels
// higher. If a column is one word, `up` is between -63 and 63.
struct BoundEntry {
  int64_t offset;
  int32_t up;
};

struct BoundRowArguments {
  const uint64_t* first;  // the first node's place in the first plane of the level
  size_t nodes;           // next to each other; three words beyond the last may be read
  // 0, or the words from a node to the one below it: the nodes are then a square of two by two.
  size_t next_row;
  size_t plane;   // words from one plane to the next
  int32_t words;  // in a column
  const BoundEntry* entries;
  size_t entry_count;  // at most 255
  const uint64_t* allowed_z;
  uint32_t min_hits;
  // Out, one a node: hits << 16 | z level; 0 where there are fewer than min_hits.
  uint32_t* found;
};

}  // namespace voxloc::cpu

#endif  // VOXLOC_CORE_ENGINE_CPU_BOUND_KERNELS_H_
