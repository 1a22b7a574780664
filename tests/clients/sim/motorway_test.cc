// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "clients/sim/scenes.h"
#include "clients/sim/world.h"
#include "tests/clients/sim/drive_clearance.h"
#include "tests/support/simulated.h"

namespace voxloc::sim {
namespace {

constexpr double kMotorwaySight_m = 60.0;

MotorwayOptions Short(uint64_t seed) {
  MotorwayOptions options;
  options.seed = seed;
  options.length_m = 700.0;
  return options;
}

DriveOptions Fast(uint64_t seed) {
  DriveOptions options;
  options.seed = seed;
  options.scans = 94;
  options.rate_hz = 4.0;
  options.max_speed_mps = 28.0;
  return options;
}

TEST(MotorwayTest, TheDriveGoesFromOneEndToTheOtherWithoutBraking) {
  for (uint64_t seed = 101; seed < 105; ++seed) {
    const World world = *BuildMotorway(Short(seed), kMotorwaySight_m);
    DriveOptions options = Fast(seed);
    const auto drive = PlanDrive(world, options);
    ASSERT_TRUE(drive.ok()) << drive.status();
    for (const DrivePose& at : *drive) EXPECT_GT(at.speed_mps, 20.0);
    options.scans = 110;  // 763 m
    EXPECT_EQ(PlanDrive(world, options).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(MotorwayTest, RailsStandOnBothSidesOfTheRightCarriageway) {
  const World world = *BuildMotorway(Short(8), kMotorwaySight_m);
  const RayCaster caster(world.scene);
  int left_rail = 0;
  int right_rail = 0;
  int all = 0;
  const std::vector<DrivePose> drive = *PlanDrive(world, Fast(1));
  for (const DrivePose& at : drive) {
    const Eigen::Vector3d eye = at.world_T_sensor * Eigen::Vector3d(0.0, 0.0, -1.3);
    const Eigen::Vector3d left = at.world_T_sensor.rotation * Eigen::Vector3d::UnitY();
    // The right lane is 7.6 m from the centre line; the rails' faces are at 0.54 and 11.96 m.
    const double to_left = caster.Cast({eye, left}, 100.0).range_m;
    const double to_right = caster.Cast({eye, -left}, 100.0).range_m;
    ++all;
    if (std::abs(to_left - 7.06) < 0.3) ++left_rail;
    if (std::abs(to_right - 4.36) < 0.3) ++right_rail;
  }
  // In bends the vehicle leaves the middle of its lane.
  EXPECT_GT(left_rail, all * 3 / 4);
  EXPECT_GT(right_rail, all * 3 / 4);
}

TEST(MotorwayTest, TheRoadBedIsLevelAcrossAndTheLandIsNot) {
  const World world = *BuildMotorway(Short(9), kMotorwaySight_m);
  const Ground& ground = world.scene.ground();
  double across = 0.0;
  double beyond = 0.0;
  for (const Street& street : world.streets.streets()) {
    for (double along_m = 0.0; along_m < street.length_m; along_m += 10.0) {
      const auto height = [&](double right_m) {
        const Eigen::Vector2d place = street.PointAt(along_m, right_m);
        return ground.Height(place.x(), place.y());
      };
      across = std::max(across, std::abs(height(9.0) - height(-9.0)));
      beyond = std::max(beyond, std::abs(height(30.0) - height(0.0)));
    }
  }
  EXPECT_LT(across, 1.0);
  EXPECT_GT(beyond, 1.5);
}

TEST(MotorwayTest, SeedsGiveOtherBendsBridgesAndWalls) {
  std::set<size_t> solids;
  for (uint64_t seed = 101; seed < 109; ++seed) {
    const World world = *BuildMotorway(Short(seed), kMotorwaySight_m);
    solids.insert(world.scene.solids().size());
    const auto& streets = world.streets.streets();
    EXPECT_TRUE(world.streets.IsLine());
    double turned = 0.0;
    for (size_t i = 1; i < streets.size(); ++i) {
      const double angle =
          std::acos(std::min(1.0, streets[i].direction.dot(streets[i - 1].direction)));
      EXPECT_LT(angle, 0.07);
      turned += angle;
    }
    EXPECT_GT(turned, 0.02);
  }
  EXPECT_GT(solids.size(), 6U);
}

TEST(MotorwayTest, DrivesTouchNothing) {
  for (uint64_t seed = 101; seed < 109; ++seed) {
    const World world = *BuildMotorway(Short(seed), kMotorwaySight_m);
    EXPECT_GT(LeastClearance(world, *PlanDrive(world, Fast(seed))), 1.0) << seed;
  }
}

TEST(MotorwayTest, AbsurdOptionsAreRefusedByName) {
  MotorwayOptions options;
  options.length_m = 10.0;
  EXPECT_NE(BuildMotorway(options, kMotorwaySight_m).status().message().find("length"),
            absl::string_view::npos);
  options = MotorwayOptions();
  options.relief_m = std::nan("");
  EXPECT_NE(BuildMotorway(options, kMotorwaySight_m).status().message().find("relief"),
            absl::string_view::npos);
}

}  // namespace
}  // namespace voxloc::sim
