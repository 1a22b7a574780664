// SPDX-License-Identifier: Apache-2.0
//
// MapComposer: from the moments of tiles to a map, on the device: its layers at the same time, each
// by a LayerComposer of its own. While the host plans one, the device works on others. Used by one
// thread at a time.

#ifndef VOXLOC_CUDA_MAP_MAP_COMPOSER_H_
#define VOXLOC_CUDA_MAP_MAP_COMPOSER_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/map/cells.h"
#include "core/parallel/thread_pool.h"
#include "cuda/map/cuda_map.h"
#include "cuda/map/layer_composer.h"
#include "cuda/runtime/device.h"

namespace voxloc::cuda {

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

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_MAP_MAP_COMPOSER_H_
