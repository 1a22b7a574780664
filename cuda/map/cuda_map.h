// SPDX-License-Identifier: Apache-2.0
//
// CudaMap: a map in device memory, one layer of cells for each statistics it was composed with.
// Immutable; any thread may read it, and kernels on any stream: it is complete, with nothing
// queued, when it is made. Whoever queues work that reads it holds it until that work is done. It
// keeps its tiles alive, and shares what it can of its memory with maps composed from it.

#ifndef VOXLOC_CUDA_MAP_CUDA_MAP_H_
#define VOXLOC_CUDA_MAP_CUDA_MAP_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/map/block_map.h"
#include "core/map/cells.h"
#include "core/map/lattice.h"
#include "cuda/map/cell_blocks.h"
#include "cuda/map/cuda_tile.h"
#include "cuda/runtime/buffer.h"
#include "cuda/runtime/device.h"

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

// MapLayer: the cells of one CellStatistics of a map, in device memory in the layout of
// cell_blocks.h, and the host's index that lets a successor share them. A plain value, immutable
// once it is part of a map.
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

class CudaMap : public ResidentMap {
 public:
  // One layer for each statistics, in their order.
  CudaMap(std::shared_ptr<Device> device, std::vector<std::shared_ptr<const CudaTile>> tiles,
          std::vector<CellStatistics> statistics, std::vector<MapLayer> layers);

  // FailedPrecondition: no map, or not one of this device.
  [[nodiscard]] static absl::StatusOr<const CudaMap*> FromResident(const Device& device,
                                                                   const ResidentMap* map);

  [[nodiscard]] const Device& device() const { return *device_; }
  [[nodiscard]] const std::vector<std::shared_ptr<const CudaTile>>& tiles() const { return tiles_; }

  // Null where the map was not composed with these statistics.
  [[nodiscard]] const MapLayer* Layer(const CellStatistics& statistics) const;
  // The same, for kernels. Valid as long as the map.
  [[nodiscard]] const CellBlocks* Blocks(const CellStatistics& statistics) const;

  [[nodiscard]] const std::vector<CellStatistics>& statistics() const override {
    return statistics_;
  }
  [[nodiscard]] size_t cells(size_t statistics_index) const override {
    return layers_[statistics_index].cells;
  }
  // Slabs shared by several maps are counted in each of them.
  [[nodiscard]] size_t MemoryBytes() const override;
  // Recomputed from the tiles' moments, in double.
  [[nodiscard]] absl::StatusOr<std::vector<MapCell>> CellsInBox(size_t statistics_index,
                                                                const Eigen::Vector3d& min,
                                                                const Eigen::Vector3d& max,
                                                                size_t max_cells) const override;

 private:
  const std::shared_ptr<Device> device_;
  const std::vector<std::shared_ptr<const CudaTile>> tiles_;
  const std::vector<CellStatistics> statistics_;
  const std::vector<MapLayer> layers_;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_MAP_CUDA_MAP_H_
