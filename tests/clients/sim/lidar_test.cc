// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/lidar.h"

#include <gtest/gtest.h>

#include <cmath>

#include "clients/sim/drive.h"
#include "clients/sim/map_changes.h"
#include "clients/sim/scenes.h"
#include "core/geometry/euler.h"
#include "tests/clients/sim/surface_distance.h"
#include "tests/clients/sim/test_worlds.h"
#include "tests/support/simulated.h"

namespace voxloc::sim {
namespace {

TEST(LidarTest, WithoutNoiseEveryPointLiesOnASurface) {
  TownOptions town_options;
  town_options.size_m = 200.0;
  const World town = *BuildTown(town_options);
  TrafficOptions traffic_options;
  traffic_options.cars_per_km = 60.0;
  traffic_options.pedestrians_per_km = 200.0;
  const Traffic traffic(town, traffic_options);
  DriveOptions drive_options;
  drive_options.scans = 4;
  drive_options.rate_hz = 0.2;
  LidarOptions options = ExactOptions();
  options.azimuth_steps = 60;
  options.rings = 24;
  const Lidar lidar(options);
  size_t points = 0;
  uint64_t number = 0;
  const std::vector<DrivePose> drive = *PlanDrive(town, drive_options);
  for (const DrivePose& at : drive) {
    const std::vector<Solid> moving = traffic.At(at.stamp_s, at.world_T_sensor.translation);
    const PointCloud scan = lidar.Scan(RayCaster(town.scene, moving), at.world_T_sensor, number++);
    for (size_t i = 0; i < scan.size(); ++i) {
      ASSERT_LT(SurfaceDistance(town.scene, moving, at.world_T_sensor * scan.Point(i)), 1e-5);
      ++points;
    }
  }
  EXPECT_GT(points, 3000U);
}

TEST(LidarTest, RingsAndStepsAreWhereTheyShouldBe) {
  // Inside a ball each ray has the same range, so the points are the directions.
  Solid ball;
  ball.shape = Shape::kEllipsoid;
  ball.half_extent = {10.0, 10.0, 10.0};
  const Scene scene(Ground(1.0, 1.0, [](double, double) { return -100.0; }), {ball});
  LidarOptions options = ExactOptions();
  options.rings = 5;
  options.min_elevation_deg = -20.0;
  options.max_elevation_deg = 20.0;
  options.azimuth_steps = 36;
  const PointCloud scan = Lidar(options).Scan(RayCaster(scene), Pose(), 0);
  ASSERT_EQ(scan.size(), 180U);
  const double phase = std::atan2(scan.Point(0).y(), scan.Point(0).x());
  EXPECT_GE(phase, 0.0);
  EXPECT_LT(phase, 10.0 * kRadiansPerDegree);
  for (size_t i = 0; i < scan.size(); ++i) {
    const Eigen::Vector3d point = scan.Point(i);
    EXPECT_NEAR(point.norm(), 10.0, 1e-5);
    EXPECT_NEAR(std::asin(point.z() / 10.0), (-20.0 + 10.0 * double(i % 5)) * kRadiansPerDegree,
                1e-5);
    const double azimuth = phase + 10.0 * kRadiansPerDegree * double(i / 5);
    EXPECT_NEAR(
        std::remainder(std::atan2(point.y(), point.x()) - azimuth, 360.0 * kRadiansPerDegree), 0.0,
        1e-5);
  }
}

TEST(LidarTest, NoiseHasItsDeviationAndNoBias) {
  Solid ball;
  ball.shape = Shape::kEllipsoid;
  ball.half_extent = {10.0, 10.0, 10.0};
  const Scene scene(Ground(1.0, 1.0, [](double, double) { return -100.0; }), {ball});
  LidarOptions options;
  options.range_noise_m = 0.02;
  options.dropout = 0.25;
  const Lidar lidar(options);
  double sum = 0.0;
  double squares = 0.0;
  double count = 0.0;
  double rays = 0.0;
  for (uint64_t number = 0; number < 3; ++number) {
    const PointCloud scan = lidar.Scan(RayCaster(scene), Pose(), number);
    rays += static_cast<double>(lidar.rays_per_scan());
    for (size_t i = 0; i < scan.size(); ++i) {
      const double error = scan.Point(i).norm() - 10.0;
      sum += error;
      squares += error * error;
      count += 1.0;
    }
  }
  EXPECT_NEAR(sum / count, 0.0, 3e-4);
  EXPECT_NEAR(std::sqrt(squares / count), 0.02, 3e-4);
  EXPECT_NEAR(count / rays, 0.75, 0.01);
}

TEST(LidarTest, MissingReturnsAreLeftOutOrZeros) {
  const Scene scene(Ground(30.0), {});
  Pose pose;
  pose.translation.z() = 2.0;
  LidarOptions options = ExactOptions();
  options.max_range_m = 20.0;
  options.min_range_m = 6.0;
  const PointCloud found = Lidar(options).Scan(RayCaster(scene), pose, 0);
  options.keep_missing = true;
  const PointCloud all = Lidar(options).Scan(RayCaster(scene), pose, 0);
  EXPECT_EQ(all.size(), 57600U);
  EXPECT_LT(found.size(), 57600U / 2);
  EXPECT_GT(found.size(), 1000U);
  size_t zeros = 0;
  for (size_t i = 0; i < all.size(); ++i) zeros += all.Offset(i).isZero(0.0F) ? 1 : 0;
  EXPECT_EQ(zeros + found.size(), all.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_GE(found.Point(i).norm(), 6.0 - 1e-5);
    EXPECT_LE(found.Point(i).norm(), 20.0 + 1e-5);
  }
}

TEST(LidarTest, ScansAreReproducibleAndDifferFromEachOther) {
  const Scene scene(Ground(30.0), {});
  Pose pose;
  pose.translation.z() = 2.0;
  const Lidar lidar{LidarOptions()};
  const PointCloud a = lidar.Scan(RayCaster(scene), pose, 3);
  EXPECT_EQ(a.x, lidar.Scan(RayCaster(scene), pose, 3).x);
  EXPECT_NE(a.x, lidar.Scan(RayCaster(scene), pose, 4).x);
  LidarOptions other;
  other.seed = 2;
  EXPECT_NE(a.x, Lidar(other).Scan(RayCaster(scene), pose, 3).x);
}

TEST(LidarTest, RaysLeaveFromWhereTheSensorIsAtTheirMoment) {
  // Straight ahead at 10 m/s while turning left at 1 rad/s, in a room of known walls.
  constexpr double kSpeed_mps = 10.0;
  constexpr double kTurn_radps = 1.0;
  constexpr double kDuration_s = 0.1;
  Solid room;
  room.half_extent = {20.0, 15.0, 8.0};
  const Scene scene(Ground(1.0, 1.0, [](double, double) { return -100.0; }), {room});
  const RayCaster caster(scene);
  const auto pose_at = [&](double time_s) {
    Pose pose;
    pose.translation.x() = kSpeed_mps * time_s;
    pose.rotation =
        Eigen::Quaterniond(Eigen::AngleAxisd(kTurn_radps * time_s, Eigen::Vector3d::UnitZ()));
    return pose;
  };
  LidarOptions options = ExactOptions();
  options.azimuth_steps = 360;
  const Sweep sweep = Lidar(options).ScanWhileMoving(
      [&](double time_s) {
        return SweepMoment{pose_at(time_s), &caster};
      },
      kDuration_s, 0);
  ASSERT_EQ(sweep.cloud.size(), 360U * 32U);
  ASSERT_EQ(sweep.time_s.size(), sweep.cloud.size());
  const auto wall_distance = [&](const Eigen::Vector3d& point) {
    return (room.half_extent - point.cwiseAbs()).cwiseAbs().minCoeff();
  };
  double largest = 0.0;
  for (size_t i = 0; i < sweep.cloud.size(); ++i) {
    const double time_s = static_cast<double>(sweep.time_s[i]);
    EXPECT_NEAR(time_s, kDuration_s * double(i / 32) / 360.0, 1e-8);
    EXPECT_LT(wall_distance(pose_at(time_s) * sweep.cloud.Point(i)), 2e-5);
    largest = std::max(largest, wall_distance(sweep.cloud.Point(i)));
  }
  // Without the motion the points are off by up to a metre and 0.1 rad.
  EXPECT_GT(largest, 0.5);
  EXPECT_LT(largest, 5.0);
}

TEST(LidarTest, AbsurdOptionsAreRefused) {
  for (const auto& spoil : std::vector<void (*)(LidarOptions&)>{
           [](LidarOptions& o) { o.rings = 0; }, [](LidarOptions& o) { o.azimuth_steps = 0; },
           [](LidarOptions& o) { o.range_noise_m = -0.1; },
           [](LidarOptions& o) { o.max_range_m = -1.0; },
           [](LidarOptions& o) { o.min_range_m = 200.0; },
           [](LidarOptions& o) { o.max_elevation_deg = -30.0; },
           [](LidarOptions& o) { o.dropout = std::nan(""); },
           [](LidarOptions& o) {
             o.rings = 256;
             o.azimuth_steps = 36000;
           }}) {
    LidarOptions options;
    spoil(options);
    EXPECT_EQ(Validate(options).code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(Validate(LidarOptions()).ok());
}

}  // namespace
}  // namespace voxloc::sim
