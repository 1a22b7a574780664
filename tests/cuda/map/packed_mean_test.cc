// SPDX-License-Identifier: Apache-2.0

#include "cuda/map/packed_mean.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace voxloc::cuda {
namespace {

// As kernels compute a position.
float PositionOf(float fraction, const MeanRange& range) {
  return std::fma(fraction, range.span_m, range.origin_m);
}

TEST(PackedMeanTest, IsWithinHalfAStepOfTheMean) {
  std::mt19937 random(7);
  for (const float size_m : {0.5F, 1.0F, 1.3F, 2.0F, 7.7F}) {
    const MeanRange range = MeanRangeOf(size_m);
    const double tolerance_m = (0.5 * 1.25 / (1 << 21) + 3e-7) * static_cast<double>(size_m);
    std::uniform_real_distribution<float> place(-0.1249F * size_m, 1.1249F * size_m);
    for (int i = 0; i < 10000; ++i) {
      const float mean[3] = {place(random), place(random), place(random)};
      const PackedMean packed = PackMean(mean, range);
      ASSERT_FALSE(packed.IsOutside());
      const MeanFractions u = FractionsOf(packed);
      ASSERT_NEAR(PositionOf(u.x, range), mean[0], tolerance_m);
      ASSERT_NEAR(PositionOf(u.y, range), mean[1], tolerance_m);
      ASSERT_NEAR(PositionOf(u.z, range), mean[2], tolerance_m);
    }
  }
}

TEST(PackedMeanTest, HoldsTheFirstAndTheLastStep) {
  const MeanRange range = MeanRangeOf(2.0F);
  const float step_m = 2.5F / (1 << 21);
  const float ends[3] = {-0.25F, 2.25F - step_m, 2.25F - step_m};
  const PackedMean packed = PackMean(ends, range);
  ASSERT_FALSE(packed.IsOutside());
  EXPECT_EQ(packed.low, 0xffe00000U);
  EXPECT_EQ(packed.high, 0x7fffffffU);
  const MeanFractions u = FractionsOf(packed);
  EXPECT_EQ(u.x, 1.0F);
  EXPECT_EQ(u.y, 2.0F - 0x1p-21F);
  EXPECT_EQ(u.z, 2.0F - 0x1p-21F);
}

TEST(PackedMeanTest, SaysWhereItCannotHoldAMean) {
  const MeanRange range = MeanRangeOf(2.0F);
  for (int axis = 0; axis < 3; ++axis) {
    for (const float outside : {-0.2501F, 2.2501F, -1e30F, 1e30F, std::nanf("")}) {
      float mean[3] = {1.0F, 1.0F, 1.0F};
      mean[axis] = outside;
      EXPECT_TRUE(PackMean(mean, range).IsOutside()) << outside;
    }
  }
}

}  // namespace
}  // namespace voxloc::cuda
