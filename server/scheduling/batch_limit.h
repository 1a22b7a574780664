// SPDX-License-Identifier: Apache-2.0
//
// BatchLimit: the number of scans per batch that keeps batches within a given time.
//
// All replies of a batch wait for its end, and scans that arrive meanwhile wait for the next batch.
// After a batch of n scans that took t seconds the limit is n * max_batch_s / t, at most 2 * n;
// a batch in time that was not full leaves it unchanged. Not thread-safe.

#ifndef VOXLOC_SERVER_SCHEDULING_BATCH_LIMIT_H_
#define VOXLOC_SERVER_SCHEDULING_BATCH_LIMIT_H_

#include <algorithm>
#include <cstddef>
#include <limits>

namespace voxloc::server {

class BatchLimit {
 public:
  // Batches should take at most `max_batch_s` seconds; the limit is at least `min_scans`.
  BatchLimit(double max_batch_s, size_t min_scans)
      : max_batch_s_(max_batch_s), min_scans_(std::max<size_t>(min_scans, 1)) {}

  [[nodiscard]] size_t scans() const { return scans_; }

  // A batch of `scans` has taken `seconds`.
  void RecordBatch(size_t scans, double seconds) {
    if (scans == 0 || (seconds <= max_batch_s_ && scans < scans_)) return;
    const double in_time =
        static_cast<double>(scans) * max_batch_s_ / std::max(seconds, kClockTick_s);
    // The time of a batch is not proportional to its scans: it grows by doubling.
    const double most = std::min(in_time, 2.0 * static_cast<double>(scans_));
    scans_ = most < kMaxScans ? std::max(static_cast<size_t>(most), min_scans_) : kUnlimited;
  }

 private:
  static constexpr size_t kUnlimited = std::numeric_limits<size_t>::max();
  // Far above what any batch has (`limits.max_batch`), and exact as a double.
  static constexpr double kMaxScans = 1e9;
  static constexpr double kClockTick_s = 1e-9;

  const double max_batch_s_;
  const size_t min_scans_;
  size_t scans_ = kUnlimited;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCHEDULING_BATCH_LIMIT_H_
