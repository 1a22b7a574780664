// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/road_clearing.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "clients/sim/furniture.h"

namespace voxloc::sim {
namespace {

// Along x, 7 m wide and 4 m high.
ClearedRoad RoadAlongX() {
  ClearedRoad road;
  road.from = {-20.0, 0.0, 0.0};
  road.to = {20.0, 0.0, 0.0};
  return road;
}

TEST(RoadClearingTest, RemovesWhatReachesIntoTheRoadAndWholeObjectsOnly) {
  std::vector<Solid> solids;
  std::vector<SceneObject> objects;
  const Builder place{LocalFrame(), Label::kBuilding, solids};
  place.Box({-5.0, 4.0, 0.0}, {-4.0, 5.0, 3.0});  // beside the road
  const auto add_object = [&](ObjectKind kind, double y) {
    const size_t first = solids.size();
    place.Box({0.0, y, 0.0}, {2.0, y + 2.0, 1.0});
    place.Box({0.0, y, 1.0}, {1.0, y + 0.5, 9.0});
    objects.push_back(MakeSceneObject(first, solids, kind, LocalFrame()));
  };
  add_object(ObjectKind::kStructure, 2.0);                               // in the road
  place.As(Label::kPole).Cylinder({5.0, -1.0, -0.3}, 0.035, 2.0);        // a post in the road
  add_object(ObjectKind::kStructure, 10.0);                              // beside it
  place.Box({7.0, -5.0, 4.2}, {8.0, 5.0, 5.0});                          // above it
  place.As(Label::kPavement).Box({9.0, -5.0, -0.3}, {12.0, 5.0, 0.12});  // a kerb
  objects.push_back({ObjectKind::kParkingPlace, LocalFrame(), 0, 0});    // a free place
  ClearRoads({RoadAlongX()}, solids, objects);
  ASSERT_EQ(solids.size(), 5U);
  EXPECT_EQ(solids[0].center, Eigen::Vector3d(-4.5, 4.5, 1.5));
  EXPECT_EQ(solids[3].center, Eigen::Vector3d(7.5, 0.0, 4.6));
  EXPECT_EQ(solids[4].label, Label::kPavement);
  ASSERT_EQ(objects.size(), 2U);
  EXPECT_EQ(objects[0].first_solid, 1U);
  EXPECT_EQ(objects[0].solids, 2U);
  EXPECT_EQ(solids[1].center, Eigen::Vector3d(1.0, 11.0, 0.5));
  EXPECT_EQ(objects[1].kind, ObjectKind::kParkingPlace);
}

TEST(RoadClearingTest, AWallGetsAnOpeningAsWideAndHighAsTheRoad) {
  std::vector<Solid> solids;
  std::vector<SceneObject> objects;
  // Across the road, at an angle, off its middle.
  const LocalFrame frame = {{3.0, 2.0, 0.0}, YawRotation(0.5 * M_PI - 0.1)};
  Builder{frame, Label::kBuilding, solids}.Box({-30.0, -0.15, -0.5}, {20.0, 0.15, 8.0});
  objects.push_back(MakeSceneObject(0, solids, ObjectKind::kWall, frame));
  ClearRoads({RoadAlongX()}, solids, objects);
  EXPECT_EQ(solids.size(), 3U);
  EXPECT_TRUE(objects.empty());
  const Bvh bvh(solids);
  const auto is_open = [&](double y, double z) {
    return !bvh.AnyBefore({{-10.0, y, z}, Eigen::Vector3d::UnitX()}, 30.0);
  };
  for (const double y : {-3.3, 0.0, 3.3}) {
    EXPECT_TRUE(is_open(y, 0.1)) << y;
    EXPECT_TRUE(is_open(y, 3.9)) << y;
    EXPECT_FALSE(is_open(y, 4.1)) << y;
    EXPECT_FALSE(is_open(y, 7.9)) << y;
    EXPECT_TRUE(is_open(y, 8.1)) << y;
  }
  for (const double y : {-20.0, -3.7, 3.7, 20.0}) EXPECT_FALSE(is_open(y, 1.0)) << y;
}

}  // namespace
}  // namespace voxloc::sim
