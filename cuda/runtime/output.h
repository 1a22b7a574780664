// SPDX-License-Identifier: Apache-2.0
//
// Output: an array that kernels write and the host reads once the stream is done. Its memory is
// retained as in retention.h. Used by one thread at a time.

#ifndef VOXLOC_CUDA_RUNTIME_OUTPUT_H_
#define VOXLOC_CUDA_RUNTIME_OUTPUT_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "cuda/runtime/buffer.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/stream.h"

namespace voxloc::cuda {

template <typename T>
class Output {
 public:
  // Where kernels write: to device memory, which Download copies; or directly to mapped host
  // memory, for few entries that are written once. Without page-locked memory, device memory is
  // used.
  enum class Place { kDevice, kHost };

  explicit Output(std::shared_ptr<Device> device, Place place = Place::kDevice)
      : device_(std::move(device)), place_(place) {}

  // Once for every use of a workspace, also with a count of 0. The device must be current.
  [[nodiscard]] absl::Status ReserveForUse(size_t count) {
    count_ = count;
    VOXLOC_TRY(on_host_.ReserveForUse(count * sizeof(T)));
    return on_device_.ReserveForUse(in_place() ? 0 : count);
  }
  [[nodiscard]] T* device_data() const {
    return in_place() ? reinterpret_cast<T*>(on_host_.device_data()) : on_device_.data();
  }
  // Queues the copy to the host where one is needed; `what` is for its error.
  [[nodiscard]] absl::Status Download(const Stream& stream, absl::string_view what) const {
    if (count_ == 0 || in_place()) return absl::OkStatus();
    return stream.Download(reinterpret_cast<T*>(on_host_.data()), on_device_.data(), count_, what);
  }
  // The host's copy, once the stream is done.
  [[nodiscard]] const T* data() const { return reinterpret_cast<const T*>(on_host_.data()); }

 private:
  [[nodiscard]] bool in_place() const {
    return place_ == Place::kHost && on_host_.device_data() != nullptr;
  }

  const std::shared_ptr<Device> device_;
  const Place place_;
  size_t count_ = 0;
  DeviceBuffer<T> on_device_{device_};
  PinnedBuffer on_host_{device_};
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_RUNTIME_OUTPUT_H_
