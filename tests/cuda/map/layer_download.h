// SPDX-License-Identifier: Apache-2.0
//
// The lists of a map on the host, read back from the device and checked against cell_blocks.h on
// the way.

#ifndef VOXLOC_TESTS_CUDA_MAP_LAYER_DOWNLOAD_H_
#define VOXLOC_TESTS_CUDA_MAP_LAYER_DOWNLOAD_H_

#include <cstddef>
#include <map>
#include <vector>

#include "cuda/map/cuda_map.h"

namespace voxloc::cuda {

using Chunk = std::vector<std::byte>;

// The chunks of all blocks that the layer's hash table finds; a failed test where table, chunks and
// the host's list of blocks contradict each other or the layout.
std::map<CellKey, Chunk> DownloadChunks(const CudaMap& map, const CellStatistics& statistics);

struct ListEntry {
  Candidate candidate;
  CellRecord record;
  CellPlace index;
  CellMean mean;  // the index position where the layer has no other
};
// Without what fills it up.
std::vector<ListEntry> ListOf(const Chunk& chunk, uint32_t place, bool float_index);

}  // namespace voxloc::cuda

#endif  // VOXLOC_TESTS_CUDA_MAP_LAYER_DOWNLOAD_H_
