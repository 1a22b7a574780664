// SPDX-License-Identifier: Apache-2.0

#include "server/maps/moments/moments_key.h"

#include <gtest/gtest.h>

#include "core/engine/profile.h"

namespace voxloc::server {
namespace {

CellStatistics WithCells(double cell_size_m, bool float_index) {
  CellStatistics statistics;
  statistics.cell_size_m = cell_size_m;
  statistics.float_index = float_index;
  statistics.merge_tiles = !float_index;
  return statistics;
}

TEST(MomentsKey, NamesEachLatticeOnce) {
  EXPECT_EQ(LatticesText({WithCells(2.0, false), WithCells(0.5, false), WithCells(2.0, true)}),
            "0.5,2f");
  EXPECT_EQ(LatticesText({WithCells(2.0, true), WithCells(2.0, false), WithCells(0.5, false)}),
            "0.5,2f");
}

TEST(MomentsKey, IgnoresWhatBecomesOfMomentsAfterwards) {
  CellStatistics other = WithCells(2.0, false);
  other.gaussian.min_points = 9;
  other.gaussian.eigenvalue_ratio = 0.5;
  other.merge_tiles = false;
  EXPECT_EQ(LatticesText({other}), LatticesText({WithCells(2.0, false)}));
}

TEST(MomentsKey, TellsCellSizesApartThatPrintAlike) {
  const double size = 1.1;
  EXPECT_NE(LatticesText({WithCells(size, false)}),
            LatticesText({WithCells(std::nextafter(size, 2.0), false)}));
}

}  // namespace
}  // namespace voxloc::server
