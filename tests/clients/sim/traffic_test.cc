// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "clients/sim/map_changes.h"
#include "clients/sim/scenes.h"
#include "tests/clients/sim/test_worlds.h"

namespace voxloc::sim {
namespace {

TEST(TrafficTest, ThereIsNoneUnlessAskedFor) {
  const World town = SmallTown();
  EXPECT_TRUE(Traffic(town, {}).At(1.0, {0.0, 0.0, 0.0}).empty());
}

TEST(TrafficTest, IsAsDenseAsAskedFor) {
  const World town = SmallTown();
  double length_km = 0.0;
  for (const Street& street : town.streets.streets()) length_km += street.length_m / 1000.0;
  TrafficOptions options;
  options.cars_per_km = 50.0;
  options.pedestrians_per_km = 200.0;
  const Traffic traffic(town, options);
  EXPECT_NEAR(static_cast<double>(traffic.size()), 250.0 * length_km, 40.0);
}

TEST(TrafficTest, MovesOnTheGroundFromStampToStamp) {
  const World town = SmallTown();
  TrafficOptions options;
  options.cars_per_km = 30.0;
  options.pedestrians_per_km = 60.0;
  const Traffic traffic(town, options);
  const Eigen::Vector3d nowhere(1e4, 1e4, 0.0);
  const std::vector<Solid> now = traffic.At(3.0, nowhere);
  const std::vector<Solid> again = traffic.At(3.0, nowhere);
  const std::vector<Solid> later = traffic.At(3.1, nowhere);
  ASSERT_EQ(now.size(), later.size());
  size_t moved = 0;
  for (size_t i = 0; i < now.size(); ++i) {
    EXPECT_EQ(now[i].label, Label::kMovingObject);
    EXPECT_EQ(now[i].center, again[i].center);
    const double ground = town.scene.ground().Height(now[i].center.x(), now[i].center.y());
    EXPECT_GT(now[i].center.z(), ground);
    EXPECT_LT(now[i].center.z(), ground + 3.0);
    const double step_m = (later[i].center - now[i].center).norm();
    if (step_m > 0.05 && step_m < 1.3) ++moved;
  }
  EXPECT_GT(static_cast<double>(moved), 0.95 * static_cast<double>(now.size()));
}

TEST(TrafficTest, KeepsClearOfTheVehicle) {
  const World town = SmallTown();
  TrafficOptions options;
  options.cars_per_km = 200.0;
  options.pedestrians_per_km = 500.0;
  const Traffic traffic(town, options);
  const Eigen::Vector2d lane = town.streets.streets()[0].PointAt(25.0, 1.6);
  const Eigen::Vector3d ego(lane.x(), lane.y(), 1.9);
  for (double stamp_s = 0.0; stamp_s < 20.0; stamp_s += 0.5) {
    for (const Solid& solid : traffic.At(stamp_s, ego)) {
      const Aabb bounds = BoundsOf(solid);
      const Eigen::Vector3d nearest = ego.cwiseMax(bounds.min).cwiseMin(bounds.max);
      EXPECT_GT((nearest - ego).head<2>().norm(), 1.0);
    }
  }
}

TEST(TrafficTest, AbsurdOptionsAreRefused) {
  TrafficOptions options;
  options.cars_per_km = -1.0;
  EXPECT_FALSE(Validate(options).ok());
}

}  // namespace
}  // namespace voxloc::sim
