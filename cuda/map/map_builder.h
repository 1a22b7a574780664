// SPDX-License-Identifier: Apache-2.0
//
// MapBuilder: the interface of this module: builds tiles and composes maps on one device.
// Thread-safe; a few calls run at the same time, others wait. Work runs on low-priority streams;
// calls return when it is done. They may throw std::bad_alloc.

#ifndef VOXLOC_CUDA_MAP_MAP_BUILDER_H_
#define VOXLOC_CUDA_MAP_MAP_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/cloud/point_cloud.h"
#include "core/map/cells.h"
#include "core/parallel/thread_pool.h"
#include "cuda/map/cuda_map.h"
#include "cuda/map/cuda_tile.h"
#include "cuda/map/gaussian_sorter.h"
#include "cuda/map/layer_store.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/pool.h"
#include "cuda/runtime/stream.h"

namespace voxloc::cuda {

// LayerComposer: from the moments of tiles to one layer of a map, on the device. A workspace with a
// stream of low priority and memory of its own; used by one thread at a time.
//
// A layer is made in two steps: the Gaussians of the source blocks, sorted by the lattice cell of
// their index position; then the chunks of the target blocks, those with a Gaussian in them or in a
// neighbouring block. After a change of few tiles only the targets near these tiles are remade; the
// other chunks are shared with the previous map.
class LayerComposer {
 public:
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<LayerComposer>> Create(
      std::shared_ptr<Device> device);

  ~LayerComposer() { Drain(); }
  LayerComposer(const LayerComposer&) = delete;
  LayerComposer& operator=(const LayerComposer&) = delete;

  // Waits for all work that is queued.
  void Drain() const noexcept { stream_.Drain(); }

  using Tiles = absl::Span<const std::shared_ptr<const CudaTile>>;
  // A map whose tiles have changed, as one of its layers sees it.
  struct Change {
    const MapLayer& previous;
    std::vector<const CudaTile*> tiles;  // added and removed
  };

  // Fills `layer`, which is empty. `change` null: from scratch. The tiles have the lattice of the
  // statistics. The device must be current. Done when it returns. InvalidArgument: the map spans
  // too many blocks of cells; ResourceExhausted: no memory.
  [[nodiscard]] absl::Status Compose(Tiles tiles, const CellStatistics& statistics,
                                     const Change* change, MapLayer& layer);

  // Frees the buffers kept for the next layer.
  void ReleaseMemory();

 private:
  // Device memory, kept from layer to layer unless one was very large.
  struct Buffers {
    explicit Buffers(const std::shared_ptr<Device>& device) : sorter(device), store(device) {}

    GaussianSorter sorter;
    LayerStore store;
  };

  LayerComposer(std::shared_ptr<Device> device, Stream stream);
  using Spills = std::map<CellKey, std::vector<CellKey>>;

  absl::Status Run(Tiles tiles, const CellStatistics& statistics, const Change* change,
                   MapLayer& layer);
  // Both compute the Gaussians that the targets need and return the targets. `spills` get, for each
  // block concerned, the other blocks in which its Gaussians are indexed; those of the whole layer
  // go to `layer`.
  absl::StatusOr<std::vector<CellKey>> GatherAll(Tiles tiles, const CellStatistics& statistics,
                                                 const BlockBox& region, Spills& spills,
                                                 MapLayer& layer);
  absl::StatusOr<std::vector<CellKey>> GatherChanged(Tiles tiles, const CellStatistics& statistics,
                                                     const Change& change, Spills& spills,
                                                     MapLayer& layer);

  const std::shared_ptr<Device> device_;
  std::unique_ptr<Buffers> buffers_;
  Stream stream_;
};

// MapComposer: from the moments of tiles to a map, on the device: its layers at the same time, each
// by a LayerComposer of its own. While the host plans one, the device works on others. Used by one
// thread at a time.
class MapComposer {
 public:
  // The pool must outlive it.
  MapComposer(std::shared_ptr<Device> device, ThreadPool& threads)
      : device_(std::move(device)), threads_(threads) {}
  MapComposer(const MapComposer&) = delete;
  MapComposer& operator=(const MapComposer&) = delete;

  // Waits for all work that is queued.
  void Drain() const noexcept;

  // See MapBuilder::Compose. The device must be current.
  [[nodiscard]] absl::StatusOr<std::shared_ptr<const CudaMap>> Compose(
      absl::Span<const std::shared_ptr<const CudaTile>> tiles,
      absl::Span<const CellStatistics> statistics, const CudaMap* previous);

 private:
  const std::shared_ptr<Device> device_;
  ThreadPool& threads_;
  // Of each statistics, in their order.
  std::vector<std::unique_ptr<LayerComposer>> layer_composers_;
};

class TileBuilder;

class MapBuilder {
 public:
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<MapBuilder>> Create(
      std::shared_ptr<Device> device);

  ~MapBuilder();
  MapBuilder(const MapBuilder&) = delete;
  MapBuilder& operator=(const MapBuilder&) = delete;

  // As Engine::BuildTile, with the same errors; InvalidArgument also for a tile that spans too many
  // blocks of cells.
  [[nodiscard]] absl::StatusOr<std::shared_ptr<const CudaTile>> BuildTile(
      const PointCloud& cloud_map, absl::Span<const CellStatistics> statistics);

  // As Engine::Compose, with the same errors; InvalidArgument also for a map that spans too many
  // blocks of cells. `previous` (may be null) must live until the call returns.
  [[nodiscard]] absl::StatusOr<std::shared_ptr<const CudaMap>> Compose(
      absl::Span<const std::shared_ptr<const CudaTile>> tiles,
      absl::Span<const CellStatistics> statistics, const CudaMap* previous);

 private:
  explicit MapBuilder(std::shared_ptr<Device> device);

  const std::shared_ptr<Device> device_;
  Pool<TileBuilder> tile_builders_;
  ThreadPool threads_;
  Pool<MapComposer> composers_;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_MAP_MAP_BUILDER_H_
