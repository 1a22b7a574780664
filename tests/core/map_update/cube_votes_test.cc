// SPDX-License-Identifier: Apache-2.0

#include "core/map_update/cube_votes.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

constexpr double kVoteCubeM = 0.1;
const Eigen::Vector3d kLow = Eigen::Vector3d::Constant(-5.0);
const Eigen::Vector3d kHigh = Eigen::Vector3d::Constant(5.0);

bool NothingExplained(const Eigen::Vector3d& /*point*/) { return false; }

PointCloud CloudOf(const std::vector<Eigen::Vector3d>& points) {
  PointCloud cloud;
  for (const Eigen::Vector3d& point : points) {
    const Eigen::Vector3f offset = point.cast<float>();
    cloud.PushBack(offset.x(), offset.y(), offset.z());
  }
  return cloud;
}

// How far the ray is within the cube, by clipping it against the six faces.
double ChordOf(const CellKey& key, const Eigen::Vector3d& origin, const Eigen::Vector3d& direction,
               double from_m, double to_m) {
  const Eigen::Vector3d low = CellCorner(key, kVoteCubeM);
  for (int axis = 0; axis < 3; ++axis) {
    const double a = (low[axis] - origin[axis]) / direction[axis];
    const double b = (low[axis] + kVoteCubeM - origin[axis]) / direction[axis];
    from_m = std::max(from_m, std::min(a, b));
    to_m = std::min(to_m, std::max(a, b));
  }
  return to_m - from_m;
}

TEST(CubeVotesTest, CountsRaysAsBruteForceDoes) {
  RandomNumbers random(3);
  constexpr size_t kVoters = 4;
  constexpr double kRangeM = 4.0;
  std::vector<Eigen::Vector3d> map_points;
  for (int i = 0; i < 3000; ++i) map_points.push_back(random.InBox(2.0));
  CubeVotes votes(kVoteCubeM, kLow, kHigh);
  votes.AddMap(CloudOf(map_points));
  std::vector<Eigen::Vector3d> sensors;
  std::vector<std::vector<Eigen::Vector3d>> points(kVoters);
  for (size_t pass = 0; pass < kVoters; ++pass) {
    sensors.push_back(random.InBox(1.0));
    for (int i = 0; i < 300; ++i) points[pass].push_back(random.InBox(4.5));
    votes.AddHits(pass, points[pass]);
  }
  votes.Settle(NothingExplained);
  for (size_t pass = 0; pass < kVoters; ++pass) {
    votes.AddRays(pass, sensors[pass], points[pass], kRangeM);
  }
  size_t through = 0;
  size_t behind = 0;
  size_t unsure = 0;
  for (const VotedCube& cube : votes.cubes()) {
    for (size_t pass = 0; pass < kVoters; ++pass) {
      int crossings = 0;
      bool is_behind = false;
      bool borderline = false;
      for (const Eigen::Vector3d& point : points[pass]) {
        const double length_m = (point - sensors[pass]).norm();
        const Eigen::Vector3d direction = (point - sensors[pass]) / length_m;
        const double chord_m = ChordOf(cube.key, sensors[pass], direction, 0.0,
                                       std::min(kRangeM, length_m - CubeVotes::kStopBeforeEndM));
        if (chord_m >= CubeVotes::kMinChord * kVoteCubeM) ++crossings;
        borderline |= std::abs(chord_m - CubeVotes::kMinChord * kVoteCubeM) < 1e-7;
        if (length_m >= kRangeM || !votes.Find(CellOf(point, kVoteCubeM))->novel) continue;
        const double hidden_m = ChordOf(cube.key, sensors[pass], direction, length_m + kVoteCubeM,
                                        length_m + CubeVotes::kBehindM);
        is_behind |= hidden_m > 0.0;
        borderline |= std::abs(hidden_m) < 1e-7;
      }
      if (borderline) {
        ++unsure;
        continue;
      }
      const PassMask bit = PassMask{1} << pass;
      ASSERT_EQ((cube.through & bit) != 0, crossings >= 2);
      ASSERT_EQ((cube.behind & bit) != 0, is_behind);
      through += crossings >= 2 ? 1 : 0;
      behind += is_behind ? 1 : 0;
    }
  }
  EXPECT_GT(through, 100U);
  EXPECT_GT(behind, 20U);
  EXPECT_LT(unsure, 10U);
}

TEST(CubeVotesTest, ACubeIsHitByPassesWithPointsInItOrAroundIt) {
  CubeVotes votes(kVoteCubeM, kLow, kHigh);
  votes.AddMap(CloudOf({{0.05, 0.05, 0.05}}));
  const std::vector<Eigen::Vector3d> beside = {{0.15, -0.05, 0.15}};
  const std::vector<Eigen::Vector3d> apart = {{0.25, 0.05, 0.05}};
  votes.AddHits(2, beside);
  votes.AddHits(3, apart);
  votes.Settle(NothingExplained);
  const VotedCube* cube = votes.Find({0, 0, 0});
  ASSERT_NE(cube, nullptr);
  EXPECT_EQ(cube->hit, 0U);
  EXPECT_EQ(cube->hit_near, PassMask{1} << 2);
  // The map has a point next to it.
  EXPECT_FALSE(votes.Find({1, -1, 1})->novel);
  EXPECT_TRUE(votes.Find({2, 0, 0})->novel);
}

TEST(CubeVotesTest, ACubeIsSeenByPassesWithPointsWithinAMetreOrTwo) {
  CubeVotes votes(kVoteCubeM, kLow, kHigh);
  votes.AddHits(0, std::vector<Eigen::Vector3d>{{0.05, 0.05, 0.05}});
  votes.AddHits(1, std::vector<Eigen::Vector3d>{{1.85, -0.85, 0.05}});
  votes.AddHits(2, std::vector<Eigen::Vector3d>{{2.05, 0.05, 0.05}});
  votes.Settle(NothingExplained);
  EXPECT_EQ(votes.Find({0, 0, 0})->seen, PassMask{3});
  EXPECT_EQ(votes.Find({20, 0, 0})->seen, PassMask{6});
  votes.Drop(PassMask{2});
  EXPECT_EQ(votes.Find({0, 0, 0})->seen, PassMask{1});
}

TEST(CubeVotesTest, WhatIsGoneOrExplainedDecidesWhatIsNovel) {
  const std::vector<Eigen::Vector3d> points = {{0.15, 0.05, 0.05}};
  const auto is_novel = [&](bool gone, bool explained) {
    CubeVotes votes(kVoteCubeM, kLow, kHigh);
    votes.AddMap(CloudOf({{0.05, 0.05, 0.05}}));
    if (gone) votes.SetGone(std::vector<CellKey>{{0, 0, 0}});
    votes.AddHits(0, points);
    votes.Settle([&](const Eigen::Vector3d& point) {
      EXPECT_LT((point - points[0]).norm(), 1e-6);
      return explained;
    });
    return votes.Find({1, 0, 0})->novel;
  };
  EXPECT_FALSE(is_novel(false, false));
  EXPECT_TRUE(is_novel(true, false));
  EXPECT_FALSE(is_novel(true, true));
}

TEST(CubeVotesTest, DropsThePassesNamed) {
  CubeVotes votes(kVoteCubeM, kLow, kHigh);
  const std::vector<Eigen::Vector3d> points = {{1.05, 0.05, 0.05}};
  for (size_t pass = 0; pass < 3; ++pass) votes.AddHits(pass, points);
  votes.Settle(NothingExplained);
  votes.Drop(PassMask{2});
  EXPECT_EQ(votes.cubes()[0].hit, PassMask{5});
  EXPECT_EQ(votes.cubes()[0].hit_near, PassMask{5});
}

TEST(CubeVotesTest, LeavesOutWhatLiesOutsideOfItsBox) {
  CubeVotes votes(kVoteCubeM, kLow, kHigh);
  votes.AddMap(CloudOf({{0.0, 0.0, 6.0}, {0.0, -6.0, 0.0}}));
  votes.AddHits(0, std::vector<Eigen::Vector3d>{{6.0, 0.0, 0.0}, {1.0, 1.0, 1.0}});
  EXPECT_EQ(votes.cubes().size(), 1U);
}

}  // namespace
}  // namespace voxloc
