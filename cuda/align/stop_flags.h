// SPDX-License-Identifier: Apache-2.0
//
// StopFlags: what the host tells a kernel that runs: which of its jobs have been cancelled. A word
// of device memory for each, 0 until the host copies another value there on a stream of its own:
// blocks look at theirs in every iteration, and reads of the host's memory would take them longer
// than the iteration does, where hundreds of jobs run. Not thread-safe.

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

  // From Prepare on, while a kernel may run: the job has been cancelled. Where the copy cannot be
  // queued, the next call tries again.
  void Raise(size_t job) noexcept;

  // Once no kernel reads them any more: none is raised. Where that fails, Prepare does it.
  void Lower() noexcept;

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
