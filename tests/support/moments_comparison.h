// SPDX-License-Identifier: Apache-2.0
//
// The moments of two tiles, to the bit.

#ifndef VOXLOC_TESTS_SUPPORT_MOMENTS_COMPARISON_H_
#define VOXLOC_TESTS_SUPPORT_MOMENTS_COMPARISON_H_

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "core/map/tile_moments.h"

namespace voxloc {

template <typename T>
bool SameBytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

inline void ExpectSameMoments(const TileMoments& a, const TileMoments& b) {
  EXPECT_EQ(a.cell_size_m, b.cell_size_m);
  EXPECT_EQ(a.origin, b.origin);
  EXPECT_EQ(a.points, b.points);
  EXPECT_EQ(a.not_finite, b.not_finite);
  EXPECT_TRUE(SameBytes(a.blocks, b.blocks));
  EXPECT_TRUE(SameBytes(a.places, b.places));
  EXPECT_TRUE(SameBytes(a.moments, b.moments));
  EXPECT_TRUE(SameBytes(a.float_sums, b.float_sums));
}

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_MOMENTS_COMPARISON_H_
