// SPDX-License-Identifier: Apache-2.0

#include "cuda/map/cuda_map.h"

#include <algorithm>
#include <utility>

#include "core/engine/out_of_memory.h"
#include "cuda/map/cells_in_box.h"

namespace voxloc::cuda {

size_t MapLayer::MemoryBytes() const {
  size_t bytes =
      layer_blocks.MemoryBytes() + spill_targets.MemoryBytes() + spill_sources.MemoryBytes();
  if (table != nullptr) bytes += table->MemoryBytes();
  for (const LayerSlab& slab : slabs) {
    bytes += slab.memory->MemoryBytes() + slab.blocks->capacity() * sizeof(CellKey);
  }
  return bytes;
}

CudaMap::CudaMap(std::shared_ptr<Device> device, std::vector<std::shared_ptr<const CudaTile>> tiles,
                 std::vector<CellStatistics> statistics, std::vector<MapLayer> layers)
    : device_(std::move(device)),
      tiles_(std::move(tiles)),
      statistics_(std::move(statistics)),
      layers_(std::move(layers)) {}

absl::StatusOr<const CudaMap*> CudaMap::Of(const Device& device, const ResidentMap* map) {
  const auto* const cuda_map = dynamic_cast<const CudaMap*>(map);
  if (cuda_map == nullptr || cuda_map->device_.get() != &device) {
    return absl::FailedPreconditionError("the map does not belong to this CUDA engine");
  }
  return cuda_map;
}

const MapLayer* CudaMap::Layer(const CellStatistics& statistics) const {
  const auto it = std::find(statistics_.begin(), statistics_.end(), statistics);
  return it == statistics_.end() ? nullptr
                                 : &layers_[static_cast<size_t>(it - statistics_.begin())];
}

const CellBlocks* CudaMap::Blocks(const CellStatistics& statistics) const {
  const MapLayer* layer = Layer(statistics);
  return layer == nullptr ? nullptr : &layer->blocks;
}

size_t CudaMap::MemoryBytes() const {
  size_t bytes = 0;
  for (const MapLayer& layer : layers_) bytes += layer.MemoryBytes();
  return bytes;
}

absl::StatusOr<std::vector<MapCell>> CudaMap::CellsInBox(size_t statistics_index,
                                                         const Eigen::Vector3d& min,
                                                         const Eigen::Vector3d& max,
                                                         size_t max_cells) const {
  return CatchOutOfMemory(
      [&] {
        return DownloadCells(device_, tiles_, statistics_[statistics_index], min, max, max_cells);
      },
      [] { return "no host memory for the cells of the box"; });
}

}  // namespace voxloc::cuda
