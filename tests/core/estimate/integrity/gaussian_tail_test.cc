// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>

#include "core/estimate/integrity/protection_levels.h"

namespace voxloc {
namespace {

TEST(GaussianTailTest, HasTheTabulatedValues) {
  // Tables of the normal distribution.
  EXPECT_NEAR(UpperTail(0.0), 0.5, 1e-15);
  EXPECT_NEAR(UpperTail(1.0), 0.158655253931, 1e-12);
  EXPECT_NEAR(UpperTail(3.0), 1.349898032e-3, 1e-12);
  EXPECT_NEAR(UpperTail(-2.0), 1.0 - 0.0227501319482, 1e-12);
  EXPECT_NEAR(UpperTail(6.0), 9.865876450e-10, 1e-18);
  EXPECT_NEAR(UpperTailQuantile(0.025), 1.959963984540, 1e-11);
  EXPECT_NEAR(UpperTailQuantile(2.5e-4), 3.480756404, 1e-8);
  EXPECT_NEAR(UpperTailQuantile(1e-9), 5.997807015, 1e-8);
}

TEST(GaussianTailTest, TheQuantileIsTheTailsInverse) {
  for (double probability = 0.5; probability > 1e-30; probability *= 0.3) {
    const double x = UpperTailQuantile(probability);
    EXPECT_NEAR(UpperTail(x) / probability, 1.0, 1e-12) << probability;
  }
}

}  // namespace
}  // namespace voxloc
