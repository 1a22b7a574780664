// SPDX-License-Identifier: Apache-2.0
//
// How much memory a workspace keeps from one use to the next: what the most demanding of its recent
// uses needed. One huge scan is forgotten, and work that repeats itself allocates nothing. Values
// without locks: used by one thread at a time.

#ifndef VOXLOC_CUDA_RUNTIME_RETENTION_H_
#define VOXLOC_CUDA_RUNTIME_RETENTION_H_

#include <algorithm>
#include <cstddef>

namespace voxloc::cuda {

// Uses after which a need is forgotten; at the latest twice as many. A vehicle sends 10 scans a
// second, so that a need which comes back within half a minute is still remembered.
constexpr size_t kRecentUses = 256;

// The largest of the last values: of all in the current run of kRecentUses and of those in the run
// before it.
class RecentPeak {
 public:
  void Note(size_t value) {
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
  // Memory below this is kept: giving it back and taking it again costs more than it is worth.
  static constexpr size_t kAlwaysKeptBytes = size_t{256} << 10;

  // What a buffer with room for `capacity` entries should have room for, when a use needs `need`
  // of them. It grows by half at least. It shrinks to the recent peak when it has more than twice
  // of that, which growth alone never gives it.
  [[nodiscard]] size_t Fit(size_t capacity, size_t need, size_t entry_bytes) {
    peak_.Note(need);
    if (need > capacity) return std::max(need, capacity + capacity / 2);
    const bool large = capacity * entry_bytes > kAlwaysKeptBytes;
    return large && capacity / 2 > peak_.value() ? peak_.value() : capacity;
  }

 private:
  RecentPeak peak_;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_RUNTIME_RETENTION_H_
