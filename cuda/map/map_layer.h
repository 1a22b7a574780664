// SPDX-License-Identifier: Apache-2.0
//
// MapLayer: the cells of one statistics of a map, in device memory as cell_blocks.h says, and what
// the host must know of them so that a successor can share them. A plain value, immutable once a
// map holds it.

#ifndef VOXLOC_CUDA_MAP_MAP_LAYER_H_
#define VOXLOC_CUDA_MAP_MAP_LAYER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/map/lattice.h"
#include "cuda/map/cell_blocks.h"
#include "cuda/runtime/device_buffer.h"

namespace voxloc::cuda {

// Chunks made by one composition lie in one slab, which maps share.
using Slab = DeviceBuffer<std::byte>;

// A block in the hash table.
struct LayerBlock {
  CellKey key;
  uint32_t slab = 0;                 // in MapLayer::slabs
  const std::byte* chunk = nullptr;  // null: it had cells in an earlier revision
  uint32_t chunk_bytes = 0;
  uint32_t cells = 0;  // whose index position lies in this block
};

struct MapLayer {
  CellBlocks blocks{};
  size_t cells = 0;
  std::vector<LayerBlock> layer_blocks;  // ascending by key: all that the hash table holds
  std::shared_ptr<const DeviceBuffer<BlockSlot>> table;  // null without a cell
  std::vector<std::shared_ptr<const Slab>> slabs;
  // Of the blocks with a cell whose index position lies in another block: these others.
  absl::flat_hash_map<CellKey, std::vector<CellKey>> strays;

  [[nodiscard]] size_t MemoryBytes() const;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_MAP_MAP_LAYER_H_
