// SPDX-License-Identifier: Apache-2.0
//
// Floats as whole numbers of the same order.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "cuda/cloud/scan_filter_kernels.h"

namespace voxloc::cuda {
namespace {

uint32_t Bits(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

TEST(OrderedBitsTest, TheyAscendWithTheFloatsAndLeadBackToThem) {
  using Limits = std::numeric_limits<float>;
  const std::vector<float> ascending = {-Limits::max(), -1e10F,         -1.5F,
                                        -1.0F,          -Limits::min(), -Limits::denorm_min(),
                                        -0.0F,          0.0F,           Limits::denorm_min(),
                                        Limits::min(),  1.0F,           std::nextafter(1.0F, 2.0F),
                                        3.25e7F,        Limits::max()};
  for (size_t i = 0; i < ascending.size(); ++i) {
    const uint32_t bits = Bits(ascending[i]);
    EXPECT_EQ(FloatBits(OrderedBits(bits)), bits) << ascending[i];
    // Zero stands for no value at all, in either direction.
    EXPECT_NE(OrderedBits(bits), 0U);
    EXPECT_NE(~OrderedBits(bits), 0U);
    if (i == 0) continue;
    EXPECT_LT(OrderedBits(Bits(ascending[i - 1])), OrderedBits(bits)) << ascending[i];
  }
}

}  // namespace
}  // namespace voxloc::cuda
