// SPDX-License-Identifier: Apache-2.0
//
// Memory of the device and page-locked memory of the host that grow as needed. Not thread-safe.

#ifndef VOXLOC_CUDA_RUNTIME_BUFFER_H_
#define VOXLOC_CUDA_RUNTIME_BUFFER_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/stream.h"

namespace voxloc::cuda {

// A peak is retained for kRecentUses to 2 kRecentUses uses. A vehicle sends 10 scans a second, so a
// demand that recurs within 25 s allocates nothing.
constexpr size_t kRecentUses = 256;

// The maximum of the values in the current and the previous window of kRecentUses.
class RecentPeak {
 public:
  void Add(size_t value) {
    if (uses_ == kRecentUses) {
      before_ = current_;
      current_ = 0;
      uses_ = 0;
    }
    current_ = std::max(current_, value);
    ++uses_;
  }
  [[nodiscard]] size_t value() const { return std::max(before_, current_); }

 private:
  size_t before_ = 0;
  size_t current_ = 0;
  size_t uses_ = 0;
};

// Retention: how much memory of a buffer is kept from one use to the next: the peak of its recent
// uses. The memory for one huge scan is released after a while, and repeated work allocates
// nothing. Not thread-safe.
class Retention {
 public:
  // Buffers below this size never shrink: reallocation would cost more than it saves.
  static constexpr size_t kAlwaysKeptBytes = size_t{256} << 10;

  // The new capacity of a buffer for a use that needs `need` entries. It grows by half at least,
  // and shrinks to the recent peak when it exceeds twice that, which growth alone never causes.
  [[nodiscard]] size_t NextCapacity(size_t capacity, size_t need, size_t entry_bytes) {
    peak_.Add(need);
    if (need > capacity) return std::max(need, capacity + capacity / 2);
    const bool large = capacity * entry_bytes > kAlwaysKeptBytes;
    return large && capacity / 2 > peak_.value() ? peak_.value() : capacity;
  }

 private:
  RecentPeak peak_;
};

// DeviceBuffer: an array in device memory. Moved, never copied. It may be destroyed or resized once
// no queued or running work uses it.
template <typename T>
class DeviceBuffer {
  static_assert(std::is_trivially_copyable_v<T>, "device memory is copied as bytes");

 public:
  explicit DeviceBuffer(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : device_(other.device_),  // NOLINT(performance-move-constructor-init): stays usable
        data_(std::exchange(other.data_, nullptr)),
        capacity_(std::exchange(other.capacity_, 0)),
        retention_(other.retention_) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(capacity_, other.capacity_);
    std::swap(retention_, other.retention_);
    return *this;
  }
  ~DeviceBuffer() { Release(); }

  // Capacity for `count` entries. Growing loses the contents, and grows by half at least.
  [[nodiscard]] absl::Status Reserve(size_t count) {
    if (count <= capacity_) return absl::OkStatus();
    return Allocate(std::max(count, capacity_ + capacity_ / 2));
  }
  // The same once for every use of a workspace, also with a count of 0; releases memory that recent
  // uses did not need (Retention). The contents are lost when the capacity changes.
  [[nodiscard]] absl::Status ReserveForUse(size_t count) {
    const size_t capacity = retention_.NextCapacity(capacity_, count, sizeof(T));
    return capacity == capacity_ ? absl::OkStatus() : Allocate(capacity);
  }
  // As Reserve without spare capacity: for buffers that are filled once.
  [[nodiscard]] absl::Status ReserveExactly(size_t count) {
    if (count <= capacity_) return absl::OkStatus();
    return Allocate(count);
  }

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] size_t capacity() const { return capacity_; }
  [[nodiscard]] size_t MemoryBytes() const { return capacity_ * sizeof(T); }

 private:
  absl::Status Allocate(size_t count) {
    Release();
    if (count == 0) return absl::OkStatus();
    VOXLOC_ASSIGN_OR_RETURN(void* memory, device_->Allocate(count * sizeof(T)));
    data_ = static_cast<T*>(memory);
    capacity_ = count;
    return absl::OkStatus();
  }
  void Release() {
    if (data_ != nullptr) device_->Free(data_, capacity_ * sizeof(T));
    data_ = nullptr;
    capacity_ = 0;
  }

  std::shared_ptr<Device> device_;
  T* data_ = nullptr;
  size_t capacity_ = 0;
  Retention retention_;
};

// PinnedBuffer: host memory for transfers, page-locked so that they run beside other work and at
// full speed, and mapped, so that a kernel can access small data in place. It grows as needed. When
// page-locked memory is exhausted it falls back to pageable memory: transfers still work, and the
// device counts the fallbacks.
class PinnedBuffer {
 public:
  explicit PinnedBuffer(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  PinnedBuffer(PinnedBuffer&& other) noexcept { *this = std::move(other); }
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept;
  ~PinnedBuffer() { Release(); }

  // Room for `bytes`, aligned to 256; what was there is lost where the buffer grows. Grows by half
  // at least. ResourceExhausted: neither kind of memory is left. The device must be current.
  [[nodiscard]] absl::Status Reserve(size_t bytes);
  // As DeviceBuffer::ReserveForUse.
  [[nodiscard]] absl::Status ReserveForUse(size_t bytes);
  // Copies an array from the device into the buffer and synchronises the stream; `what` describes
  // the operation in errors. The buffer must be idle; the result is valid until its next use.
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

#endif  // VOXLOC_CUDA_RUNTIME_BUFFER_H_
