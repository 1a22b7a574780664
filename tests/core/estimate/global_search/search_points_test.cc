// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/global_search/search_points.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>
#include <vector>

#include "core/estimate/global_search/search_grid.h"
#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

// Ground all around and a wall 10 m ahead.
PointCloud GroundAndWall() {
  RandomNumbers random(3);
  PointCloud scan;
  for (int i = 0; i < 6000; ++i) {
    scan.PushBack(static_cast<float>(random.Uniform(-40.0, 40.0)),
                  static_cast<float>(random.Uniform(-40.0, 40.0)), -1.9F);
  }
  for (int i = 0; i < 3000; ++i) {
    scan.PushBack(10.0F, static_cast<float>(random.Uniform(-30.0, 30.0)),
                  static_cast<float>(random.Uniform(-1.9, 6.0)));
  }
  return scan;
}

TEST(SearchPointsTest, MostStandClearOfTheGround) {
  SearchPointOptions options;
  options.points = 100;
  options.ground_share = 0.2;
  const std::vector<Eigen::Vector3d> points = ChooseSearchPoints(GroundAndWall(), options);
  ASSERT_EQ(points.size(), 100u);
  size_t clear = 0;
  for (const Eigen::Vector3d& point : points) clear += point.z() > -0.9 ? 1 : 0;
  EXPECT_EQ(clear, 80u);
}

TEST(SearchPointsTest, GroundStandsInWhereNothingElseIs) {
  PointCloud scan;
  for (int i = 0; i < 400; ++i) {
    scan.PushBack(static_cast<float>(i % 20) - 10.0F, static_cast<float>(i / 20) - 10.0F, -1.9F);
  }
  SearchPointOptions options;
  options.points = 120;
  EXPECT_EQ(ChooseSearchPoints(scan, options).size(), 120u);
}

TEST(SearchPointsTest, PointsThatAreNotFiniteOrOutOfReachAreLeftOut) {
  PointCloud scan;
  scan.PushBack(NAN, 0.0F, 0.0F);
  scan.PushBack(500.0F, 0.0F, 0.0F);
  EXPECT_TRUE(ChooseSearchPoints(scan, SearchPointOptions()).empty());
  scan.PushBack(5.0F, 2.0F, 1.0F);
  EXPECT_EQ(ChooseSearchPoints(scan, SearchPointOptions()).size(), 1u);
}

TEST(SearchPointsTest, HeadingsFillTheirRangeInStepsOfAVoxel) {
  const std::vector<Eigen::Vector3d> points = {{30.0, 40.0, 2.0}, {1.0, 0.0, 0.0}};
  const Headings all = SpreadHeadings(points, 1.0, 0.3, M_PI);
  EXPECT_TRUE(all.full_turn);
  EXPECT_LE(all.step_rad * 50.0, 1.0);
  EXPECT_NEAR(all.step_rad * static_cast<double>(all.count), 2.0 * M_PI, 1e-12);
  const Headings some = SpreadHeadings(points, 1.0, 0.3, 0.1);
  EXPECT_FALSE(some.full_turn);
  EXPECT_GE(some.At(0), 0.2);
  EXPECT_LE(some.At(some.count - 1), 0.4);
  EXPECT_NEAR(0.5 * (some.At(0) + some.At(some.count - 1)), 0.3, 1e-12);
}

TEST(SearchPointsTest, VoxelsOfTurnedPointsAreThoseOfARotationFromAVoxelsMiddle) {
  RandomNumbers random(8);
  std::vector<Eigen::Vector3d> points;
  for (int i = 0; i < 50; ++i) points.push_back(random.InBox(30.0));
  const Headings headings = SpreadHeadings(points, 0.5, 1.0, M_PI);
  const auto scan = RotatePoints(points, headings, 0.5, 0.05, {0, 1, 3});
  ASSERT_EQ(scan->points.size(), headings.count * points.size());
  const CellKey sensor = {100, 200, 300};
  for (size_t h = 0; h < headings.count; h += 17) {
    const Eigen::AngleAxisd turn(headings.At(h), Eigen::Vector3d::UnitZ());
    for (size_t i = 0; i < points.size(); ++i) {
      const CellKey cell = CellOf(CellCentre(sensor, 0.5) + turn * points[i], 0.5);
      const BoundPoint& point = scan->points[h * points.size() + i];
      EXPECT_EQ(sensor.x + point.x, cell.x);
      EXPECT_EQ(sensor.y + point.y, cell.y);
      EXPECT_EQ(sensor.z + point.z, cell.z);
      // 5 % of 10 m are 1 voxel, half of which is the point's own.
      const double range_m = points[i].head<2>().norm();
      const double voxels = 0.05 * range_m / 0.5;
      if (std::abs(voxels - 0.5) < 0.01 || std::abs(voxels - 1.5) < 0.01) continue;
      EXPECT_EQ(point.blur_class, voxels < 0.5 ? 0 : voxels < 1.5 ? 1 : 2);
    }
  }
}

TEST(OccupiedVoxelsTest, AWallFillsTheVoxelsItGoesThroughAndNoOthers) {
  MapCell cell;
  // Uniform over 2 m along y and z, 1 cm thick, at x = 5.2.
  cell.mean = {5.2, 3.0, 1.0};
  cell.covariance.xx = 1e-4;
  cell.covariance.yy = 4.0 / 12.0;
  cell.covariance.zz = 4.0 / 12.0;
  std::vector<CellKey> voxels;
  AddOccupiedVoxels(cell, 1.0, voxels);
  EXPECT_GE(voxels.size(), 4u);
  for (const CellKey& voxel : voxels) {
    EXPECT_EQ(voxel.x, 5);
    EXPECT_TRUE(voxel.y == 2 || voxel.y == 3);
    EXPECT_TRUE(voxel.z == 0 || voxel.z == 1);
  }
}

}  // namespace
}  // namespace voxloc
