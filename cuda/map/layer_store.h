// SPDX-License-Identifier: Apache-2.0
//
// LayerStore: the second step of composing a layer: writes the chunks of sorted Gaussians to a new
// slab, and builds the hash table of these and of the chunks shared with the previous layer. Has
// its own device memory; used by one thread at a time.

#ifndef VOXLOC_CUDA_MAP_LAYER_STORE_H_
#define VOXLOC_CUDA_MAP_LAYER_STORE_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cuda/map/block_set.h"
#include "cuda/map/cell_kernels.h"
#include "cuda/map/cuda_map.h"
#include "cuda/runtime/buffer.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/stream.h"
#include "cuda/runtime/transfers.h"

namespace voxloc::cuda {

class LayerStore {
 public:
  explicit LayerStore(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  // Makes the chunks of the targets (ascending by key) and completes `layer`, which is empty but
  // for its strays. The chunks of all other blocks are shared with `previous` (may be null).
  // `region` contains all blocks that `previous` does not have. Synchronous unless it fails;
  // `layer` then owns the memory that queued work may still use. InvalidArgument: the region is too
  // large; ResourceExhausted: no memory, or too many cells in one block.
  [[nodiscard]] absl::Status Fill(const SortedGaussians& sorted,
                                  const std::vector<CellKey>& targets, const MapLayer* previous,
                                  const BlockBox& region, double cell_size_m, const Stream& stream,
                                  MapLayer& layer);

 private:
  absl::Status Measure(const SortedGaussians& sorted, const std::vector<CellKey>& targets,
                       const Stream& stream, std::vector<TargetSize>& sizes);
  absl::Status PrepareTable(const MapLayer* previous, const BlockBox& region, const Stream& stream,
                            MapLayer& layer, bool* rebuilt);

  const std::shared_ptr<Device> device_;
  PackedUpload upload_{device_};         // the targets
  const CellKey* targets_ = nullptr;     // on the device
  PackedUpload memory_upload_{device_};  // where they go
  DeviceBuffer<TargetSize> sizes_{device_};
  PinnedBuffer host_{device_};
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_MAP_LAYER_STORE_H_
