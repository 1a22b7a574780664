// SPDX-License-Identifier: Apache-2.0
//
// StopFlags: tells a running kernel which of its jobs have been cancelled. One word of device
// memory per job, 0 until the host overwrites it through a stream of its own. Blocks poll it in
// every iteration; with hundreds of jobs, polling host memory would take longer than the iteration.
// Not thread-safe.

#ifndef VOXLOC_CUDA_ALIGN_STOP_FLAGS_H_
#define VOXLOC_CUDA_ALIGN_STOP_FLAGS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cuda/runtime/buffer.h"
#include "cuda/runtime/stream.h"

namespace voxloc::cuda {

class StopFlags {
 public:
  explicit StopFlags(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  // Once, before anything else.
  [[nodiscard]] absl::Status CreateStream();

  // Before a launch: one for each of so many jobs, none raised. The device must be current.
  [[nodiscard]] absl::Status Prepare(size_t jobs);
  // What a kernel reads. Null: Prepare has had no jobs yet.
  [[nodiscard]] const uint32_t* device_data() const { return words_.data(); }

  // After Prepare, while a kernel may run: marks the job as cancelled. If the copy cannot be
  // queued, the next call tries again.
  void Raise(size_t job) noexcept;

  // Clears all flags, once no kernel reads them. If that fails, Prepare does it.
  void Reset() noexcept;

 private:
  [[nodiscard]] absl::Status Zero();

  const std::shared_ptr<Device> device_;
  Stream stream_;
  DeviceBuffer<uint32_t> words_{device_};  // 0, but for those of raised_
  PinnedBuffer raised_word_{device_};      // what is copied
  std::vector<bool> raised_;               // of each job
  bool any_raised_ = false;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_STOP_FLAGS_H_
