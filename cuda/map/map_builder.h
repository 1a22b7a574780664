// SPDX-License-Identifier: Apache-2.0
//
// MapBuilder: the interface of this module: builds tiles and composes maps on one device.
// Thread-safe; a few calls run at the same time, others wait. Work runs on low-priority streams;
// calls return when it is done. They may throw std::bad_alloc.

#ifndef VOXLOC_CUDA_MAP_MAP_BUILDER_H_
#define VOXLOC_CUDA_MAP_MAP_BUILDER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/cloud/point_cloud.h"
#include "core/map/cells.h"
#include "core/parallel/thread_pool.h"
#include "cuda/map/cuda_map.h"
#include "cuda/map/cuda_tile.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/pool.h"

namespace voxloc::cuda {

class MapComposer;
class TileBuilder;

class MapBuilder {
 public:
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<MapBuilder>> Create(
      std::shared_ptr<Device> device);

  ~MapBuilder();
  MapBuilder(const MapBuilder&) = delete;
  MapBuilder& operator=(const MapBuilder&) = delete;

  // As Engine::BuildTile, which checks its arguments, with the same errors; InvalidArgument also
  // for a tile that spans too many blocks of cells.
  [[nodiscard]] absl::StatusOr<std::shared_ptr<const CudaTile>> BuildTile(
      const PointCloud& cloud_map, absl::Span<const CellStatistics> statistics);

  // As Engine::Compose, which checks the statistics, with the same errors; InvalidArgument also for
  // a map that spans too many blocks of cells. `previous` (may be null) must live until the call
  // returns.
  [[nodiscard]] absl::StatusOr<std::shared_ptr<const CudaMap>> Compose(
      absl::Span<const std::shared_ptr<const CudaTile>> tiles,
      absl::Span<const CellStatistics> statistics, const CudaMap* previous);

 private:
  explicit MapBuilder(std::shared_ptr<Device> device);

  const std::shared_ptr<Device> device_;
  ThreadPool threads_;
  Pool<TileBuilder> tile_builders_;
  Pool<MapComposer> composers_;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_MAP_MAP_BUILDER_H_
