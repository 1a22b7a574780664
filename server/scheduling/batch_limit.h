// SPDX-License-Identifier: Apache-2.0
//
// BatchLimit: how many scans a batch may have so that it takes no longer than it should.
//
// All answers of a batch wait for its end, and what comes meanwhile waits for the next one. A batch
// that took too long cuts the limit to the scans for which there was time; full batches that were
// quicker raise it again. Not thread-safe.

#ifndef VOXLOC_SERVER_SCHEDULING_BATCH_LIMIT_H_
#define VOXLOC_SERVER_SCHEDULING_BATCH_LIMIT_H_

#include <algorithm>
#include <cstddef>
#include <limits>

namespace voxloc::server {

class BatchLimit {
 public:
  // Batches are to end within `longest_s` seconds, but may always have `least` scans.
  BatchLimit(double longest_s, size_t least)
      : longest_s_(longest_s), least_(std::max<size_t>(least, 1)) {}

  [[nodiscard]] size_t scans() const { return scans_; }

  // A batch of `scans` has taken `seconds`.
  void Ran(size_t scans, double seconds) {
    if (scans == 0 || (seconds <= longest_s_ && scans < scans_)) return;
    const double in_time =
        static_cast<double>(scans) * longest_s_ / std::max(seconds, kClockTick_s);
    // The time of a batch is not proportional to its scans: it grows by doubling.
    const double most = std::min(in_time, 2.0 * static_cast<double>(scans_));
    scans_ = most < kMost ? std::max(static_cast<size_t>(most), least_) : kUnlimited;
  }

 private:
  static constexpr size_t kUnlimited = std::numeric_limits<size_t>::max();
  // Far above what any batch has (`limits.max_batch`), and exact as a double.
  static constexpr double kMost = 1e9;
  static constexpr double kClockTick_s = 1e-9;

  const double longest_s_;
  const size_t least_;
  size_t scans_ = kUnlimited;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCHEDULING_BATCH_LIMIT_H_
