// SPDX-License-Identifier: Apache-2.0
//
// PinnedBuffer: host memory for transfers, page-locked so that they run beside other work and at
// full speed, and mapped, so that a kernel can read and write small things in place. It grows as it
// is needed. Where there is no more page-locked memory it is ordinary memory: transfers from it
// still work, and the device counts it. Not thread-safe.

#ifndef VOXLOC_CUDA_RUNTIME_PINNED_BUFFER_H_
#define VOXLOC_CUDA_RUNTIME_PINNED_BUFFER_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/retention.h"
#include "cuda/runtime/stream.h"

namespace voxloc::cuda {

class PinnedBuffer {
 public:
  explicit PinnedBuffer(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  PinnedBuffer(PinnedBuffer&& other) noexcept { *this = std::move(other); }
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept;
  ~PinnedBuffer() { Release(); }

  // Room for `bytes`, aligned to 256; what was there is lost where the buffer grows. Grows by half
  // at least. ResourceExhausted: neither kind of memory is left. The device must be current.
  [[nodiscard]] absl::Status Reserve(size_t bytes);
  // For one use of a workspace, also for none of it: likewise, and memory that recent uses did not
  // need is given back (retention.h). What was there is lost where the capacity changes.
  [[nodiscard]] absl::Status ReserveForUse(size_t bytes);
  // Copies an array here from the device and waits for all that the stream had to do; `what` is for
  // the error. The buffer must be idle; the result is valid until its next use.
  template <typename T>
  [[nodiscard]] absl::StatusOr<const T*> Fetch(const T* from, size_t count, const Stream& stream,
                                               absl::string_view what) {
    VOXLOC_TRY(Reserve(count * sizeof(T)));
    T* const to = reinterpret_cast<T*>(data_);
    VOXLOC_TRY(stream.Download(to, from, count, what));
    VOXLOC_TRY(stream.Synchronize());
    return to;
  }

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] size_t capacity() const { return capacity_; }
  // Where the device sees data(); null where the memory is not page-locked.
  [[nodiscard]] std::byte* device_data() const { return device_data_; }

 private:
  absl::Status Allocate(size_t capacity);
  void Release();

  std::shared_ptr<Device> device_;
  std::byte* data_ = nullptr;
  std::byte* device_data_ = nullptr;
  bool pinned_ = false;
  size_t capacity_ = 0;
  Retention retention_;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_RUNTIME_PINNED_BUFFER_H_
