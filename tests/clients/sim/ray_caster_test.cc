// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "clients/sim/random.h"
#include "clients/sim/scenes.h"
#include "clients/sim/world.h"

namespace voxloc::sim {
namespace {

class RayCasterTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    TownOptions options;
    options.size_m = 160.0;
    options.seed = 5;
    town_ = new World(*BuildTown(options));
  }
  static void TearDownTestSuite() {
    delete town_;
    town_ = nullptr;
  }
  static Ray DrawRay(Random& random) {
    Eigen::Vector3d origin{random.Uniform(-70.0, 70.0), random.Uniform(-70.0, 70.0), 0.0};
    origin.z() = town_->scene.ground().Height(origin.x(), origin.y()) + random.Uniform(0.2, 6.0);
    const double azimuth = random.Uniform(-3.14, 3.14);
    const double elevation = random.Uniform(-0.6, 0.6);
    return {origin,
            {std::cos(elevation) * std::cos(azimuth), std::cos(elevation) * std::sin(azimuth),
             std::sin(elevation)}};
  }
  static World* town_;
};

World* RayCasterTest::town_ = nullptr;

TEST_F(RayCasterTest, TheHierarchyFindsWhatTryingEverySolidFinds) {
  const RayCaster caster(town_->scene);
  Random random(1);
  int solid_hits = 0;
  for (int i = 0; i < 3000; ++i) {
    const Ray ray = DrawRay(random);
    constexpr double kReach_m = 80.0;
    double nearest = town_->scene.ground().Intersect(ray, kReach_m);
    Label label = Label::kGround;
    for (const Solid& solid : town_->scene.solids()) {
      const double t = IntersectSolid(solid, ray);
      if (t < nearest && t < kReach_m) {
        nearest = t;
        label = solid.label;
      }
    }
    const RayHit hit = caster.Cast(ray, kReach_m);
    ASSERT_EQ(hit.range_m, nearest) << "ray " << i;
    if (nearest == kNoHit) continue;
    EXPECT_EQ(hit.label, label);
    if (label != Label::kGround) ++solid_hits;
  }
  EXPECT_GT(solid_hits, 1000);
}

TEST_F(RayCasterTest, RaysAlongTheAxesAreNotLost) {
  const RayCaster caster(town_->scene);
  Random random(2);
  for (int i = 0; i < 500; ++i) {
    Ray ray = DrawRay(random);
    ray.direction = Eigen::Vector3d::Unit(i % 3) * (i % 2 == 0 ? 1.0 : -1.0);
    double nearest = town_->scene.ground().Intersect(ray, 80.0);
    for (const Solid& solid : town_->scene.solids()) {
      nearest = std::min(nearest, IntersectSolid(solid, ray));
    }
    EXPECT_EQ(caster.Cast(ray, 80.0).range_m, nearest < 80.0 ? nearest : kNoHit);
  }
}

TEST_F(RayCasterTest, AHitCanBeSeenAndWhatLiesBehindCannot) {
  const RayCaster caster(town_->scene);
  Random random(3);
  for (int i = 0; i < 500; ++i) {
    const Ray ray = DrawRay(random);
    const RayHit hit = caster.Cast(ray, 80.0);
    if (hit.range_m == kNoHit) continue;
    EXPECT_TRUE(caster.Sees(ray.origin, ray.origin + hit.range_m * ray.direction));
    EXPECT_FALSE(caster.Sees(ray.origin, ray.origin + (hit.range_m + 0.1) * ray.direction));
  }
}

TEST_F(RayCasterTest, MovingObjectsStandInFrontOfTheTown) {
  const Ray ray = {{0.0, 0.0, 60.0}, {0.0, 0.0, -1.0}};
  Solid object;
  object.label = Label::kMovingObject;
  object.center = {0.0, 0.0, 50.0};
  const RayCaster caster(town_->scene, {object});
  const RayHit hit = caster.Cast(ray, 100.0);
  EXPECT_DOUBLE_EQ(hit.range_m, 9.0);
  EXPECT_EQ(hit.label, Label::kMovingObject);
  EXPECT_FALSE(caster.Sees(ray.origin, {0.0, 0.0, 45.0}));
  EXPECT_GT(RayCaster(town_->scene).Cast(ray, 100.0).range_m, 10.0);
}

TEST(EmptySceneTest, RaysIntoTheSkyMeetNothing) {
  const Scene scene(Ground(50.0), {});
  EXPECT_EQ(RayCaster(scene).Cast({{0.0, 0.0, 1.0}, {0.0, 0.0, 1.0}}, 100.0).range_m, kNoHit);
}

}  // namespace
}  // namespace voxloc::sim
