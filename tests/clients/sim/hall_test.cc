// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "clients/sim/scenes.h"
#include "clients/sim/world.h"
#include "core/geometry/euler.h"
#include "tests/clients/sim/drive_clearance.h"
#include "tests/support/simulated.h"

namespace voxloc::sim {
namespace {

std::vector<DrivePose> DriveThroughHall(const World& world, uint64_t seed) {
  DriveOptions options;
  options.seed = seed;
  options.scans = 120;
  options.rate_hz = 2.0;
  options.max_speed_mps = 3.0;
  return *PlanDrive(world, options);
}

TEST(HallTest, SeedsGiveSizesWithinTheLimitsAndOtherLayouts) {
  std::set<size_t> solids;
  for (uint64_t seed = 101; seed < 121; ++seed) {
    const HallOptions options = SeededHall(seed);
    EXPECT_TRUE(Validate(options).ok()) << seed;
    HallOptions same_size;
    same_size.seed = seed;
    solids.insert(BuildHall(same_size)->scene.solids().size());
  }
  EXPECT_GT(solids.size(), 12U);
}

TEST(HallTest, TheSameSeedGivesTheSameHall) {
  const World a = *BuildHall(SeededHall(7));
  const World b = *BuildHall(SeededHall(7));
  ASSERT_EQ(a.scene.solids().size(), b.scene.solids().size());
  for (size_t i = 0; i < a.scene.solids().size(); ++i) {
    EXPECT_EQ(a.scene.solids()[i].center, b.scene.solids()[i].center);
    EXPECT_EQ(a.scene.solids()[i].half_extent, b.scene.solids()[i].half_extent);
  }
}

TEST(HallTest, RaysEndAtWallsAndRoofOfTheGivenSize) {
  HallOptions options;
  options.seed = 8;
  options.width_m = 31.0;
  options.length_m = 47.0;
  options.height_m = 7.5;
  const World world = *BuildHall(options);
  const RayCaster caster(world.scene);
  const Eigen::Vector3d x_axis(world.streets.streets()[0].direction.x(),
                               world.streets.streets()[0].direction.y(), 0.0);
  const Eigen::Vector3d y_axis = Eigen::Vector3d::UnitZ().cross(x_axis);
  double reach_x = 0.0;
  double reach_y = 0.0;
  double top = 0.0;
  for (const DrivePose& at : DriveThroughHall(world, 1)) {
    for (int i = 0; i < 90; ++i) {
      for (const double climb : {-0.2, 0.3, 2.0}) {
        const double angle = 4.0 * i * kRadiansPerDegree;
        const Eigen::Vector3d direction =
            Eigen::Vector3d(std::cos(angle), std::sin(angle), climb).normalized();
        const RayHit hit = caster.Cast({at.world_T_sensor.translation, direction}, 200.0);
        ASSERT_LT(hit.range_m, 200.0);
        const Eigen::Vector3d point = at.world_T_sensor.translation + hit.range_m * direction;
        reach_x = std::max(reach_x, std::abs(point.dot(x_axis)));
        reach_y = std::max(reach_y, std::abs(point.dot(y_axis)));
        top = std::max(top, point.z());
      }
    }
  }
  EXPECT_NEAR(reach_x, 15.5, 1e-9);
  EXPECT_NEAR(reach_y, 23.5, 1e-9);
  EXPECT_NEAR(top, 7.5, 1e-9);
}

TEST(HallTest, DrivesTouchNothing) {
  for (uint64_t seed = 101; seed < 109; ++seed) {
    const World world = *BuildHall(SeededHall(seed));
    EXPECT_GT(LeastClearance(world, DriveThroughHall(world, seed)), 0.1) << seed;
  }
  HallOptions least;
  least.width_m = 20.0;
  least.length_m = 25.0;
  const World world = *BuildHall(least);
  EXPECT_GT(LeastClearance(world, DriveThroughHall(world, 1)), 0.1);
}

TEST(HallTest, AbsurdOptionsAreRefusedByName) {
  const std::vector<std::pair<void (*)(HallOptions&), const char*>> cases = {
      {[](HallOptions& o) { o.width_m = 10.0; }, "width"},
      {[](HallOptions& o) { o.length_m = std::nan(""); }, "length"},
      {[](HallOptions& o) { o.height_m = 100.0; }, "height"}};
  for (const auto& [spoil, name] : cases) {
    HallOptions options;
    spoil(options);
    const absl::Status status = BuildHall(options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find(name), absl::string_view::npos) << status;
  }
}

}  // namespace
}  // namespace voxloc::sim
