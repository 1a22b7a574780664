// SPDX-License-Identifier: Apache-2.0
//
// BoundSlice: bounds the nodes of requests, so many at a time. A workspace with a stream and memory
// of its own; used by one thread at a time, which waits for the device.

#ifndef VOXLOC_CUDA_SEARCH_BOUND_SLICE_H_
#define VOXLOC_CUDA_SEARCH_BOUND_SLICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/engine/bound.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/device_buffer.h"
#include "cuda/runtime/packed_upload.h"
#include "cuda/runtime/pinned_buffer.h"
#include "cuda/runtime/stream.h"
#include "cuda/search/bound_kernel.h"
#include "cuda/search/device_bound_grid.h"

namespace voxloc::cuda {

class BoundSlice {
 public:
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<BoundSlice>> Create(
      std::shared_ptr<Device> device, Priority priority);

  // The whole request, which must be a good one and `grid` its grid. Cancelled, DeadlineExceeded:
  // the stop token, looked at between slices. Work may still be queued after an error or an
  // exception (std::bad_alloc).
  [[nodiscard]] absl::StatusOr<std::vector<BoundHit>> Run(const BoundRequest& request,
                                                          const DeviceBoundGrid& grid);

  // Waits for all work that is queued.
  void Drain() const noexcept { stream_.Drain(); }

 private:
  explicit BoundSlice(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  absl::Status Upload(const BoundRequest& request, BoundArguments& arguments);
  absl::Status RunSlice(const BoundArguments& arguments, std::vector<BoundHit>& hits);

  const std::shared_ptr<Device> device_;
  Stream stream_;
  std::shared_ptr<const BoundScan> scan_;  // whose points are on the device
  PackedUpload scan_upload_{device_};
  const BoundPoint* points_ = nullptr;  // on the device
  PackedUpload upload_{device_};        // the heights and the blocks of a request
  DeviceBuffer<DeviceBoundEntry> entries_{device_};
  DeviceBuffer<uint64_t> found_{device_};
  DeviceBuffer<uint64_t> selected_{device_};
  DeviceBuffer<uint32_t> count_{device_};
  DeviceBuffer<std::byte> scratch_{device_};
  PinnedBuffer result_{device_};
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_SEARCH_BOUND_SLICE_H_
