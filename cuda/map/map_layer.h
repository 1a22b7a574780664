// SPDX-License-Identifier: Apache-2.0
//
// MapLayer: the cells of one CellStatistics of a map, in device memory in the layout of
// cell_blocks.h, and the host's index that lets a successor share them. A plain value, immutable
// once it is part of a map.

#ifndef VOXLOC_CUDA_MAP_MAP_LAYER_H_
#define VOXLOC_CUDA_MAP_MAP_LAYER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/map/block_map.h"
#include "core/map/lattice.h"
#include "cuda/map/cell_blocks.h"
#include "cuda/runtime/buffer.h"

namespace voxloc::cuda {

// Chunks made by one composition lie in one slab, which maps share.
using Slab = DeviceBuffer<std::byte>;

// A block in the hash table.
struct LayerBlock {
  const Slab* slab = nullptr;        // of MapLayer::slabs
  const std::byte* chunk = nullptr;  // null: it had cells in an earlier revision
  uint32_t chunk_bytes = 0;
  uint32_t cells = 0;  // whose index position lies in this block
};

// A slab that the layer uses.
struct LayerSlab {
  std::shared_ptr<const Slab> memory;
  // The blocks whose chunks lay in it at first, in no particular order.
  std::shared_ptr<const std::vector<CellKey>> blocks;
  size_t bytes_in_use = 0;  // of the layer's chunks
};

struct MapLayer {
  CellBlocks blocks{};
  size_t cells = 0;
  BlockMap<LayerBlock> layer_blocks;                     // all that the hash table holds
  size_t table_blocks = 0;                               // the number of layer_blocks
  size_t live_blocks = 0;                                // those with a chunk
  std::shared_ptr<const DeviceBuffer<BlockSlot>> table;  // null without a cell
  std::vector<LayerSlab> slabs;
  // For a block with cells whose index position lies in other blocks: these blocks. And the inverse
  // map. The lists ascend.
  BlockMap<std::vector<CellKey>> spill_targets;
  BlockMap<std::vector<CellKey>> spill_sources;

  [[nodiscard]] size_t MemoryBytes() const;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_MAP_MAP_LAYER_H_
