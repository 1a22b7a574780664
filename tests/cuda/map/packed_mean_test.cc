// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "cuda/map/cell_blocks.h"

namespace voxloc::cuda {
namespace {

// As kernels compute a position.
float PositionOf(float fraction, float index, float size_m, const MeanRange& range) {
  return std::fma(CoarsePlace(index / size_m), size_m,
                  std::fma(fraction, range.span_m, range.origin_m));
}

TEST(CoarsePlaceTest, IsTheNearestThousandthThatStaysInTheCell) {
  for (const float index : {0.0F, 0.2F, 0.4999F, 0.73F, 0.9989F}) {
    const float coarse = CoarsePlace(index);
    EXPECT_NEAR(coarse, index, 0x1p-11) << index;
    EXPECT_EQ(std::round(coarse * 1024.0F), coarse * 1024.0F) << index;
  }
  EXPECT_EQ(CoarsePlace(std::nextafter(1.0F, 0.0F)), 1.0F - 0x1p-10F);
  EXPECT_EQ(CoarsePlace(1.0F), 1.0F - 0x1p-10F);
  EXPECT_EQ(CoarsePlace(-1e-7F), 0.0F);
}

TEST(PackedMeanTest, IsWithinHalfAStepOfTheMean) {
  std::mt19937 random(7);
  for (const float size_m : {0.5F, 1.0F, 1.3F, 2.0F, 7.7F}) {
    const MeanRange range = MeanRangeOf(size_m, false);
    const double tolerance_m = (0x1p-25 + 3e-7) * static_cast<double>(size_m);
    std::uniform_real_distribution<float> place(0.0F, size_m);
    std::uniform_real_distribution<float> stray(-0.06F * size_m, 0.06F * size_m);
    for (int i = 0; i < 10000; ++i) {
      const float index[3] = {place(random), place(random), place(random)};
      const float mean[3] = {index[0] + stray(random), index[1] + stray(random),
                             index[2] + stray(random)};
      const PackedMean packed = PackMean(mean, index, size_m, range);
      ASSERT_FALSE(packed.IsOutside());
      const MeanFractions u = FractionsOf(packed);
      ASSERT_NEAR(PositionOf(u.x, index[0], size_m, range), mean[0], tolerance_m);
      ASSERT_NEAR(PositionOf(u.y, index[1], size_m, range), mean[1], tolerance_m);
      ASSERT_NEAR(PositionOf(u.z, index[2], size_m, range), mean[2], tolerance_m);
    }
  }
}

TEST(PackedMeanTest, LosesNothingOfAnIndexPosition) {
  std::mt19937 random(8);
  for (const float size_m : {0.5F, 2.0F, 8.0F}) {
    const MeanRange range = MeanRangeOf(size_m, true);
    std::uniform_real_distribution<float> place(0.01F * size_m, size_m);
    for (int i = 0; i < 10000; ++i) {
      const float index[3] = {place(random), place(random), place(random)};
      const PackedMean packed = PackMean(index, index, size_m, range);
      ASSERT_FALSE(packed.IsOutside());
      const MeanFractions u = FractionsOf(packed);
      ASSERT_EQ(PositionOf(u.x, index[0], size_m, range), index[0]);
      ASSERT_EQ(PositionOf(u.y, index[1], size_m, range), index[1]);
      ASSERT_EQ(PositionOf(u.z, index[2], size_m, range), index[2]);
    }
  }
}

TEST(PackedMeanTest, HoldsTheFirstAndTheLastStep) {
  const float index[3] = {1.0F, 1.0F, 1.0F};
  const float last = 1.125F - 0x1p-23F;  // a step of a cell of 2 m
  const float ends[3] = {0.875F, last, last};
  const PackedMean packed = PackMean(ends, index, 2.0F, MeanRangeOf(2.0F, false));
  ASSERT_FALSE(packed.IsOutside());
  EXPECT_EQ(packed.low, 0xffe00000U);
  EXPECT_EQ(packed.high, 0x7fffffffU);
  const MeanFractions u = FractionsOf(packed);
  EXPECT_EQ(u.x, 1.0F);
  EXPECT_EQ(u.y, 2.0F - 0x1p-21F);
  EXPECT_EQ(u.z, 2.0F - 0x1p-21F);
}

TEST(PackedMeanTest, SaysWhereItCannotHoldAMean) {
  const float index[3] = {1.0F, 1.0F, 1.0F};
  for (int axis = 0; axis < 3; ++axis) {
    for (const float outside : {0.8749F, 1.1251F, -1e30F, 1e30F, std::nanf("")}) {
      float mean[3] = {1.0F, 1.0F, 1.0F};
      mean[axis] = outside;
      EXPECT_TRUE(PackMean(mean, index, 2.0F, MeanRangeOf(2.0F, false)).IsOutside()) << outside;
    }
  }
}

}  // namespace
}  // namespace voxloc::cuda
