// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "clients/sim/scenes.h"
#include "tests/clients/sim/drive_clearance.h"
#include "tests/support/simulated.h"

namespace voxloc::sim {
namespace {

constexpr double kForestSight_m = 60.0;

ForestOptions SmallForest(uint64_t seed) {
  ForestOptions options;
  options.seed = seed;
  options.size_m = 120.0;
  return options;
}

std::vector<DrivePose> DriveThroughForest(const World& world, uint64_t seed) {
  DriveOptions options;
  options.seed = seed;
  options.scans = 120;
  options.rate_hz = 2.0;
  options.max_speed_mps = 5.0;
  return *PlanDrive(world, options);
}

// Upright cylinders taller than any stump.
size_t CountTrunks(const World& world) {
  size_t trunks = 0;
  for (const Solid& solid : world.scene.solids()) {
    if (solid.shape == Shape::kCylinder && solid.map_R_local(2, 2) > 0.9 &&
        solid.half_extent.z() > 2.0) {
      ++trunks;
    }
  }
  return trunks;
}

TEST(ForestTest, TreesAreAsManyAsAskedForAndOffTheTracks) {
  const World world = *BuildForest(SmallForest(7), kForestSight_m);
  const double hectares = 0.0001 * 200.0 * 200.0;  // 40 m beyond the square
  const double trunks = static_cast<double>(CountTrunks(world));
  EXPECT_LT(trunks, 400.0 * hectares);
  EXPECT_GT(trunks, 0.6 * 400.0 * hectares);  // the tracks take their room
  for (const Solid& solid : world.scene.solids()) {
    if (solid.shape != Shape::kCylinder || solid.map_R_local(2, 2) < 0.9) continue;
    const Eigen::Vector3d foot = solid.center - solid.half_extent.z() * solid.map_R_local.col(2);
    EXPECT_GT(world.streets.ClearanceFromStreets(foot.head<2>()), 0.6);
    EXPECT_LT(foot.z(), world.scene.ground().Height(foot.x(), foot.y()));
  }
  ForestOptions bare = SmallForest(7);
  bare.trees_per_hectare = 0.0;
  EXPECT_TRUE(BuildForest(bare, kForestSight_m)->scene.solids().empty());
}

TEST(ForestTest, TheGroundUndulates) {
  const World world = *BuildForest(SmallForest(7), kForestSight_m);
  double rolls = 0.0;
  double pitches = 0.0;
  double count = 0.0;
  for (const DrivePose& at : DriveThroughForest(world, 1)) {
    const Eigen::Matrix3d rotation = at.world_T_sensor.rotation.toRotationMatrix();
    pitches += std::pow(std::asin(rotation(2, 0)), 2);
    rolls += std::pow(std::asin(rotation(2, 1)), 2);
    count += 1.0;
  }
  for (const double squares : {rolls, pitches}) {
    EXPECT_GT(std::sqrt(squares / count), 0.01);
    EXPECT_LT(std::sqrt(squares / count), 0.12);
  }
}

TEST(ForestTest, SeedsGiveOtherForestsAndTheSameSeedTheSame) {
  const World a = *BuildForest(SmallForest(7), kForestSight_m);
  const World b = *BuildForest(SmallForest(7), kForestSight_m);
  const World other = *BuildForest(SmallForest(8), kForestSight_m);
  ASSERT_EQ(a.scene.solids().size(), b.scene.solids().size());
  for (size_t i = 0; i < a.scene.solids().size(); ++i) {
    EXPECT_EQ(a.scene.solids()[i].center, b.scene.solids()[i].center);
  }
  EXPECT_NE(a.streets.junctions(), other.streets.junctions());
  EXPECT_NE(a.scene.ground().Height(11.0, 13.0), other.scene.ground().Height(11.0, 13.0));
}

TEST(ForestTest, DrivesTouchNothing) {
  for (uint64_t seed = 101; seed < 105; ++seed) {
    const World world = *BuildForest(SmallForest(seed), kForestSight_m);
    EXPECT_GT(LeastClearance(world, DriveThroughForest(world, seed)), 0.0) << seed;
  }
}

TEST(ForestTest, AbsurdOptionsAreRefusedByName) {
  const std::vector<std::pair<void (*)(ForestOptions&), const char*>> cases = {
      {[](ForestOptions& o) { o.size_m = 50.0; }, "size"},
      {[](ForestOptions& o) { o.relief_m = -1.0; }, "relief"},
      {[](ForestOptions& o) { o.trees_per_hectare = std::nan(""); }, "trees"}};
  for (const auto& [spoil, name] : cases) {
    ForestOptions options;
    spoil(options);
    const absl::Status status = BuildForest(options, kForestSight_m).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find(name), absl::string_view::npos) << status;
  }
}

}  // namespace
}  // namespace voxloc::sim
