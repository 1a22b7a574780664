// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <vector>

#include "clients/sim/scenes.h"
#include "clients/sim/world.h"
#include "tests/clients/sim/drive_clearance.h"
#include "tests/clients/sim/test_worlds.h"
#include "tests/support/simulated.h"

namespace voxloc::sim {
namespace {

World RoomsOf(uint64_t seed) {
  RoomsOptions options;
  options.seed = seed;
  return *BuildRooms(options);
}

std::vector<DrivePose> DriveThroughRooms(const World& world, uint64_t seed, int scans = 400) {
  DriveOptions options;
  options.seed = seed;
  options.scans = scans;
  options.rate_hz = 4.0;
  options.max_speed_mps = 1.0;
  options.sensor_height_m = 0.6;
  return *PlanDrive(world, options);
}

TEST(RoomsTest, SeedsGiveOtherBuildingsAndTheSameSeedTheSame) {
  std::set<size_t> solids;
  for (uint64_t seed = 101; seed < 121; ++seed) {
    solids.insert(RoomsOf(seed).scene.solids().size());
  }
  EXPECT_GT(solids.size(), 15U);
  const World a = RoomsOf(7);
  const World b = RoomsOf(7);
  ASSERT_EQ(a.scene.solids().size(), b.scene.solids().size());
  for (size_t i = 0; i < a.scene.solids().size(); ++i) {
    EXPECT_EQ(a.scene.solids()[i].center, b.scene.solids()[i].center);
    EXPECT_EQ(a.scene.solids()[i].half_extent, b.scene.solids()[i].half_extent);
  }
}

TEST(RoomsTest, NoRayLeavesTheBuilding) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const World world = RoomsOf(seed);
    const RayCaster caster(world.scene);
    const double half_m = world.scene.ground().half_size_m();
    double top_m = 0.0;
    for (const DrivePose& at : DriveThroughRooms(world, seed, 60)) {
      for (int i = 0; i < 60; ++i) {
        for (const double climb : {-0.3, 0.0, 0.2, 1.0}) {
          const double angle = 2.0 * M_PI * i / 60.0;
          const Eigen::Vector3d direction =
              Eigen::Vector3d(std::cos(angle), std::sin(angle), climb).normalized();
          const RayHit hit = caster.Cast({at.world_T_sensor.translation, direction}, 100.0);
          ASSERT_LT(hit.range_m, 100.0) << seed;
          const Eigen::Vector3d point = at.world_T_sensor.translation + hit.range_m * direction;
          EXPECT_LT(point.head<2>().norm(), half_m) << seed;
          top_m = std::max(top_m, point.z());
        }
      }
    }
    EXPECT_GE(top_m, 2.4) << seed;
    EXPECT_LE(top_m, 4.5 + 1e-9) << seed;
  }
}

TEST(RoomsTest, ARobotTouchesNothing) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const World world = RoomsOf(seed);
    // 0.6 m long and 0.5 m wide, from the floor to its sensor.
    const VehicleBody robot = {0.3, 0.25, -0.55, 0.0};
    EXPECT_GT(LeastClearance(world, DriveThroughRooms(world, seed), robot), 0.03) << seed;
  }
}

TEST(RoomsTest, ADriveSeesMostOfTheBuilding) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const World world = RoomsOf(seed);
    const std::vector<Street>& ways = world.streets.streets();
    RouteBuilder route(world.streets, seed);
    for (size_t i = 0; i < 3 * ways.size(); ++i) EXPECT_TRUE(route.Extend());
    std::vector<bool> seen(ways.size(), false);
    for (const RoutePoint& point : route.points()) {
      for (size_t i = 0; i < ways.size(); ++i) {
        const double along_m = (point.position - ways[i].start).dot(ways[i].direction);
        if (along_m < ways[i].clear_m || along_m > ways[i].length_m - ways[i].clear_m) continue;
        if (ways[i].DistanceTo(point.position) < 1e-6) seen[i] = true;
      }
    }
    const auto count = std::count(seen.begin(), seen.end(), true);
    EXPECT_GT(static_cast<double>(count), 0.8 * static_cast<double>(seen.size())) << seed;
  }
}

TEST(RoomsTest, TurnsAreSmooth) {
  const World world = RoomsOf(2);
  RouteBuilder route(world.streets, 2);
  for (int i = 0; i < 200; ++i) route.Extend();
  for (size_t i = 1; i < route.points().size(); ++i) {
    const RoutePoint& from = route.points()[i - 1];
    const RoutePoint& to = route.points()[i];
    EXPECT_LT(std::abs(to.heading_rad - from.heading_rad), 0.25);
    EXPECT_NEAR(to.heading_rad - from.heading_rad,
                0.5 * (from.curvature + to.curvature) * (to.arc_m - from.arc_m), 0.03);
  }
}

TEST(RoomsTest, TheMapHasWhatTheScansSee) {
  const World world = RoomsOf(3);
  MapSamplingOptions options;
  options.spacing_m = 0.1;
  options.noise_m = 0.0;
  const PointCloud map = *SampleMap(world, options, 0);
  // Cubes of 0.2 m that have map points, and their neighbours.
  std::set<std::array<int, 3>> cubes;
  const auto cube_of = [](const Eigen::Vector3d& point) {
    return std::array<int, 3>{static_cast<int>(std::floor(point.x() / 0.2)),
                              static_cast<int>(std::floor(point.y() / 0.2)),
                              static_cast<int>(std::floor(point.z() / 0.2))};
  };
  for (size_t i = 0; i < map.size(); ++i) cubes.insert(cube_of(map.Point(i)));
  const Lidar lidar = ExactLidar();
  const RayCaster caster(world.scene);
  size_t seen = 0;
  size_t mapped = 0;
  uint64_t scan_number = 0;
  for (const DrivePose& at : DriveThroughRooms(world, 1, 40)) {
    const PointCloud scan = lidar.Scan(caster, at.world_T_sensor, scan_number++);
    for (size_t i = 0; i < scan.size(); i += 11) {
      if (scan.Point(i).isZero(0.0)) continue;
      const std::array<int, 3> cube = cube_of(at.world_T_sensor * scan.Point(i));
      bool near = false;
      for (int x = -1; x <= 1; ++x) {
        for (int y = -1; y <= 1; ++y) {
          for (int z = -1; z <= 1; ++z) {
            near |= cubes.count({cube[0] + x, cube[1] + y, cube[2] + z}) > 0;
          }
        }
      }
      ++seen;
      if (near) ++mapped;
    }
  }
  EXPECT_GT(seen, 5000U);
  EXPECT_GT(static_cast<double>(mapped), 0.98 * static_cast<double>(seen));
}

}  // namespace
}  // namespace voxloc::sim
