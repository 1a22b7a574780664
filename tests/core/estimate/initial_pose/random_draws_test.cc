// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/estimate/initial_pose/prior_search.h"

namespace voxloc {
namespace {

constexpr int kDraws = 20'000;

// Largest distance between the draws' distribution and `cdf`, times the root of their number: over
// 1.95 once in a thousand samples (Kolmogorov).
template <typename Cdf>
double KolmogorovStatistic(std::vector<double> draws, const Cdf& cdf) {
  std::sort(draws.begin(), draws.end());
  const double n = static_cast<double>(draws.size());
  double largest = 0.0;
  for (size_t i = 0; i < draws.size(); ++i) {
    const double expected = cdf(draws[i]);
    largest = std::max({largest, expected - static_cast<double>(i) / n,
                        static_cast<double>(i + 1) / n - expected});
  }
  return largest * std::sqrt(n);
}

TEST(RandomDrawsTest, UniformDrawsAreEvenAndStayBelowTheUpperEnd) {
  RandomDraws random(5);
  std::vector<double> draws;
  for (int i = 0; i < kDraws; ++i) draws.push_back(random.Uniform(-M_PI, M_PI));
  EXPECT_GE(*std::min_element(draws.begin(), draws.end()), -M_PI);
  EXPECT_LT(*std::max_element(draws.begin(), draws.end()), M_PI);
  EXPECT_LT(KolmogorovStatistic(draws, [](double x) { return (x + M_PI) / (2.0 * M_PI); }), 1.95);
}

TEST(RandomDrawsTest, NormalDrawsFollowTheNormalDistribution) {
  RandomDraws random(6);
  std::vector<double> draws;
  for (int i = 0; i < kDraws; ++i) draws.push_back(random.Normal(3.0, 0.5));
  EXPECT_LT(KolmogorovStatistic(
                draws, [](double x) { return 0.5 * std::erfc((3.0 - x) / 0.5 / std::sqrt(2.0)); }),
            1.95);
}

TEST(RandomDrawsTest, ASeedAlwaysGivesTheSame) {
  RandomDraws one(1);
  RandomDraws again(1);
  RandomDraws other(2);
  const double first = one.Normal(0.0, 1.0);
  EXPECT_EQ(again.Normal(0.0, 1.0), first);
  EXPECT_NE(other.Normal(0.0, 1.0), first);
  // The 10000th output of a generator that was seeded with 5489 is in the standard (rand.predef);
  // a uniform draw is its upper 53 bits.
  RandomDraws standard(5489);
  for (int i = 0; i < 9999; ++i) (void)standard.Uniform(0.0, 1.0);
  EXPECT_EQ(standard.Uniform(0.0, 1.0), std::ldexp(9981545732273789042ULL >> 11, -53));
}

}  // namespace
}  // namespace voxloc
