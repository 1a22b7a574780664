// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "clients/cli/load_test/tally.h"

namespace voxloc::cli {
namespace {

// Times in nanoseconds from microseconds to minutes.
std::vector<int64_t> RandomTimes(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> distribution(14.0, 3.0);
  std::vector<int64_t> times(count);
  for (int64_t& time : times) time = static_cast<int64_t>(distribution(random));
  return times;
}

LogHistogram HistogramOf(const std::vector<int64_t>& values) {
  LogHistogram histogram;
  for (const int64_t value : values) histogram.Add(value);
  return histogram;
}

TEST(LogHistogram, PercentilesAreThoseOfTheSortedSamplesWithinTheStatedError) {
  for (const size_t count : {1u, 2u, 3u, 100u, 9973u}) {
    const std::vector<int64_t> times = RandomTimes(count, count);
    const LogHistogram histogram = HistogramOf(times);
    std::vector<double> sorted(times.begin(), times.end());
    std::sort(sorted.begin(), sorted.end());
    for (const double percent : {0.0, 1.0, 25.0, 50.0, 90.0, 95.0, 99.0, 99.9, 100.0}) {
      const double exact = NearestRank(sorted, percent);
      EXPECT_NEAR(histogram.Percentile(percent), exact, exact / 128.0)
          << percent << " % of " << count;
    }
    const Summary summary = histogram.Summarized(1e6);
    EXPECT_EQ(summary.count, count);
    EXPECT_EQ(summary.max, sorted.back() / 1e6);
    EXPECT_NEAR(
        summary.mean,
        std::accumulate(sorted.begin(), sorted.end(), 0.0) / 1e6 / static_cast<double>(count),
        1e-9 * summary.mean);
  }
}

TEST(LogHistogram, SmallWholeNumbersAreExact) {
  LogHistogram histogram;
  for (int64_t value = 0; value <= 100; ++value) histogram.Add(value);
  EXPECT_EQ(histogram.Percentile(50.0), 50.0);
  EXPECT_EQ(histogram.Percentile(99.0), 99.0);
}

TEST(LogHistogram, TakesTheWholeRangeOfTimes) {
  for (int bits = 0; bits < 63; ++bits) {
    for (const int64_t value : {int64_t{1} << bits, (int64_t{1} << bits) - 1}) {
      LogHistogram histogram;
      histogram.Add(0);
      histogram.Add(value);
      histogram.Add(std::numeric_limits<int64_t>::max());
      const auto exact = static_cast<double>(value);
      EXPECT_NEAR(histogram.Percentile(50.0), exact, exact / 128.0) << value;
    }
  }
  EXPECT_EQ(HistogramOf({-5}).Percentile(50.0), 0.0);
}

TEST(LogHistogram, IsNotANumberWhereItIsEmpty) {
  const LogHistogram histogram;
  EXPECT_TRUE(std::isnan(histogram.Percentile(50.0)));
  EXPECT_TRUE(std::isnan(histogram.Summarized(1.0).mean));
  EXPECT_TRUE(std::isnan(histogram.Summarized(1.0).max));
}

TEST(LogHistogram, SumsAreThoseOfAllSamples) {
  std::vector<int64_t> all = RandomTimes(500, 1);
  const std::vector<int64_t> second = RandomTimes(1300, 2);
  LogHistogram sum = HistogramOf(all);
  sum.Merge(HistogramOf(second));
  sum.Merge(LogHistogram());
  LogHistogram from_nothing;
  from_nothing.Merge(sum);
  all.insert(all.end(), second.begin(), second.end());
  const LogHistogram together = HistogramOf(all);
  for (const double percent : {0.0, 50.0, 99.0, 100.0}) {
    EXPECT_EQ(sum.Percentile(percent), together.Percentile(percent));
    EXPECT_EQ(from_nothing.Percentile(percent), together.Percentile(percent));
  }
  EXPECT_EQ(sum.count(), together.count());
}

}  // namespace
}  // namespace voxloc::cli
