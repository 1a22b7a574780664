// SPDX-License-Identifier: Apache-2.0

#include "core/map/lattice.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

TEST(LatticeTest, ACellCoversItsLowBorderAndNotItsHighOne) {
  const struct {
    double coordinate_m;
    int32_t index;
  } rows[] = {{0.0, 0},     {1.999, 0}, {2.0, 1},       {-1e-9, -1},     {-2.0, -1},
              {-2.001, -2}, {-0.5, -1}, {4e6, 2000000}, {-4e6, -2000000}};
  for (const auto& row : rows) {
    EXPECT_EQ(CellIndex(row.coordinate_m, 0.5), row.index) << row.coordinate_m;
  }
}

TEST(LatticeTest, PointsLieWithinTheirCells) {
  RandomNumbers random(41);
  for (const double size : {0.1, 0.5, 2.0, 3.7}) {
    for (int i = 0; i < 500; ++i) {
      const Eigen::Vector3d point = random.InBox(1000.0);
      const CellKey key = CellOf(point, size);
      const Eigen::Vector3d corner = CellCorner(key, size);
      EXPECT_TRUE(((point - corner).array() >= -1e-9).all());
      EXPECT_TRUE(((point - corner).array() <= size + 1e-9).all());
      EXPECT_LE((CellCentre(key, size) - corner - Eigen::Vector3d::Constant(0.5 * size)).norm(),
                1e-9);
    }
  }
}

TEST(LatticeTest, ABlockAndAPlaceNameOneCell) {
  RandomNumbers random(42);
  for (int i = 0; i < 2000; ++i) {
    const Eigen::Vector3d at = random.InBox(1e8);
    const CellKey cell = {static_cast<int32_t>(at.x()), static_cast<int32_t>(at.y()),
                          static_cast<int32_t>(at.z())};
    EXPECT_TRUE(CellAt(BlockOf(cell), PlaceInBlock(cell)) == cell);
    EXPECT_LT(PlaceInBlock(cell), static_cast<uint32_t>(kBlockCells));
  }
  const CellKey block = {-3, 0, 5};
  std::set<uint32_t> places;
  for (uint32_t place = 0; place < kBlockCells; ++place) {
    const CellKey cell = CellAt(block, place);
    EXPECT_TRUE(BlockOf(cell) == block);
    places.insert(PlaceInBlock(cell));
  }
  EXPECT_EQ(places.size(), static_cast<size_t>(kBlockCells));
}

TEST(LatticeTest, PlacesRunAlongXFirst) {
  EXPECT_EQ(PlaceInBlock({1, 0, 0}), 1u);
  EXPECT_EQ(PlaceInBlock({0, 1, 0}), 8u);
  EXPECT_EQ(PlaceInBlock({0, 0, 1}), 64u);
  EXPECT_EQ(PlaceInBlock({-1, -1, -1}), 511u);
}

TEST(LatticeTest, KeysAreOrderedByZThenYThenX) {
  EXPECT_TRUE((CellKey{9, 9, 0} < CellKey{0, 0, 1}));
  EXPECT_TRUE((CellKey{9, 0, 0} < CellKey{0, 1, 0}));
  EXPECT_TRUE((CellKey{0, 0, 0} < CellKey{1, 0, 0}));
  EXPECT_FALSE((CellKey{1, 2, 3} < CellKey{1, 2, 3}));
  EXPECT_TRUE((CellKey{-1, 0, 0} < CellKey{0, 0, 0}));
}

}  // namespace
}  // namespace voxloc
