// SPDX-License-Identifier: Apache-2.0

#include "core/engine/stage_points.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

Profile ProfileOf(const std::vector<double>& voxels_m) {
  Profile profile;
  for (const double voxel_m : voxels_m) profile.stages.emplace_back().point_voxel_m = voxel_m;
  return profile;
}

// Dense near the base, as scans are.
PointCloud Scan(size_t points, uint64_t seed) {
  RandomNumbers random(seed);
  PointCloud scan;
  for (size_t i = 0; i < points; ++i) {
    const Eigen::Vector3d p = std::pow(random.Uniform(0.0, 1.0), 3.0) * random.InBox(30.0);
    scan.PushBack(static_cast<float>(p.x()), static_cast<float>(p.y()), static_cast<float>(p.z()));
  }
  return scan;
}

using Voxel = std::array<long, 3>;

Voxel VoxelOf(const PointCloud& scan, size_t i, double edge_m) {
  const Eigen::Vector3d p = scan.Point(i);
  return {std::lround(std::floor(p.x() / edge_m)), std::lround(std::floor(p.y() / edge_m)),
          std::lround(std::floor(p.z() / edge_m))};
}

TEST(StagePointsTest, EveryStageHasOnePointOfEachVoxel) {
  const PointCloud scan = Scan(3000, 1);
  const std::vector<double> voxels_m = {4.0, 2.0, 0.5, 0.0};
  StagePoints points;
  points.Select(scan, ProfileOf(voxels_m));
  ASSERT_EQ(points.order().size(), scan.size());
  for (size_t s = 0; s < voxels_m.size(); ++s) {
    SCOPED_TRACE(s);
    if (voxels_m[s] == 0.0) {
      EXPECT_EQ(points.counts()[s], scan.size());
      continue;
    }
    std::set<Voxel> occupied;
    for (size_t i = 0; i < scan.size(); ++i) occupied.insert(VoxelOf(scan, i, voxels_m[s]));
    std::set<Voxel> met;
    for (size_t k = 0; k < occupied.size(); ++k) {
      EXPECT_TRUE(met.insert(VoxelOf(scan, points.order()[k], voxels_m[s])).second) << k;
    }
    EXPECT_EQ(points.counts()[s], occupied.size());
    EXPECT_LT(points.counts()[s], scan.size());
  }
}

TEST(StagePointsTest, TheOrderHoldsEveryFinitePointOnce) {
  PointCloud scan = Scan(501, 2);
  scan.x[7] = std::numeric_limits<float>::quiet_NaN();
  scan.z[500] = std::numeric_limits<float>::infinity();
  StagePoints points;
  points.Select(scan, ProfileOf({1.0, 0.0}));
  std::vector<uint32_t> sorted = points.order();
  std::sort(sorted.begin(), sorted.end());
  std::vector<uint32_t> expected(scan.size());
  std::iota(expected.begin(), expected.end(), 0U);
  expected.erase(expected.begin() + 500);
  expected.erase(expected.begin() + 7);
  EXPECT_EQ(sorted, expected);
  EXPECT_EQ(points.counts()[1], expected.size());
}

TEST(StagePointsTest, TheScaleIsOfEveryFinitePoint) {
  for (const size_t points : {size_t{1}, size_t{256}, size_t{1531}, size_t{40'000}}) {
    PointCloud scan = Scan(points, 7);
    scan.origin = {0.3, -1.7, 0.9};
    scan.PushBack(1.0F, std::numeric_limits<float>::quiet_NaN(), 1.0F);
    StagePoints chosen;
    chosen.Select(scan, ProfileOf({1.0, 0.0}));
    // To the last bit, so that it may stand for it.
    EXPECT_EQ(chosen.root_mean_square_range(), RootMeanSquareRange(scan)) << points;
  }
  StagePoints chosen;
  chosen.Select(PointCloud(), ProfileOf({1.0, 0.0}));
  EXPECT_EQ(chosen.root_mean_square_range(), 0.0);
}

TEST(StagePointsTest, WithoutVoxelsPointsStayAsTheyAre) {
  const PointCloud scan = Scan(100, 3);
  StagePoints points;
  points.Select(scan, ProfileOf({0.0, 0.0}));
  std::vector<uint32_t> expected(scan.size());
  std::iota(expected.begin(), expected.end(), 0U);
  EXPECT_EQ(points.order(), expected);
  EXPECT_EQ(points.counts()[0], 100u);
  EXPECT_FALSE(HasThinnedStage(ProfileOf({0.0, 0.0})));
  EXPECT_TRUE(HasThinnedStage(ProfileOf({0.0, 1.0})));
}

TEST(StagePointsTest, HugeScansAreLookedAtInPart) {
  const PointCloud scan = Scan(100'000, 6);
  StagePoints points;
  points.Select(scan, ProfileOf({2.0, 0.0}));
  EXPECT_EQ(points.order().size(), scan.size());
  EXPECT_LE(points.counts()[0], size_t{1} << 14);
  EXPECT_GT(points.counts()[0], 1000u);
}

TEST(StagePointsTest, CoordinatesBeyondEveryVoxelAreClamped) {
  PointCloud scan;
  for (const float x : {-3e38F, -1e9F, 0.0F, 1e9F, 3e38F}) scan.PushBack(x, x, x);
  StagePoints points;
  points.Select(scan, ProfileOf({2.0, 0.5, 0.0}));
  EXPECT_EQ(points.order().size(), 5u);
  EXPECT_EQ(points.counts()[0], 3u);
}

}  // namespace
}  // namespace voxloc
