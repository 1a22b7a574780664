// SPDX-License-Identifier: Apache-2.0
//
// LogHistogram: counts values that are not negative, such as times in nanoseconds, in buckets whose
// widths grow with the values, as HdrHistogram does. Values below 128 have a bucket each; above,
// every power of two is divided into 64 buckets, so that the middle of a bucket is within 1/128
// (0.8 %) of each of its values. At most 3,712 buckets cover all of int64; only those up to the
// largest value take memory. Histograms of several threads can be added up. Not
// thread-safe.

#ifndef VOXLOC_CLIENTS_CLI_LOAD_TEST_LOG_HISTOGRAM_H_
#define VOXLOC_CLIENTS_CLI_LOAD_TEST_LOG_HISTOGRAM_H_

#include <cstdint>
#include <vector>

#include "clients/dataset/summary.h"

namespace voxloc::cli {

class LogHistogram {
 public:
  // Below 0 counts as 0.
  void Add(int64_t value);
  void Merge(const LogHistogram& other);

  [[nodiscard]] uint64_t count() const { return count_; }

  // The value of rank ceil(percent / 100 * count), within 0.8 %; NaN when empty.
  [[nodiscard]] double Percentile(double percent) const;

  // In multiples of `unit`. Mean and maximum are exact.
  [[nodiscard]] Summary Summarized(double unit) const;

 private:
  std::vector<uint64_t> buckets_;
  uint64_t count_ = 0;
  double sum_ = 0.0;
  int64_t min_ = 0;
  int64_t max_ = 0;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_LOAD_TEST_LOG_HISTOGRAM_H_
