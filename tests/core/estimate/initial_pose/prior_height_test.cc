// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <vector>

#include "core/estimate/initial_pose/prior_search.h"

namespace voxloc {
namespace {

// A cell of 2 m; one of a wall stands as high as it is wide.
MapCell CellAt(int64_t x, int64_t y, double z_m, bool wall = false) {
  MapCell cell;
  cell.key.x = static_cast<int32_t>(x);
  cell.key.y = static_cast<int32_t>(y);
  cell.mean = {2.0 * static_cast<double>(x), 2.0 * static_cast<double>(y), z_m};
  cell.covariance.xx = cell.covariance.yy = 0.3;
  cell.covariance.zz = wall ? 0.3 : 0.01;
  return cell;
}

// Ground at `z_m` that rises by 0.2 m a cell along x, between walls of 10 m.
std::vector<MapCell> Street(double z_m) {
  std::vector<MapCell> cells;
  for (int x = -3; x <= 3; ++x) {
    for (int y = -3; y <= 3; ++y) cells.push_back(CellAt(x, y, z_m + 0.2 * x));
    for (int up = 0; up < 5; ++up) cells.push_back(CellAt(x, 4, z_m + 1.0 + 2.0 * up, true));
  }
  return cells;
}

// A base `height_m` over its ground.
PointCloud ScanOf(float height_m) {
  PointCloud scan;
  for (int i = 0; i < 100; ++i) scan.PushBack(static_cast<float>(i), 0.0F, -height_m);
  for (int i = 0; i < 100; ++i) scan.PushBack(static_cast<float>(i), 9.0F, 3.0F);
  return scan;
}

PriorSearchOptions PriorAt(double z_m, double sigma_m) {
  PriorSearchOptions prior;
  prior.map_T_base.translation.z() = z_m;
  prior.covariance = Matrix6::Identity();
  prior.covariance(2, 2) = sigma_m * sigma_m;
  return prior;
}

TEST(PriorHeight, APriorOffTheSurfaceGetsItsHeight) {
  for (const float over_ground_m : {0.0F, 1.8F}) {
    for (const double z_m : {0.0, 100.0}) {
      const auto height =
          HeightOnSurface(Street(40.0), 2.0, ScanOf(over_ground_m), PriorAt(z_m, 0.5));
      ASSERT_TRUE(height.has_value());
      EXPECT_NEAR(height->z_m, 40.0 + static_cast<double>(over_ground_m), 1e-6);
      EXPECT_GE(height->sigma_m, 0.5);
      EXPECT_LE(height->sigma_m, 1.5);
    }
  }
}

TEST(PriorHeight, WallsAreNoSurface) {
  // 8 m over the ground, beside walls of that height.
  const auto height = HeightOnSurface(Street(40.0), 2.0, ScanOf(0.0F), PriorAt(48.0, 0.2));
  ASSERT_TRUE(height.has_value());
  EXPECT_NEAR(height->z_m, 40.0, 1e-6);
}

TEST(PriorHeight, OneThatFitsStays) {
  EXPECT_FALSE(HeightOnSurface(Street(40.0), 2.0, ScanOf(0.0F), PriorAt(40.5, 0.5)).has_value());
  EXPECT_FALSE(HeightOnSurface(Street(40.0), 2.0, ScanOf(1.8F), PriorAt(41.8, 0.1)).has_value());
  // Uncertain enough to reach the ground by itself.
  EXPECT_FALSE(HeightOnSurface(Street(40.0), 2.0, ScanOf(0.0F), PriorAt(0.0, 20.0)).has_value());
  // The upper of two floors is one of the map's.
  std::vector<MapCell> floors = Street(40.0);
  for (const MapCell& cell : Street(50.0)) floors.push_back(cell);
  EXPECT_FALSE(HeightOnSurface(floors, 2.0, ScanOf(0.0F), PriorAt(50.0, 0.5)).has_value());
  EXPECT_NEAR(HeightOnSurface(floors, 2.0, ScanOf(0.0F), PriorAt(0.0, 0.5))->z_m, 40.0, 1e-6);
}

TEST(PriorHeight, WithoutASurfaceThereIsNone) {
  EXPECT_FALSE(HeightOnSurface({}, 2.0, ScanOf(0.0F), PriorAt(0.0, 0.5)).has_value());
  EXPECT_FALSE(HeightOnSurface({CellAt(0, 0, 40.0, true)}, 2.0, ScanOf(0.0F), PriorAt(0.0, 0.5))
                   .has_value());
  EXPECT_NEAR(HeightOnSurface({CellAt(0, 0, 40.0)}, 2.0, PointCloud(), PriorAt(0.0, 0.5))->z_m,
              40.0, 1e-9);
}

}  // namespace
}  // namespace voxloc
