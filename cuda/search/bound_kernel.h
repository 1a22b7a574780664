// SPDX-License-Identifier: Apache-2.0
//
// The kernels that bound the nodes of a search, from host code. Launches only queue work on the
// stream; all arrays are device memory.

#ifndef VOXLOC_CUDA_SEARCH_BOUND_KERNEL_H_
#define VOXLOC_CUDA_SEARCH_BOUND_KERNEL_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "core/engine/bound.h"
#include "cuda/runtime/device.h"

namespace voxloc::cuda {

// The word that a point tests, relative to its node's, and its height in z levels.
struct DeviceBoundEntry {
  int32_t offset;
  int32_t up;
};

struct DeviceLevel {
  const uint64_t* words;  // of the level
  int32_t shift;
  int32_t run;
  int32_t plane;
  int32_t words_per_column;
};

struct BoundArguments {
  DeviceLevel level;
  const DeviceBoundEntry* entries;
  uint32_t points_per_heading;
  const BoundBlock* blocks;
  uint32_t nodes_x;
  uint32_t nodes_y;
  const uint64_t* allowed_z;
  uint32_t min_hits;
  uint32_t first_node;
  uint32_t node_count;
  // Out, one a node: node << 32 | hits << 16 | z level; 0 where there are fewer than min_hits.
  uint64_t* found;
};

// Entries of all points at all headings.
[[nodiscard]] absl::Status LaunchFillEntries(Device& device, const DeviceLevel& level,
                                             const BoundPoint* points, uint32_t count,
                                             DeviceBoundEntry* entries, cudaStream_t stream);
[[nodiscard]] absl::Status LaunchBound(Device& device, const BoundArguments& arguments,
                                       cudaStream_t stream);

// Scratch memory of SelectFound for `count` nodes.
[[nodiscard]] cudaError_t SelectScratchBytes(uint32_t count, size_t* bytes);
// The nonzero entries, in order, and their number.
[[nodiscard]] cudaError_t SelectFound(void* scratch, size_t scratch_bytes, const uint64_t* found,
                                      uint32_t count, uint64_t* selected, uint32_t* selected_count,
                                      cudaStream_t stream);

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_SEARCH_BOUND_KERNEL_H_
