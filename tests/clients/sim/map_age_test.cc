// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "clients/sim/map_changes.h"
#include "clients/sim/scenes.h"
#include "tests/clients/sim/test_worlds.h"

namespace voxloc::sim {
namespace {

size_t CountObjects(const World& world, ObjectKind kind) {
  size_t count = 0;
  for (const SceneObject& object : world.objects) count += object.kind == kind ? 1 : 0;
  return count;
}

TEST(MapAgeTest, ObjectsAreTheSolidsOfOneKindEach) {
  const World town = SmallTown(7, 250.0);
  size_t in_objects = 0;
  for (const SceneObject& object : town.objects) {
    for (size_t i = 0; i < object.solids; ++i) {
      const Solid& solid = town.scene.solids()[object.first_solid + i];
      EXPECT_EQ(solid.label,
                object.kind == ObjectKind::kParkingPlace ? Label::kParkedCar : Label::kBuilding);
      ++in_objects;
    }
  }
  EXPECT_EQ(in_objects, CountLabel(town, Label::kParkedCar) + CountLabel(town, Label::kBuilding));
}

TEST(MapAgeTest, ANewMapIsThatOfTheScene) {
  const World town = SmallTown(7, 250.0);
  EXPECT_TRUE(MapAgeOptions().IsUnchanged());
  const AgedWorld aged = MakeAgedWorld(town, MapAgeOptions());
  ASSERT_EQ(aged.world.scene.solids().size(), town.scene.solids().size());
  for (size_t i = 0; i < town.scene.solids().size(); ++i) {
    EXPECT_EQ(aged.world.scene.solids()[i].center, town.scene.solids()[i].center);
  }
}

TEST(MapAgeTest, ParkedCarsChangeByTheirShareAndNothingElseDoes) {
  const World town = SmallTown(7, 250.0);
  MapAgeOptions options;
  options.changed_parking = 0.5;
  const AgedWorld aged = MakeAgedWorld(town, options);
  EXPECT_EQ(CountLabel(aged.world, Label::kBuilding), CountLabel(town, Label::kBuilding));
  EXPECT_EQ(CountLabel(aged.world, Label::kTree), CountLabel(town, Label::kTree));
  const std::vector<Solid>& before = town.scene.solids();
  size_t kept = 0;
  size_t cars = 0;
  for (const SceneObject& place : town.objects) {
    if (place.kind != ObjectKind::kParkingPlace || place.solids == 0) continue;
    ++cars;
    for (const Solid& solid : aged.world.scene.solids()) {
      if (solid.center == before[place.first_solid].center) ++kept;
    }
  }
  EXPECT_NEAR(static_cast<double>(kept) / static_cast<double>(cars), 0.5, 0.12);
  // Half of those changed are taken by another car.
  EXPECT_NEAR(static_cast<double>(CountLabel(aged.world, Label::kParkedCar)) /
                  static_cast<double>(CountLabel(town, Label::kParkedCar)),
              1.0, 0.2);
  EXPECT_GT(aged.counts.changed_places, cars / 3);
}

TEST(MapAgeTest, NewHousesAreMissingInTheMap) {
  const World town = SmallTown(7, 250.0);
  MapAgeOptions options;
  options.missing_structures = 0.3;
  const AgedWorld aged = MakeAgedWorld(town, options);
  const auto houses = static_cast<double>(CountObjects(town, ObjectKind::kStructure));
  EXPECT_NEAR(static_cast<double>(aged.counts.missing_structures) / houses, 0.3, 0.15);
  EXPECT_LT(CountLabel(aged.world, Label::kBuilding), CountLabel(town, Label::kBuilding));
  EXPECT_EQ(CountLabel(aged.world, Label::kParkedCar), CountLabel(town, Label::kParkedCar));
}

TEST(MapAgeTest, MovedStructuresMoveAsAWholeAcrossTheirFacade) {
  const World town = SmallTown(7, 250.0);
  MapAgeOptions options;
  options.moved_structures = 0.5;
  options.moved_by_m = 0.4;
  const AgedWorld aged = MakeAgedWorld(town, options);
  size_t moved = 0;
  for (const SceneObject& object : town.objects) {
    Eigen::Vector3d by = Eigen::Vector3d::Zero();
    for (size_t i = object.first_solid; i < object.first_solid + object.solids; ++i) {
      const Eigen::Vector3d step =
          aged.world.scene.solids()[i].center - town.scene.solids()[i].center;
      if (i == object.first_solid) by = step;
      EXPECT_LT((step - by).norm(), 1e-12);
    }
    if (by.norm() == 0.0) continue;
    ++moved;
    EXPECT_EQ(object.kind, ObjectKind::kStructure);
    EXPECT_NEAR(std::abs(by.dot(object.frame.rotation.col(1))), 0.4, 1e-9);
  }
  EXPECT_EQ(moved, aged.counts.moved_structures);
  EXPECT_NEAR(static_cast<double>(moved),
              0.5 * static_cast<double>(CountObjects(town, ObjectKind::kStructure)), 12.0);
}

TEST(MapAgeTest, OuterWallsMayMoveButAreNeverMissing) {
  MapAgeOptions options;
  options.missing_structures = 1.0;
  options.moved_structures = 1.0;
  HallOptions hall_options;
  const World hall = *BuildHall(hall_options);
  const AgedWorld aged = MakeAgedWorld(hall, options);
  EXPECT_EQ(CountObjects(hall, ObjectKind::kWall), 4U);
  EXPECT_EQ(aged.counts.moved_structures, 4U);
  EXPECT_EQ(aged.counts.missing_structures, CountObjects(hall, ObjectKind::kStructure));
}

TEST(MapAgeTest, GaragesAndMotorwaysHaveWhatMayChange) {
  const World garage = *BuildGarage(GarageOptions());
  EXPECT_GT(CountObjects(garage, ObjectKind::kParkingPlace), 60U);
  EXPECT_EQ(CountObjects(garage, ObjectKind::kWall), 4U);
  const World motorway = *BuildMotorway(MotorwayOptions(), 60.0);
  EXPECT_GT(CountObjects(motorway, ObjectKind::kStructure), 3U);
}

TEST(MapAgeTest, SeedsChangeOtherThings) {
  const World town = SmallTown(7, 250.0);
  MapAgeOptions options;
  options.changed_parking = 0.5;
  const size_t one = MakeAgedWorld(town, options).world.scene.solids().size();
  EXPECT_EQ(one, MakeAgedWorld(town, options).world.scene.solids().size());
  options.seed = 2;
  EXPECT_NE(one, MakeAgedWorld(town, options).world.scene.solids().size());
}

TEST(MapAgeTest, AbsurdOptionsAreRefusedByName) {
  const std::vector<std::pair<void (*)(MapAgeOptions&), const char*>> cases = {
      {[](MapAgeOptions& o) { o.changed_parking = 1.5; }, "changed parking"},
      {[](MapAgeOptions& o) { o.missing_structures = -1.0; }, "missing structures"},
      {[](MapAgeOptions& o) { o.moved_structures = std::nan(""); }, "moved structures"},
      {[](MapAgeOptions& o) { o.moved_by_m = 0.0; }, "moved by"}};
  for (const auto& [spoil, name] : cases) {
    MapAgeOptions options;
    spoil(options);
    EXPECT_NE(Validate(options).message().find(name), absl::string_view::npos);
  }
}

}  // namespace
}  // namespace voxloc::sim
