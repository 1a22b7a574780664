// SPDX-License-Identifier: Apache-2.0
//
// BoundSlice: bounds the nodes of requests, slice by slice. A workspace with its own stream and
// memory; used by one thread at a time, which waits for the device.

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
#include "cuda/runtime/buffer.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/stream.h"
#include "cuda/runtime/transfers.h"
#include "cuda/search/bound_kernel.h"

namespace voxloc::cuda {

// DeviceBoundGrid: a BoundGrid in device memory, laid out as on the host. Immutable; complete, with
// nothing queued, when it is made, so kernels on any stream may read it. Whoever queues work that
// reads it holds it until that work is done.
class DeviceBoundGrid : public ResidentBoundGrid {
 public:
  // ResourceExhausted: no memory for it, or more than 2^31 words.
  [[nodiscard]] static absl::StatusOr<std::shared_ptr<const DeviceBoundGrid>> Upload(
      const std::shared_ptr<Device>& device, const BoundGrid& grid);

  [[nodiscard]] const Device& device() const { return *device_; }
  [[nodiscard]] const BoundGridShape& shape() const override { return shape_; }
  [[nodiscard]] const BoundGrid::Level& level(size_t i) const { return levels_[i]; }
  [[nodiscard]] const uint64_t* words() const { return words_.data(); }
  [[nodiscard]] size_t MemoryBytes() const override { return words_.MemoryBytes(); }

 private:
  explicit DeviceBoundGrid(std::shared_ptr<Device> device) : device_(device), words_(device) {}

  std::shared_ptr<Device> device_;
  BoundGridShape shape_;
  std::vector<BoundGrid::Level> levels_;
  DeviceBuffer<uint64_t> words_;
};

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
