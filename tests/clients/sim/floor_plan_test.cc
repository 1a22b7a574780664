// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/floor_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

namespace voxloc::sim {
namespace {

constexpr uint64_t kPlans = 60;

Eigen::Vector2d DirectionOf(const PlanWall& wall) {
  return wall.along_y ? Eigen::Vector2d::UnitY() : Eigen::Vector2d::UnitX();
}

TEST(FloorPlanTest, SeedsGiveAllUsesAndOtherPlans) {
  std::set<BuildingUse> uses;
  std::set<double> lengths;
  std::set<size_t> corridors;
  for (uint64_t seed = 1; seed <= kPlans; ++seed) {
    const FloorPlan plan = MakeFloorPlan(Random(seed));
    uses.insert(plan.use);
    lengths.insert(plan.length_m);
    corridors.insert(plan.corridors.size());
    EXPECT_GE(plan.rooms.size(), 3U) << seed;
    EXPECT_EQ(MakeFloorPlan(Random(seed)).length_m, plan.length_m);
  }
  EXPECT_EQ(uses.size(), 3U);
  EXPECT_EQ(lengths.size(), kPlans);
  EXPECT_EQ(corridors, (std::set<size_t>{1, 3}));
}

TEST(FloorPlanTest, RoomsMeasure4To20MetresAndDoNotOverlap) {
  double least = 100.0;
  double most = 0.0;
  for (uint64_t seed = 1; seed <= kPlans; ++seed) {
    const FloorPlan plan = MakeFloorPlan(Random(seed));
    std::vector<PlanRoom> places = plan.rooms;
    for (const PlanRoom& room : plan.rooms) {
      const Eigen::Vector2d size = room.high - room.low;
      least = std::min(least, size.minCoeff());
      most = std::max(most, size.maxCoeff());
    }
    places.insert(places.end(), plan.corridors.begin(), plan.corridors.end());
    for (size_t i = 0; i < places.size(); ++i) {
      EXPECT_GE(places[i].low.minCoeff(), 0.0);
      EXPECT_LE(places[i].high.x(), plan.length_m + 1e-9);
      EXPECT_LE(places[i].high.y(), plan.width_m + 1e-9);
      for (size_t k = 0; k < i; ++k) {
        const Eigen::Vector2d shared =
            places[i].high.cwiseMin(places[k].high) - places[i].low.cwiseMax(places[k].low);
        EXPECT_LE(shared.minCoeff(), 1e-9) << seed;
      }
    }
  }
  EXPECT_GE(least, 4.0);
  EXPECT_LE(most, 20.0);
  EXPECT_GT(most, 15.0);
}

TEST(FloorPlanTest, EveryRoomIsReachedAndNoWayIsTooShortToTurn) {
  for (uint64_t seed = 1; seed <= kPlans; ++seed) {
    const FloorPlan plan = MakeFloorPlan(Random(seed));
    const StreetNetwork network(plan.junctions, plan.ways);
    std::vector<bool> reached(plan.junctions.size(), false);
    std::vector<int> open = {0};
    reached[0] = true;
    while (!open.empty()) {
      const int junction = open.back();
      open.pop_back();
      EXPECT_GE(network.StreetsAt(junction).size(), 2U) << seed;
      for (const int i : network.StreetsAt(junction)) {
        const Street& way = network.streets()[static_cast<size_t>(i)];
        const int other = way.from == junction ? way.to : way.from;
        EXPECT_GT(way.length_m, 2.0 * way.clear_m) << seed;
        if (reached[static_cast<size_t>(other)]) continue;
        reached[static_cast<size_t>(other)] = true;
        open.push_back(other);
      }
    }
    EXPECT_EQ(std::count(reached.begin(), reached.end(), false), 0) << seed;
  }
}

TEST(FloorPlanTest, WaysMeetWallsInTheMiddleOfDoorsOnly) {
  size_t crossings = 0;
  size_t doors = 0;
  for (uint64_t seed = 1; seed <= kPlans; ++seed) {
    const FloorPlan plan = MakeFloorPlan(Random(seed));
    doors += plan.doors.size();
    const StreetNetwork network(plan.junctions, plan.ways);
    for (const Street& way : network.streets()) {
      const Eigen::Vector2d end = way.start + way.length_m * way.direction;
      for (const PlanWall& wall : plan.inner_walls) {
        const Eigen::Vector2d along = DirectionOf(wall);
        const Eigen::Vector2d across(-along.y(), along.x());
        const double before = (way.start - wall.start).dot(across);
        const double behind = (end - wall.start).dot(across);
        if (before * behind > 0.0) {
          // Beside the wall, with space for a vehicle 0.5 m wide.
          const double at = (way.start - wall.start).dot(along);
          if (at > 0.0 && at < wall.length_m) {
            EXPECT_GT(std::min(std::abs(before), std::abs(behind)), 0.5) << seed;
          }
          continue;
        }
        const double at = (way.start - wall.start).dot(along);
        if (at < 0.0 || at > wall.length_m) continue;
        EXPECT_NEAR(way.direction.dot(along), 0.0, 1e-9) << seed;
        const auto door =
            std::find_if(wall.openings.begin(), wall.openings.end(),
                         [&](const DoorOpening& o) { return std::abs(o.at_m - at) < 1e-6; });
        EXPECT_NE(door, wall.openings.end()) << seed;
        ++crossings;
      }
    }
  }
  EXPECT_EQ(crossings, doors);
}

TEST(FloorPlanTest, OpeningsLieApartWithinTheirWalls) {
  for (uint64_t seed = 1; seed <= kPlans; ++seed) {
    const FloorPlan plan = MakeFloorPlan(Random(seed));
    for (const PlanWall& wall : plan.inner_walls) {
      double from = 0.3;
      for (const DoorOpening& door : wall.openings) {
        EXPECT_GT(door.at_m - 0.5 * door.width_m, from) << seed;
        from = door.at_m + 0.5 * door.width_m;
      }
      EXPECT_LT(from, wall.length_m - 0.3) << seed;
    }
  }
}

}  // namespace
}  // namespace voxloc::sim
