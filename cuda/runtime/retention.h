// SPDX-License-Identifier: Apache-2.0
//
// Retention of a workspace's memory from one use to the next: the peak of its recent uses. The
// memory for one huge scan is released after a while, and repeated work allocates nothing. Not
// thread-safe.

#ifndef VOXLOC_CUDA_RUNTIME_RETENTION_H_
#define VOXLOC_CUDA_RUNTIME_RETENTION_H_

#include <algorithm>
#include <cstddef>

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

// The capacity of one buffer.
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

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_RUNTIME_RETENTION_H_
