// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "core/cloud/filters.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/cloud/io/cloud_bytes.h"

namespace voxloc {
namespace {

PointCloud Numbered(size_t count) {
  PointCloud cloud;
  for (size_t i = 0; i < count; ++i) {
    cloud.PushBack(static_cast<float>(i), static_cast<float>(2 * i), static_cast<float>(3 * i));
    cloud.intensity.push_back(static_cast<float>(4 * i));
  }
  return cloud;
}

TEST(RandomSampleTest, TakesDistinctPointsInTheirOrder) {
  const PointCloud cloud = Numbered(1000);
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const size_t wanted = 1 + seed * 9;
    const PointCloud sample = RandomSample(cloud, wanted, seed);
    ASSERT_EQ(sample.size(), wanted);
    for (size_t i = 0; i < sample.size(); ++i) {
      ASSERT_TRUE(i == 0 || sample.x[i - 1] < sample.x[i]) << i;
      ASSERT_EQ(sample.y[i], 2.0F * sample.x[i]);
      ASSERT_EQ(sample.z[i], 3.0F * sample.x[i]);
      ASSERT_EQ(sample.intensity[i], 4.0F * sample.x[i]);
    }
  }
}

TEST(RandomSampleTest, AskingForAllOrMoreGivesAll) {
  const PointCloud cloud = Numbered(20);
  for (const size_t wanted : std::vector<size_t>{0, 20, 21, 1000}) {
    EXPECT_TRUE(SameBits(RandomSample(cloud, wanted, 1), cloud)) << wanted;
  }
  EXPECT_TRUE(RandomSample(PointCloud(), 5, 1).empty());
}

// All 10 pairs out of five points come up, and about equally often.
TEST(RandomSampleTest, EverySubsetIsEquallyLikely) {
  const PointCloud cloud = Numbered(5);
  std::map<std::vector<float>, int> seen;
  constexpr int kDraws = 20000;
  for (uint64_t seed = 0; seed < kDraws; ++seed) ++seen[RandomSample(cloud, 2, seed).x];
  ASSERT_EQ(seen.size(), 10u);
  double chi_squared = 0.0;
  for (const auto& [subset, count] : seen) {
    const double expected = kDraws / 10.0;
    chi_squared += (count - expected) * (count - expected) / expected;
  }
  EXPECT_LT(chi_squared, 27.9);  // 9 degrees of freedom, one in a thousand
}

// The first five numbers of the 64-bit Mersenne twister with the seed 5489, as its authors publish
// them; each picks one of the first 6, 7, 8, 9, 10 points, or the last of them where that is taken.
TEST(RandomSampleTest, TheChoiceIsTheSameOnEveryPlatform) {
  const std::vector<uint64_t> draws = {14514284786278117030U, 4620546740167642908U,
                                       13109570281517897720U, 17462938647148434322U,
                                       355488278567739596U};
  std::vector<float> expected;
  for (uint64_t i = 0; i < draws.size(); ++i) {
    const float pick = static_cast<float>(draws[i] % (6 + i));
    const bool taken = std::find(expected.begin(), expected.end(), pick) != expected.end();
    expected.push_back(taken ? static_cast<float>(5 + i) : pick);
  }
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(RandomSample(Numbered(10), 5, 5489).x, expected);
}

}  // namespace
}  // namespace voxloc
