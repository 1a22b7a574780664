// SPDX-License-Identifier: Apache-2.0
//
// DeviceBoundGrid: a BoundGrid in device memory, laid out as on the host. Immutable; complete, with
// nothing queued, when it is made, so kernels on any stream may read it. Whoever queues work that
// reads it holds it until that work is done.

#ifndef VOXLOC_CUDA_SEARCH_DEVICE_BOUND_GRID_H_
#define VOXLOC_CUDA_SEARCH_DEVICE_BOUND_GRID_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/engine/bound.h"
#include "core/engine/bound_grid.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/device_buffer.h"

namespace voxloc::cuda {

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

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_SEARCH_DEVICE_BOUND_GRID_H_
