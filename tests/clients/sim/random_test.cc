// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/random.h"

#include <gtest/gtest.h>

#include <set>

namespace voxloc::sim {
namespace {

TEST(RandomTest, StreamsAreReproducibleAndDistinct) {
  std::set<uint64_t> firsts;
  for (uint64_t a = 0; a < 20; ++a) {
    for (uint64_t b = 0; b < 20; ++b) {
      for (uint64_t c = 0; c < 20; ++c) firsts.insert(Random(1, a, b, c).Next());
    }
  }
  EXPECT_EQ(firsts.size(), 8000U);
  EXPECT_EQ(Random(1, 2, 3).Next(), Random(1, 2, 3).Next());
}

TEST(RandomTest, UniformFillsItsRange) {
  Random random(1);
  double sum = 0.0;
  double low = 1.0;
  double high = 0.0;
  for (int i = 0; i < 100000; ++i) {
    const double value = random.Uniform();
    sum += value;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  EXPECT_GE(low, 0.0);
  EXPECT_LT(high, 1.0);
  EXPECT_LT(low, 1e-3);
  EXPECT_GT(high, 1.0 - 1e-3);
  EXPECT_NEAR(sum / 1e5, 0.5, 5e-3);
}

TEST(RandomTest, UniformIntReachesBothEnds) {
  Random random(2);
  std::set<int> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random.UniformInt(-1, 2));
  EXPECT_EQ(seen, (std::set<int>{-1, 0, 1, 2}));
}

TEST(RandomTest, NormalHasItsMomentsAlsoAcrossStreams) {
  double sum = 0.0;
  double squares = 0.0;
  double fourth = 0.0;
  constexpr int kCount = 200000;
  for (int i = 0; i < kCount; ++i) {
    const double value = Random(3, static_cast<uint64_t>(i)).Normal(2.0);
    sum += value;
    squares += value * value;
    fourth += value * value * value * value;
  }
  EXPECT_NEAR(sum / kCount, 0.0, 0.02);
  EXPECT_NEAR(squares / kCount, 4.0, 0.06);
  EXPECT_NEAR(fourth / kCount / 16.0, 3.0, 0.15);
}

}  // namespace
}  // namespace voxloc::sim
