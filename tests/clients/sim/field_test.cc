// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "clients/sim/drive.h"
#include "clients/sim/lidar.h"
#include "clients/sim/scenes.h"
#include "core/geometry/pose.h"
#include "tests/clients/sim/test_worlds.h"
#include "tests/support/simulated.h"

namespace voxloc::sim {
namespace {

FieldOptions SmallField(double relief_m, double posts_per_hectare) {
  FieldOptions options;
  options.size_m = 150.0;
  options.relief_m = relief_m;
  options.posts_per_hectare = posts_per_hectare;
  return options;
}

Pose Standing(double x, double y, double yaw_rad) {
  Pose pose;
  pose.translation = {x, y, 1.9};
  pose.rotation = Eigen::Quaterniond(Eigen::AngleAxisd(yaw_rad, Eigen::Vector3d::UnitZ()));
  return pose;
}

double MeanDifference(const PointCloud& a, const PointCloud& b) {
  double sum = 0.0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a.Point(i) - b.Point(i)).norm();
  return sum / static_cast<double>(a.size());
}

TEST(FieldTest, FlatAndBareItLooksTheSameFromEveryPlaceAndInEveryDirection) {
  const World world = *BuildField(SmallField(0.0, 0.0), kSight_m);
  const RayCaster caster(world.scene);
  const Lidar lidar = ExactLidar();
  const PointCloud scan = lidar.Scan(caster, Standing(0.0, 0.0, 0.0), 0);
  size_t found = 0;
  for (size_t i = 0; i < scan.size(); ++i) found += scan.Offset(i).isZero(0.0F) ? 0 : 1;
  EXPECT_GT(found, scan.size() / 3);
  for (const Eigen::Vector3d& other : {Eigen::Vector3d(0.3, 0.0, 0.0), Eigen::Vector3d(0, -7.7, 0),
                                       Eigen::Vector3d(0.0, 0.0, 0.7), Eigen::Vector3d(9, 4, -2)}) {
    const Pose moved = Standing(other.x(), other.y(), other.z());
    EXPECT_LT(MeanDifference(scan, lidar.Scan(caster, moved, 0)), 1e-5) << other.transpose();
  }
  for (const Eigen::Vector2d& junction : world.streets.junctions()) {
    const Pose moved = Standing(junction.x(), junction.y(), 1.0);
    EXPECT_LT(MeanDifference(scan, lidar.Scan(caster, moved, 0)), 1e-5) << junction.transpose();
  }
  Pose higher = Standing(0.0, 0.0, 0.0);
  higher.translation.z() += 0.02;
  EXPECT_GT(MeanDifference(scan, lidar.Scan(caster, higher, 0)), 0.02);
  for (const Eigen::Vector3d& about : {Eigen::Vector3d(1, 0, 0), Eigen::Vector3d(0, 1, 0)}) {
    Pose tilted = Standing(0.0, 0.0, 0.0);
    tilted.rotation = Eigen::Quaterniond(Eigen::AngleAxisd(0.005, about));
    EXPECT_GT(MeanDifference(scan, lidar.Scan(caster, tilted, 0)), 0.02);
  }
}

TEST(FieldTest, ReliefAndPostsMakeIntoAPlace) {
  const Lidar lidar = ExactLidar();
  for (const FieldOptions& options : {SmallField(2.0, 0.0), SmallField(0.0, 40.0)}) {
    const World world = *BuildField(options, kSight_m);
    const RayCaster caster(world.scene);
    const PointCloud scan = lidar.Scan(caster, Standing(0.0, 0.0, 0.0), 0);
    EXPECT_GT(MeanDifference(scan, lidar.Scan(caster, Standing(2.0, 0.0, 0.0), 0)), 0.01);
    EXPECT_GT(MeanDifference(scan, lidar.Scan(caster, Standing(0.0, 0.0, 0.2), 0)), 0.01);
  }
}

TEST(FieldTest, PostsAreAsManyAsAskedForAndOffTheTracks) {
  const World world = *BuildField(SmallField(0.5, 30.0), kSight_m);
  const Ground& ground = world.scene.ground();
  size_t posts = 0;
  for (const Solid& solid : world.scene.solids()) {
    const Eigen::Vector2d place = solid.center.head<2>();
    if (solid.shape == Shape::kCylinder && solid.label == Label::kPole) {
      ++posts;
      EXPECT_GT(world.streets.ClearanceFromStreets(place), 2.9);
      EXPECT_LT(solid.center.z() - solid.half_extent.z(), ground.Height(place.x(), place.y()));
    }
    EXPECT_GT(world.streets.DistanceToStreets(place), kLaneWidth_m);
  }
  const double hectares = 4.0 * ground.half_size_m() * ground.half_size_m() / 1e4;
  EXPECT_LT(static_cast<double>(posts), 1.1 * 20.0 * hectares);
  EXPECT_GT(static_cast<double>(posts), 0.75 * 20.0 * hectares);
}

TEST(FieldTest, DrivesTurnAndStayInSightOfGroundOnly) {
  const World world = *BuildField(SmallField(0.5, 10.0), kSight_m);
  DriveOptions options;
  options.scans = 120;
  options.rate_hz = 1.0;
  const std::vector<DrivePose> drive = *PlanDrive(world, options);
  double least = 1.0;
  for (const DrivePose& at : drive) {
    const Eigen::Vector3d& place = at.world_T_sensor.translation;
    EXPECT_NEAR(place.z() - world.scene.ground().Height(place.x(), place.y()), 1.9, 0.02);
    EXPECT_LT(place.head<2>().cwiseAbs().maxCoeff() + kSight_m, world.scene.ground().half_size_m());
    const Eigen::Vector3d ahead = at.world_T_sensor.rotation * Eigen::Vector3d::UnitX();
    const Eigen::Vector3d begin = drive.front().world_T_sensor.rotation * Eigen::Vector3d::UnitX();
    least = std::min(least, ahead.dot(begin));
  }
  EXPECT_LT(least, std::cos(M_PI / 3.0));
}

TEST(FieldTest, AbsurdOptionsAreRefusedByName) {
  const std::vector<std::pair<void (*)(FieldOptions&), const char*>> cases = {
      {[](FieldOptions& o) { o.size_m = 50.0; }, "size"},
      {[](FieldOptions& o) { o.relief_m = -1.0; }, "relief"},
      {[](FieldOptions& o) { o.posts_per_hectare = std::nan(""); }, "posts"}};
  for (const auto& [spoil, name] : cases) {
    FieldOptions options;
    spoil(options);
    const absl::Status status = BuildField(options, kSight_m).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find(name), absl::string_view::npos) << status;
  }
}

}  // namespace
}  // namespace voxloc::sim
