// SPDX-License-Identifier: Apache-2.0

#include "core/map_update/change_rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

constexpr int64_t kHourNs = int64_t{3600} * 1'000'000'000;

std::vector<int64_t> EveryHour(size_t passes) {
  std::vector<int64_t> start_ns;
  for (size_t i = 0; i < passes; ++i) start_ns.push_back(static_cast<int64_t>(i) * kHourNs);
  return start_ns;
}

PassMask FirstPasses(size_t count) { return (PassMask{1} << count) - 1; }

VotedCube MapCube() {
  VotedCube cube;
  cube.map_points = 3;
  return cube;
}

VotedCube NovelCube() {
  VotedCube cube;
  cube.novel = true;
  cube.hits = 10;
  cube.hit = FirstPasses(10);
  return cube;
}

TEST(ChangeRuleTest, TakesOutWhatPassesSawThroughAndNoneHit) {
  VotedCube cube = MapCube();
  cube.crossed_once = FirstPasses(5);
  EXPECT_EQ(DecideCube(cube, {}, EveryHour(10)), CubeFate::kGone);
  cube.crossed_once = FirstPasses(4);
  EXPECT_EQ(DecideCube(cube, {}, EveryHour(10)), CubeFate::kStays);
}

TEST(ChangeRuleTest, KeepsWhatRaysGrazeWhileTheyHitIt) {
  VotedCube cube = MapCube();
  cube.crossed_once = cube.through = FirstPasses(10);
  cube.hit_near = FirstPasses(10);
  EXPECT_EQ(DecideCube(cube, {}, EveryHour(10)), CubeFate::kStays);
}

TEST(ChangeRuleTest, TakesOutWhatIsHiddenBehindANewSurface) {
  VotedCube cube = MapCube();
  cube.behind = FirstPasses(5);
  EXPECT_EQ(DecideCube(cube, {}, EveryHour(10)), CubeFate::kGone);
  // A lorry that parks in front of a wall hides it in some passes only.
  cube.hit_near = FirstPasses(10) & ~FirstPasses(5);
  EXPECT_EQ(DecideCube(cube, {}, EveryHour(10)), CubeFate::kStays);
}

TEST(ChangeRuleTest, AddsWhatAllPassesHit) {
  VotedCube cube = NovelCube();
  cube.hit_near = FirstPasses(5);
  EXPECT_EQ(DecideCube(cube, {}, EveryHour(10)), CubeFate::kNew);
  cube.hit_near = FirstPasses(4);
  EXPECT_EQ(DecideCube(cube, {}, EveryHour(10)), CubeFate::kUnsettled);
  cube.novel = false;
  cube.hit_near = FirstPasses(10);
  EXPECT_EQ(DecideCube(cube, {}, EveryHour(10)), CubeFate::kStays);
}

TEST(ChangeRuleTest, LeavesWhatParksUnsettled) {
  VotedCube cube = NovelCube();
  cube.hit_near = FirstPasses(6);
  cube.through = FirstPasses(10) & ~FirstPasses(6);
  EXPECT_EQ(DecideCube(cube, {}, EveryHour(10)), CubeFate::kUnsettled);
}

TEST(ChangeRuleTest, ToleratesOneContraryPassInTen) {
  VotedCube cube = NovelCube();
  cube.hit_near = FirstPasses(9);
  cube.through = PassMask{1} << 9;
  EXPECT_EQ(DecideCube(cube, {}, EveryHour(10)), CubeFate::kNew);
  cube.hit_near = FirstPasses(8);
  cube.through = PassMask{3} << 8;
  EXPECT_EQ(DecideCube(cube, {}, EveryHour(10)), CubeFate::kUnsettled);
}

TEST(ChangeRuleTest, LeavesOutWhatFewOfTheManyPassesHit) {
  VotedCube cube = NovelCube();
  cube.hit_near = FirstPasses(10);
  cube.seen = FirstPasses(20);
  EXPECT_EQ(DecideCube(cube, {}, EveryHour(30)), CubeFate::kNew);
  cube.seen = FirstPasses(21);
  EXPECT_EQ(DecideCube(cube, {}, EveryHour(30)), CubeFate::kUnsettled);
}

TEST(ChangeRuleTest, LeavesOutWhatLiesBesideASurface) {
  VotedCube cube = NovelCube();
  cube.hit_near = cube.seen = FirstPasses(30);
  cube.hit = FirstPasses(6);
  EXPECT_EQ(DecideCube(cube, {}, EveryHour(30)), CubeFate::kNew);
  cube.hit = FirstPasses(5);
  EXPECT_EQ(DecideCube(cube, {}, EveryHour(30)), CubeFate::kUnsettled);
}

TEST(ChangeRuleTest, WantsPassesHoursApart) {
  VotedCube cube = NovelCube();
  cube.hit_near = FirstPasses(5);
  std::vector<int64_t> start_ns = EveryHour(5);
  EXPECT_EQ(DecideCube(cube, {}, start_ns), CubeFate::kNew);
  start_ns.back() -= 1;
  EXPECT_EQ(DecideCube(cube, {}, start_ns), CubeFate::kUnsettled);
  ChangeRule rule;
  rule.min_span_s = 0.0;
  EXPECT_EQ(DecideCube(cube, rule, std::vector<int64_t>(5, 0)), CubeFate::kNew);
}

// The rule written a second time, pass by pass.
CubeFate DecidePlainly(const VotedCube& cube, const ChangeRule& rule,
                       const std::vector<int64_t>& start_ns) {
  size_t hit = 0;
  size_t here = 0;
  size_t free = 0;
  size_t absent = 0;
  size_t seen = 0;
  size_t inside = 0;
  std::vector<int64_t> hit_ns;
  std::vector<int64_t> absent_ns;
  for (size_t i = 0; i < start_ns.size(); ++i) {
    const bool hits = (cube.hit_near >> i & 1U) != 0;
    const bool present = (cube.hit >> i & 1U) != 0 || (hits && (cube.through >> i & 1U) == 0);
    const bool sees_through = !hits && (cube.through >> i & 1U) != 0;
    const bool is_absent = !hits && ((cube.crossed_once | cube.behind) >> i & 1U) != 0;
    hit += hits ? 1 : 0;
    here += present ? 1 : 0;
    free += sees_through ? 1 : 0;
    absent += is_absent ? 1 : 0;
    seen += cube.seen >> i & 1U;
    inside += cube.hit >> i & 1U;
    if (hits) hit_ns.push_back(start_ns[i]);
    if (is_absent) absent_ns.push_back(start_ns[i]);
  }
  const auto enough = [&](size_t count, size_t contrary, const std::vector<int64_t>& times) {
    if (count < rule.min_passes) return false;
    const auto [first, last] = std::minmax_element(times.begin(), times.end());
    return static_cast<double>(*last - *first) >= 1e9 * rule.min_span_s &&
           static_cast<double>(contrary) <=
               rule.max_contrary * static_cast<double>(count + contrary);
  };
  if (cube.map_points > 0) {
    return enough(absent, here, absent_ns) ? CubeFate::kGone : CubeFate::kStays;
  }
  if (!cube.novel) return CubeFate::kStays;
  return enough(hit, free, hit_ns) && 2 * hit >= seen && 5 * inside >= hit ? CubeFate::kNew
                                                                           : CubeFate::kUnsettled;
}

TEST(ChangeRuleTest, AgreesWithAPlainRuleOnRandomVotes) {
  RandomNumbers random(7);
  std::vector<size_t> counts(4, 0);
  for (int trial = 0; trial < 20'000; ++trial) {
    const auto passes = static_cast<size_t>(random.Index(64) + 1);
    std::vector<int64_t> start_ns;
    for (size_t i = 0; i < passes; ++i) {
      start_ns.push_back(static_cast<int64_t>(random.Uniform(0.0, 8.0) * 3600e9));
    }
    VotedCube cube;
    cube.map_points = random.Index(2) == 0 ? 1 : 0;
    cube.novel = cube.map_points == 0 && random.Index(4) > 0;
    const double share = random.Uniform(0.0, 1.0) < 0.5 ? 0.03 : random.Uniform(0.0, 1.0);
    for (size_t i = 0; i < passes; ++i) {
      const PassMask bit = PassMask{1} << i;
      const bool expected = random.Uniform(0.0, 1.0) >= share;
      if (expected == (cube.map_points == 0)) {
        cube.hit_near |= bit;
        cube.seen |= bit;
        if (random.Index(2) == 0) cube.hit |= bit;
        if (random.Index(4) == 0) cube.through |= bit;
      } else {
        (random.Index(2) == 0 ? cube.crossed_once : cube.behind) |= bit;
        if (random.Index(2) == 0) cube.seen |= bit;
        if (random.Index(2) == 0) cube.through |= cube.crossed_once & bit;
      }
    }
    const CubeFate fate = DecideCube(cube, {}, start_ns);
    ++counts[static_cast<size_t>(fate)];
    ASSERT_EQ(fate, DecidePlainly(cube, {}, start_ns)) << trial;
  }
  for (const size_t count : counts) EXPECT_GT(count, 1000U);
}

// A wall along x of which each of the passes has the points that are given.
CubeVotes WallVotes(size_t passes, size_t displaced) {
  CubeVotes votes(0.1, Eigen::Vector3d::Constant(-20.0), Eigen::Vector3d::Constant(20.0));
  PointCloud map;
  std::vector<Eigen::Vector3d> wall;
  for (int i = 0; i < 100; ++i) {
    for (int k = 0; k < 20; ++k) {
      const Eigen::Vector3d point(0.1 * i - 4.95, 8.05, 0.1 * k + 0.05);
      wall.push_back(point);
      map.PushBack(static_cast<float>(point.x()), static_cast<float>(point.y()),
                   static_cast<float>(point.z()));
    }
  }
  std::vector<Eigen::Vector3d> behind = wall;
  for (Eigen::Vector3d& point : behind) point.y() += 0.5;
  votes.AddMap(map);
  const auto seen_by = [&](size_t pass) -> const std::vector<Eigen::Vector3d>& {
    return pass == displaced ? behind : wall;
  };
  for (size_t pass = 0; pass < passes; ++pass) votes.AddHits(pass, seen_by(pass));
  votes.Settle([](const Eigen::Vector3d&) { return false; });
  for (size_t pass = 0; pass < passes; ++pass) {
    for (const double x : {-1.0, 0.0, 1.0}) {
      votes.AddRays(pass, {x, 0.0, 1.0}, seen_by(pass), 30.0);
    }
  }
  return votes;
}

TEST(ChangeRuleTest, NamesThePassThatDisagreesWithTheOthers) {
  EXPECT_EQ(FindDisagreeing(WallVotes(6, 6), 6), 0U);
  EXPECT_EQ(FindDisagreeing(WallVotes(6, 2), 6), PassMask{1} << 2);
  EXPECT_EQ(FindDisagreeing(WallVotes(3, 2), 3), 0U);
}

TEST(CoverDirectionsTest, WantsBothWherePassesGoBothWays) {
  EXPECT_TRUE(CoverDirections(0b0011, {0b0101, 0b1010}));
  EXPECT_FALSE(CoverDirections(0b0101, {0b0101, 0b1010}));
  EXPECT_FALSE(CoverDirections(0b1010, {0b0101, 0b1010}));
  EXPECT_TRUE(CoverDirections(0b0101, {0b1101, 0}));
}

}  // namespace
}  // namespace voxloc
