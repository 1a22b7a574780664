// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "clients/sim/scenes.h"
#include "clients/sim/world.h"
#include "tests/clients/sim/surface_distance.h"
#include "tests/clients/sim/test_worlds.h"

namespace voxloc::sim {
namespace {

TownOptions SmallOptions(uint64_t seed) {
  TownOptions options;
  options.seed = seed;
  options.size_m = 200.0;
  return options;
}

TEST(TownTest, TheSameOptionsGiveTheSameTown) {
  const World a = *BuildTown(SmallOptions(4));
  const World b = *BuildTown(SmallOptions(4));
  const World other = *BuildTown(SmallOptions(5));
  ASSERT_EQ(a.scene.solids().size(), b.scene.solids().size());
  for (size_t i = 0; i < a.scene.solids().size(); ++i) {
    EXPECT_EQ(a.scene.solids()[i].center, b.scene.solids()[i].center);
    EXPECT_EQ(a.scene.solids()[i].half_extent, b.scene.solids()[i].half_extent);
  }
  EXPECT_NE(a.streets.junctions(), other.streets.junctions());
}

TEST(TownTest, HasEverythingATownHas) {
  const World town = *BuildTown(SmallOptions(1));
  for (const Label label : {Label::kPavement, Label::kBuilding, Label::kTree, Label::kPole,
                            Label::kFence, Label::kParkedCar}) {
    EXPECT_GT(CountLabel(town, label), 10U) << static_cast<int>(label);
  }
  EXPECT_EQ(CountLabel(town, Label::kMovingObject), 0U);
}

TEST(TownTest, NoStreetIsADeadEndAndAllAreConnected) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const StreetNetwork streets = BuildTown(SmallOptions(seed))->streets;
    std::set<int> reached = {0};
    for (size_t pass = 0; pass < streets.streets().size(); ++pass) {
      for (const Street& street : streets.streets()) {
        if (reached.count(street.from) + reached.count(street.to) == 1) {
          reached.insert(street.from);
          reached.insert(street.to);
        }
      }
    }
    EXPECT_EQ(reached.size(), streets.junctions().size()) << "seed " << seed;
    for (size_t i = 0; i < streets.junctions().size(); ++i) {
      EXPECT_GE(streets.StreetsAt(static_cast<int>(i)).size(), 2U);
    }
  }
}

TEST(TownTest, MissingStreetsMakeTJunctions) {
  TownOptions options = SmallOptions(1);
  options.size_m = 400.0;
  options.missing_streets = 0.0;
  const size_t whole = BuildTown(options)->streets.streets().size();
  options.missing_streets = 0.3;
  const StreetNetwork streets = BuildTown(options)->streets;
  EXPECT_LT(streets.streets().size(), whole);
  size_t three = 0;
  for (size_t i = 0; i < streets.junctions().size(); ++i) {
    three += streets.StreetsAt(static_cast<int>(i)).size() == 3 ? 1 : 0;
  }
  EXPECT_GT(three, 3U);
}

TEST(TownTest, LanesAreFreeOfEverythingThatStands) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const World town = *BuildTown(SmallOptions(seed));
    for (const Street& street : town.streets.streets()) {
      for (double along = 0.0; along <= street.length_m; along += 2.0) {
        for (const double right : {-2.6, -1.6, -0.5, 0.5, 1.6, 2.6}) {
          const Eigen::Vector2d place = street.PointAt(along, right);
          const double ground = town.scene.ground().Height(place.x(), place.y());
          const Ray down = {{place.x(), place.y(), ground + 2.4}, {0.0, 0.0, -1.0}};
          const RayHit hit = RayCaster(town.scene).Cast(down, 10.0);
          EXPECT_EQ(hit.label, Label::kGround) << "seed " << seed;
          EXPECT_NEAR(hit.range_m, 2.4, 1e-9);
        }
      }
    }
  }
}

TEST(TownTest, FacadesHaveDepthAndDifferFromHouseToHouse) {
  // Looking sideways at 1.6 m on the way along a street: recesses show as steps of 0.1 to 0.5 m, at
  // distances from each other that do not repeat.
  const World town = *BuildTown(SmallOptions(2));
  const RayCaster caster(town.scene);
  size_t steps = 0;
  std::set<long> gaps_cm;
  for (const Street& street : town.streets.streets()) {
    double last = kNoHit;
    double last_step = 0.0;
    for (double along = 12.0; along < street.length_m - 12.0; along += 0.05) {
      const Eigen::Vector2d eye = street.PointAt(along, 0.0);
      const Eigen::Vector2d side = street.PointAt(along, 1.0) - eye;
      const RayHit hit =
          caster.Cast({{eye.x(), eye.y(), town.scene.ground().Height(eye.x(), eye.y()) + 1.6},
                       {side.x(), side.y(), 0.0}},
                      40.0);
      if (hit.label == Label::kBuilding && last < kNoHit) {
        const double step = std::abs(hit.range_m - last);
        if (step > 0.08 && step < 0.6) {
          ++steps;
          gaps_cm.insert(std::lround((along - last_step) * 100.0));
          last_step = along;
        }
      }
      last = hit.label == Label::kBuilding ? hit.range_m : kNoHit;
    }
  }
  EXPECT_GT(steps, 100U);
  EXPECT_GT(gaps_cm.size(), 30U);
}

TEST(TownTest, DensitiesCount) {
  TownOptions options = SmallOptions(1);
  options.building_density = 0.0;
  options.tree_density = 0.0;
  options.parked_car_density = 0.0;
  const World bare = *BuildTown(options);
  EXPECT_EQ(CountLabel(bare, Label::kBuilding), 0U);
  EXPECT_EQ(CountLabel(bare, Label::kTree), 0U);
  EXPECT_EQ(CountLabel(bare, Label::kParkedCar), 0U);
  options.parked_car_density = 1.0;
  const size_t full = CountLabel(*BuildTown(options), Label::kParkedCar);
  options.parked_car_density = 0.5;
  const size_t half = CountLabel(*BuildTown(options), Label::kParkedCar);
  EXPECT_NEAR(static_cast<double>(half) / static_cast<double>(full), 0.5, 0.15);
}

TEST(TownTest, ReliefIsAboutAsAskedForAndStreetsAreDrivable) {
  TownOptions options = SmallOptions(3);
  options.relief_m = 6.0;
  options.size_m = 600.0;
  const World town = *BuildTown(options);
  const Ground& ground = town.scene.ground();
  double low = 0.0;
  double high = 0.0;
  double steepest = 0.0;
  for (double x = -300.0; x <= 300.0; x += 3.0) {
    for (double y = -300.0; y <= 300.0; y += 3.0) {
      low = std::min(low, ground.Height(x, y));
      high = std::max(high, ground.Height(x, y));
      steepest = std::max(steepest, std::acos(ground.Normal(x, y).z()));
    }
  }
  EXPECT_GT(high - low, 3.0);
  EXPECT_LT(high - low, 8.0);
  EXPECT_LT(steepest, 0.2);
  options.relief_m = 0.0;
  EXPECT_EQ(BuildTown(options)->scene.ground().Height(50.0, -70.0), 0.0);
}

TEST(TownTest, AbsurdOptionsAreRefusedByName) {
  for (const double size : {-5.0, 0.0, 1e9, std::nan("")}) {
    TownOptions options;
    options.size_m = size;
    const absl::Status status = BuildTown(options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("size"), absl::string_view::npos) << status;
  }
  TownOptions options;
  options.tree_density = 1.5;
  EXPECT_FALSE(Validate(options).ok());
}

}  // namespace
}  // namespace voxloc::sim
