// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/summary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace voxloc {
namespace {

// The definition, word for word: the smallest value that at least `percent` of the values do not
// exceed. Counts in whole numbers.
double NaivePercentile(const std::vector<double>& values, size_t percent) {
  double smallest = std::numeric_limits<double>::infinity();
  for (const double candidate : values) {
    size_t not_above = 0;
    for (const double value : values) not_above += value <= candidate ? 1 : 0;
    if (100 * not_above >= percent * values.size()) smallest = std::min(smallest, candidate);
  }
  return smallest;
}

TEST(Summary, PercentilesFollowTheDefinition) {
  std::mt19937_64 random(7);
  std::uniform_int_distribution<int> value(-20, 60);  // few values, so that some are equal
  for (size_t count = 1; count <= 230; ++count) {
    std::vector<double> values;
    for (size_t i = 0; i < count; ++i) values.push_back(0.25 * value(random));
    const Summary d = Summarize(values);
    ASSERT_EQ(d.count, count);
    ASSERT_EQ(d.p50, NaivePercentile(values, 50)) << count;
    ASSERT_EQ(d.p95, NaivePercentile(values, 95)) << count;
    ASSERT_EQ(d.p99, NaivePercentile(values, 99)) << count;
    ASSERT_EQ(d.max, *std::max_element(values.begin(), values.end()));
    double sum = 0.0;
    for (const double v : values) sum += v;
    ASSERT_NEAR(d.mean, sum / static_cast<double>(count), 1e-12);
  }
}

TEST(Summary, NothingHasNoSummary) {
  const Summary d = Summarize({});
  EXPECT_EQ(d.count, 0u);
  EXPECT_TRUE(std::isnan(d.mean));
  EXPECT_TRUE(std::isnan(d.p50));
  EXPECT_TRUE(std::isnan(d.max));
}

}  // namespace
}  // namespace voxloc
