// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/load_test/log_histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace voxloc::cli {
namespace {

// Values of 7 bits have a bucket each. Of larger values the 7 leading bits choose the bucket: the
// first is always set, which leaves 2^6 buckets for each length.
constexpr int kLeadingBits = 7;
constexpr uint64_t kExactValues = uint64_t{1} << kLeadingBits;
constexpr uint64_t kBucketsPerLength = kExactValues / 2;

// How many bits of the value are not leading ones.
int DroppedBits(uint64_t value) {
  int bits = 0;
  while ((value >> bits) >= kExactValues) ++bits;
  return bits;
}

size_t BucketOf(int64_t value) {
  const auto v = static_cast<uint64_t>(value);
  if (v < kExactValues) return v;
  const int dropped = DroppedBits(v);
  return kExactValues + static_cast<uint64_t>(dropped - 1) * kBucketsPerLength +
         ((v >> dropped) - kBucketsPerLength);
}

// The mean of the smallest and the largest value of the bucket.
double MiddleOf(size_t bucket) {
  if (bucket < kExactValues) return static_cast<double>(bucket);
  const uint64_t beyond = bucket - kExactValues;
  const auto dropped = static_cast<int>(beyond / kBucketsPerLength + 1);
  const uint64_t leading = beyond % kBucketsPerLength + kBucketsPerLength;
  return std::ldexp(static_cast<double>(leading), dropped) + 0.5 * (std::ldexp(1.0, dropped) - 1.0);
}

}  // namespace

void LogHistogram::Add(int64_t value) {
  value = std::max<int64_t>(value, 0);
  const size_t bucket = BucketOf(value);
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1, 0);
  ++buckets_[bucket];
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = std::max(max_, value);
  sum_ += static_cast<double>(value);
  ++count_;
}

void LogHistogram::Merge(const LogHistogram& other) {
  if (other.count_ == 0) return;
  if (other.buckets_.size() > buckets_.size()) buckets_.resize(other.buckets_.size(), 0);
  for (size_t i = 0; i < other.buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
  count_ += other.count_;
}

double LogHistogram::Percentile(double percent) const {
  if (count_ == 0) return std::numeric_limits<double>::quiet_NaN();
  const auto count = static_cast<double>(count_);
  // As in NearestRank: only an exact multiple needs guarding against the product's rounding.
  const double rank = std::clamp(std::ceil(percent * count / 100.0 - 1e-9), 1.0, count);
  uint64_t left = static_cast<uint64_t>(rank);
  size_t bucket = 0;
  while (buckets_[bucket] < left) left -= buckets_[bucket++];
  return std::clamp(MiddleOf(bucket), static_cast<double>(min_), static_cast<double>(max_));
}

Summary LogHistogram::Summarized(double unit) const {
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  Summary summary;
  summary.count = count_;
  summary.mean = count_ == 0 ? nothing : sum_ / static_cast<double>(count_) / unit;
  summary.p50 = Percentile(50.0) / unit;
  summary.p95 = Percentile(95.0) / unit;
  summary.p99 = Percentile(99.0) / unit;
  summary.max = count_ == 0 ? nothing : static_cast<double>(max_) / unit;
  return summary;
}

}  // namespace voxloc::cli
