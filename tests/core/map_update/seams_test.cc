// SPDX-License-Identifier: Apache-2.0
//
// The measure of seams itself, which benchmarks and tests of proposals go by.

#include "tests/support/seams.h"

#include <gtest/gtest.h>

#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

// A floor and a wall along x, of the tile from `from_x` to 20 m farther, moved by (0, y, z).
PointCloud FloorAndWall(double from_x, double move_y, double move_z) {
  RandomNumbers random(static_cast<uint64_t>(from_x + 100.0));
  PointCloud cloud;
  const auto add = [&](double x, double y, double z) {
    const Eigen::Vector3d noise = 0.01 * random.NormalVector();
    cloud.PushBack(static_cast<float>(x), static_cast<float>(y + move_y + noise.y()),
                   static_cast<float>(z + move_z + noise.z()));
  };
  for (double x = from_x + 0.1; x < from_x + 20.0; x += 0.2) {
    for (double y = 0.1; y < 20.0; y += 0.2) add(x, y, 0.5);
    for (double z = 2.3; z < 5.7; z += 0.2) add(x, 5.0, z);
  }
  return cloud;
}

TEST(SeamsTest, AreTheOffsetsOfPlanesThatCrossTheBorder) {
  for (const double step_m : {0.0, 0.05}) {
    const std::vector<double> floors =
        SeamOffsets(FloorAndWall(0.0, 0.0, 0.0), FloorAndWall(20.0, 0.0, step_m));
    ASSERT_GE(floors.size(), 8U);
    size_t moved = 0;
    for (const double offset : floors) moved += std::abs(offset - step_m) < 0.01 ? 1U : 0U;
    EXPECT_GE(moved + 2, floors.size());  // the wall's two patches do not move with z
  }
  const std::vector<double> walls =
      SeamOffsets(FloorAndWall(20.0, 0.08, 0.0), FloorAndWall(0.0, 0.0, 0.0));
  size_t moved = 0;
  for (const double offset : walls) moved += std::abs(offset - 0.08) < 0.01 ? 1U : 0U;
  EXPECT_GE(moved, 1U);
}

TEST(SeamsTest, AreNoneOfTilesThatAreNoNeighbours) {
  EXPECT_TRUE(SeamOffsets(FloorAndWall(0.0, 0.0, 0.0), FloorAndWall(40.0, 0.0, 0.0)).empty());
  EXPECT_TRUE(SeamOffsets(FloorAndWall(0.0, 0.0, 0.0), {}).empty());
}

}  // namespace
}  // namespace voxloc
