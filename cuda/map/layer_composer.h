// SPDX-License-Identifier: Apache-2.0
//
// LayerComposer: from the moments of tiles to one layer of a map, on the device. A workspace with a
// stream of low priority and memory of its own; used by one thread at a time.
//
// A layer is made in two steps: the Gaussians of the source blocks, sorted by the lattice cell of
// their index position; then the chunks of the target blocks, those with a Gaussian in them or in a
// neighbouring block. After a change of few tiles only the targets near these tiles are remade; the
// other chunks are shared with the previous map.

#ifndef VOXLOC_CUDA_MAP_LAYER_COMPOSER_H_
#define VOXLOC_CUDA_MAP_LAYER_COMPOSER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/map/cells.h"
#include "cuda/map/cuda_map.h"
#include "cuda/map/cuda_tile.h"
#include "cuda/map/gaussian_sorter.h"
#include "cuda/map/layer_store.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/stream.h"

namespace voxloc::cuda {

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
  // Both compute the Gaussians that the targets need and return the targets. `strays` get, for each
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

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_MAP_LAYER_COMPOSER_H_
