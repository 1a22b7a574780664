// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "clients/sim/simulation.h"
#include "tests/clients/sim/drive_clearance.h"
#include "tests/support/simulated.h"

namespace voxloc::sim {
namespace {

World RouteOf(uint64_t seed, double tunnel_length_m = 1000.0) {
  RouteOptions options;
  options.seed = seed;
  options.tunnel_length_m = tunnel_length_m;
  return *BuildRoute(options);
}

// The longest drive of whole seconds that the route has space for.
Drive WholeDrive(const World& world, double rate_hz) {
  DriveOptions options;
  options.max_speed_mps = 28.0;
  options.rate_hz = 1.0;
  options.scans = 2;
  while (Drive::Plan(world, options).ok()) options.scans += 100;
  while (!Drive::Plan(world, options).ok()) --options.scans;
  options.scans = static_cast<int>((options.scans - 1) * rate_hz) + 1;
  options.rate_hz = rate_hz;
  return *Drive::Plan(world, options);
}

std::vector<std::string> NamesOf(const std::vector<PartOfDrive>& parts) {
  std::vector<std::string> names;
  for (const PartOfDrive& part : parts) names.push_back(part.name);
  return names;
}

TEST(RouteSceneTest, PassesItsPartsInOrderAndSaysWhereTheyBegin) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const double tunnel_m = seed == 3 ? 400.0 : 1000.0;
    const World world = RouteOf(seed, tunnel_m);
    const Drive drive = WholeDrive(world, 1.0);
    const double last_s = drive.Scans().back().stamp_s;
    const std::vector<PartOfDrive> parts = PartsOf(world, drive, last_s);
    ASSERT_EQ(NamesOf(parts),
              (std::vector<std::string>{"town", "road", "tunnel", "road", "motorway", "road",
                                        "town", "road", "garage"}));
    EXPECT_EQ(parts[0].from_m, 0.0);
    EXPECT_NEAR(parts[3].from_m - parts[2].from_m, tunnel_m, 1.0);
    EXPECT_NEAR(parts[5].from_m - parts[4].from_m, 1580.0, 10.0);
    EXPECT_GT(drive.route().back().arc_m, 3500.0 + tunnel_m);
    EXPECT_LT(drive.route().back().arc_m, 6000.0 + tunnel_m);
    // A drive that ends in the tunnel does not reach what comes then.
    EXPECT_EQ(PartsOf(world, drive, parts[2].from_s + 1.0).size(), 3U);
  }
}

TEST(RouteSceneTest, TheSameSeedGivesTheSameRouteAndOthersOtherOnes) {
  const World a = RouteOf(5);
  const World b = RouteOf(5);
  ASSERT_EQ(a.scene.solids().size(), b.scene.solids().size());
  for (size_t i = 0; i < a.scene.solids().size(); i += 7) {
    EXPECT_EQ(a.scene.solids()[i].center, b.scene.solids()[i].center);
  }
  std::set<double> lengths;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    double length_m = 0.0;
    const World world = RouteOf(seed);
    for (const Street& street : world.streets.streets()) length_m += street.length_m;
    lengths.insert(length_m);
  }
  EXPECT_EQ(lengths.size(), 4U);
}

TEST(RouteSceneTest, HeightsAndHeadingsAreContinuousAndEachPartHasItsSpeed) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const World world = RouteOf(seed);
    const Drive drive = WholeDrive(world, 10.0);
    const std::vector<DrivePose> poses = drive.Scans();
    const std::vector<PartOfDrive> parts = PartsOf(world, drive, poses.back().stamp_s);
    std::map<std::string, double> fastest;
    size_t part = 0;
    for (size_t i = 1; i < poses.size(); ++i) {
      const Pose& from = poses[i - 1].world_T_sensor;
      const Pose& to = poses[i].world_T_sensor;
      const Eigen::Vector3d step = to.translation - from.translation;
      ASSERT_LT(step.norm(), 0.1 * 28.0 * 1.05);
      // Ramps of a garage rise by up to 0.14.
      EXPECT_LT(std::abs(step.z()), 0.15 * step.head<2>().norm() + 0.01)
          << seed << ' ' << poses[i].stamp_s;
      EXPECT_LT(RotationDistance(from, to), 0.1) << seed << ' ' << poses[i].stamp_s;
      while (part + 1 < parts.size() && poses[i].stamp_s >= parts[part + 1].from_s) ++part;
      double& speed_mps = fastest[parts[part].name];
      speed_mps = std::max(speed_mps, poses[i].speed_mps);
    }
    EXPECT_NEAR(fastest["town"], 8.0, 0.1);
    EXPECT_NEAR(fastest["tunnel"], 14.0, 0.1);
    EXPECT_NEAR(fastest["motorway"], 28.0, 0.1);
    EXPECT_NEAR(fastest["garage"], 4.0, 0.1);
  }
}

TEST(RouteSceneTest, TheTunnelIsClosedInsideAndOpenBeforeAndBehind) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    const World world = RouteOf(seed);
    const RayCaster caster(world.scene);
    const Street& tunnel = world.streets.streets()[world.parts[2].first_street];
    EXPECT_NEAR(tunnel.length_m, 1000.0, 1e-6);
    const auto eye_at = [&](double along_m) {
      const Eigen::Vector2d place = tunnel.PointAt(along_m, 1.6);
      return Eigen::Vector3d(world.scene.ground().PointAt(place) + 1.9 * Eigen::Vector3d::UnitZ());
    };
    const Eigen::Vector3d axis(tunnel.direction.x(), tunnel.direction.y(), 0.0);
    for (const double along_m : {2.0, 150.0, 500.0, 850.0, 998.0}) {
      for (int i = 0; i < 90; ++i) {
        // Across the axis, all around.
        const double angle = 2.0 * M_PI * i / 90.0;
        const Eigen::Vector3d direction = std::cos(angle) * axis.cross(Eigen::Vector3d::UnitZ()) +
                                          std::sin(angle) * Eigen::Vector3d::UnitZ();
        EXPECT_LT(caster.Cast({eye_at(along_m), direction}, 200.0).range_m, 15.0)
            << seed << ' ' << along_m << ' ' << angle;
      }
      const Eigen::Vector3d oblique = (axis + 0.3 * Eigen::Vector3d::UnitZ()).normalized();
      if (along_m < 900.0) {
        EXPECT_LT(caster.Cast({eye_at(along_m), oblique}, 200.0).range_m, 40.0);
      }
    }
    for (const double along_m : {-20.0, -5.0, 1005.0, 1020.0}) {
      EXPECT_EQ(caster.Cast({eye_at(along_m), Eigen::Vector3d::UnitZ()}, 200.0).range_m, kNoHit)
          << seed << ' ' << along_m;
    }
    // From the road one sees the wall around the portal, and the hill above it nowhere less high.
    for (const double right_m : {-9.0, 9.0}) {
      const Eigen::Vector3d aside = right_m * axis.cross(Eigen::Vector3d::UnitZ());
      const RayHit hit = caster.Cast({eye_at(-10.0) + aside, axis}, 200.0);
      EXPECT_LT(hit.range_m, 11.0) << seed;
    }
  }
}

TEST(RouteSceneTest, TheDriveTouchesNothing) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    const World world = RouteOf(seed);
    EXPECT_GT(LeastClearance(world, WholeDrive(world, 1.0).Scans()), 0.05) << seed;
  }
}

TEST(RouteSceneTest, ObjectsKeepTheirSolids) {
  const World world = RouteOf(2);
  EXPECT_GT(world.objects.size(), 500U);
  for (const SceneObject& object : world.objects) {
    ASSERT_LE(object.first_solid + object.solids, world.scene.solids().size());
    for (size_t i = 0; i < object.solids; ++i) {
      const Solid& solid = world.scene.solids()[object.first_solid + i];
      EXPECT_LT((solid.center - object.frame.origin).head<2>().norm(), 120.0);
      if (object.kind == ObjectKind::kParkingPlace) {
        EXPECT_EQ(solid.label, Label::kParkedCar);
        EXPECT_LT((solid.center - object.frame.origin).norm(), 4.0);
      }
    }
  }
}

TEST(RouteSceneTest, ThePartsAreInTheRecord) {
  SimulationOptions options;
  options.scene = SceneKind::kRoute;
  SimulationSummary summary;
  EXPECT_EQ(SimulationJson(options, &summary).find("parts"), std::string::npos);
  summary.parts = {{"town", 0.0, 0.0}, {"road", 812.5, 120.25}};
  const std::string json = SimulationJson(options, &summary);
  EXPECT_NE(
      json.find("\"name\": \"road\",\n        \"from_m\": 812.5,\n        \"from_s\": 120.25"),
      std::string::npos)
      << json;
}

TEST(RouteSceneTest, AbsurdOptionsAreRefusedByName) {
  RouteOptions options;
  options.tunnel_length_m = 20.0;
  EXPECT_NE(BuildRoute(options).status().message().find("tunnel length must be"),
            absl::string_view::npos);
}

}  // namespace
}  // namespace voxloc::sim
