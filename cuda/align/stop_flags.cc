// SPDX-License-Identifier: Apache-2.0

#include "cuda/align/stop_flags.h"

#include <cuda_runtime_api.h>

#include <cstring>

namespace voxloc::cuda {

absl::Status StopFlags::CreateStream() {
  VOXLOC_ASSIGN_OR_RETURN(stream_, Stream::Create(device_, Priority::kHigh));
  return absl::OkStatus();
}

absl::Status StopFlags::Zero() {
  VOXLOC_CUDA_TRY(*device_, cudaMemsetAsync(words_.data(), 0, words_.MemoryBytes(), stream_.get()),
                  "clearing stop flags");
  return stream_.Synchronize();
}

absl::Status StopFlags::Prepare(size_t jobs) {
  const uint32_t* const before = words_.data();
  const size_t capacity = words_.capacity();
  raised_.assign(jobs, false);
  VOXLOC_TRY(words_.ReserveForUse(jobs));
  const bool other = words_.data() != before || words_.capacity() != capacity;
  if (words_.data() != nullptr && (other || any_raised_)) VOXLOC_TRY(Zero());
  any_raised_ = false;
  if (raised_word_.data() != nullptr) return absl::OkStatus();
  VOXLOC_TRY(raised_word_.Reserve(sizeof(uint32_t)));
  const uint32_t raised = 1;
  std::memcpy(raised_word_.data(), &raised, sizeof(raised));
  return absl::OkStatus();
}

void StopFlags::Raise(size_t job) noexcept {
  if (raised_[job]) return;
  any_raised_ = true;
  raised_[job] = cudaMemcpyAsync(words_.data() + job, raised_word_.data(), sizeof(uint32_t),
                                 cudaMemcpyHostToDevice, stream_.get()) == cudaSuccess;
  if (!raised_[job]) (void)cudaGetLastError();
}

void StopFlags::Reset() noexcept {
  if (!any_raised_) return;
  any_raised_ =
      cudaMemsetAsync(words_.data(), 0, words_.MemoryBytes(), stream_.get()) != cudaSuccess ||
      cudaStreamSynchronize(stream_.get()) != cudaSuccess;
  if (any_raised_) (void)cudaGetLastError();
}

}  // namespace voxloc::cuda
