// SPDX-License-Identifier: Apache-2.0

#include "cuda/runtime/buffer.h"

#include <algorithm>
#include <new>

#include "absl/strings/str_cat.h"

namespace voxloc::cuda {
namespace {

constexpr std::align_val_t kAlignment{256};

}  // namespace

PinnedBuffer& PinnedBuffer::operator=(PinnedBuffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(data_, other.data_);
  std::swap(device_data_, other.device_data_);
  std::swap(pinned_, other.pinned_);
  std::swap(capacity_, other.capacity_);
  std::swap(retention_, other.retention_);
  return *this;
}

absl::Status PinnedBuffer::Reserve(size_t bytes) {
  if (bytes <= capacity_) return absl::OkStatus();
  return Allocate(std::max(bytes, capacity_ + capacity_ / 2));
}

absl::Status PinnedBuffer::ReserveForUse(size_t bytes) {
  const size_t capacity = retention_.NextCapacity(capacity_, bytes, 1);
  return capacity == capacity_ ? absl::OkStatus() : Allocate(capacity);
}

absl::Status PinnedBuffer::Allocate(size_t capacity) {
  Release();
  if (capacity == 0) return absl::OkStatus();
  void* memory = nullptr;
  absl::Status status =
      device_->Check(cudaHostAlloc(&memory, capacity, cudaHostAllocMapped | cudaHostAllocPortable),
                     "allocating page-locked memory");
  if (status.ok()) {
    data_ = static_cast<std::byte*>(memory);
    pinned_ = true;
    void* mapped = nullptr;
    if (device_->Check(cudaHostGetDevicePointer(&mapped, memory, 0), "mapping memory").ok()) {
      device_data_ = static_cast<std::byte*>(mapped);
    }
    capacity_ = capacity;
    return absl::OkStatus();
  }
  if (!device_->healthy()) return status;
  device_->CountPageableFallback();
  memory = ::operator new(capacity, kAlignment, std::nothrow);
  if (memory == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no host memory for a transfer of ", capacity, " bytes"));
  }
  data_ = static_cast<std::byte*>(memory);
  capacity_ = capacity;
  return absl::OkStatus();
}

void PinnedBuffer::Release() {
  if (data_ == nullptr) return;
  if (!pinned_) {
    ::operator delete(data_, kAlignment);
  } else if (device_->MakeCurrent().ok()) {
    (void)device_->Check(cudaFreeHost(data_), "freeing page-locked memory");
  }
  data_ = nullptr;
  device_data_ = nullptr;
  pinned_ = false;
  capacity_ = 0;
}

}  // namespace voxloc::cuda
