// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/drive.h"

#include <gtest/gtest.h>

#include <cmath>

#include "clients/sim/scenes.h"
#include "core/geometry/euler.h"
#include "tests/clients/sim/surface_distance.h"
#include "tests/clients/sim/test_worlds.h"
#include "tests/support/simulated.h"

namespace voxloc::sim {
namespace {

DriveOptions Fine(int scans) {
  DriveOptions options;
  options.scans = scans;
  options.rate_hz = 20.0;
  return options;
}

TEST(RouteTest, CurvatureIsContinuousAndAgreesWithTheHeadings) {
  const World town = SmallTown(6, 250.0);
  RouteBuilder route(town.streets, 3);
  for (int i = 0; i < 30; ++i) route.Extend();
  double tightest = 0.0;
  for (size_t i = 1; i < route.points().size(); ++i) {
    const RoutePoint& from = route.points()[i - 1];
    const RoutePoint& to = route.points()[i];
    const double step_m = to.arc_m - from.arc_m;
    EXPECT_GT(step_m, 0.0);
    EXPECT_LT(step_m, 0.5);
    EXPECT_LT(std::abs(to.curvature - from.curvature), 0.06);
    EXPECT_NEAR((to.heading_rad - from.heading_rad) / step_m, 0.5 * (from.curvature + to.curvature),
                0.02);
    tightest = std::max(tightest, std::abs(to.curvature));
  }
  EXPECT_GT(tightest, 0.05);
  EXPECT_LT(tightest, 0.35);
}

TEST(RouteTest, DrivesOnTheRightAndSeesMuchOfTheTown) {
  const World town = SmallTown(6, 250.0);
  RouteBuilder route(town.streets, 3);
  for (size_t i = 0; i < 2 * town.streets.streets().size(); ++i) route.Extend();
  std::vector<bool> seen(town.streets.streets().size(), false);
  for (const RoutePoint& point : route.points()) {
    for (size_t i = 0; i < town.streets.streets().size(); ++i) {
      const Street& street = town.streets.streets()[i];
      const Eigen::Vector2d offset = point.position - street.start;
      const double along = offset.dot(street.direction);
      if (along < kJunctionClearRadius_m || along > street.length_m - kJunctionClearRadius_m ||
          street.DistanceTo(point.position) > 3.0) {
        continue;
      }
      const double right = offset.x() * street.direction.y() - offset.y() * street.direction.x();
      const double sense = std::cos(point.heading_rad) * street.direction.x() +
                           std::sin(point.heading_rad) * street.direction.y();
      EXPECT_NEAR(right * sense, 0.5 * kLaneWidth_m, 1e-6);
      seen[i] = true;
    }
  }
  const auto count = std::count(seen.begin(), seen.end(), true);
  EXPECT_GT(static_cast<double>(count), 0.8 * static_cast<double>(seen.size()));
}

TEST(DriveTest, KeepsItsLimitsAndNeverJumps) {
  const World town = SmallTown(6, 250.0);
  const DriveOptions options = Fine(1500);
  const std::vector<DrivePose> drive = *PlanDrive(town, options);
  ASSERT_EQ(drive.size(), 1500U);
  double fastest = 0.0;
  for (size_t i = 1; i < drive.size(); ++i) {
    const double step_s = drive[i].stamp_s - drive[i - 1].stamp_s;
    EXPECT_NEAR(step_s, 0.05, 1e-9);
    const double speed =
        TranslationDistance(drive[i - 1].world_T_sensor, drive[i].world_T_sensor) / step_s;
    fastest = std::max(fastest, speed);
    EXPECT_LT(speed, options.max_speed_mps * 1.05);
    EXPECT_GT(speed, 0.5);
    EXPECT_NEAR(speed, drive[i].speed_mps, 0.6);
    EXPECT_LT(std::abs(drive[i].speed_mps - drive[i - 1].speed_mps) / step_s,
              options.max_longitudinal_mps2 + 1e-6);
    const double turn_rate =
        RotationDistance(drive[i - 1].world_T_sensor, drive[i].world_T_sensor) / step_s;
    EXPECT_LT(turn_rate * drive[i].speed_mps, options.max_lateral_mps2 * 1.25);
  }
  EXPECT_GT(fastest, 0.9 * options.max_speed_mps);
}

TEST(DriveTest, TheSensorLooksAheadFromAboveTheGroundAndTiltsWithIt) {
  const World town = SmallTown(6, 250.0);
  const std::vector<DrivePose> drive = *PlanDrive(town, Fine(600));
  for (size_t i = 1; i + 1 < drive.size(); ++i) {
    const Pose& pose = drive[i].world_T_sensor;
    const Eigen::Vector3d foot = pose * Eigen::Vector3d(0.0, 0.0, -1.9);
    EXPECT_NEAR(foot.z(), town.scene.ground().Height(foot.x(), foot.y()), 0.03);
    const Eigen::Vector3d up = pose.rotation * Eigen::Vector3d::UnitZ();
    EXPECT_LT(std::acos(up.dot(town.scene.ground().Normal(foot.x(), foot.y()))), 0.03);
    const Eigen::Vector3d motion =
        drive[i + 1].world_T_sensor.translation - drive[i - 1].world_T_sensor.translation;
    const Eigen::Vector3d ahead = pose.rotation * Eigen::Vector3d::UnitX();
    EXPECT_GT(motion.normalized().dot(ahead), std::cos(0.12));
    EXPECT_NEAR(pose.rotation.norm(), 1.0, 1e-12);
  }
}

TEST(DriveTest, NeverTouchesAnythingThatStands) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    TownOptions town_options;
    town_options.size_m = 250.0;
    town_options.seed = seed;
    town_options.parked_car_density = 1.0;
    const World town = *BuildTown(town_options);
    DriveOptions options;
    options.scans = 250;
    options.seed = seed;
    const std::vector<DrivePose> drive = *PlanDrive(town, options);
    for (const DrivePose& at : drive) {
      for (const double x : {-2.2, -1.1, 0.0, 1.1, 2.2}) {
        for (const double y : {-0.9, 0.9}) {
          for (const double z : {-1.6, -0.2}) {
            const Eigen::Vector3d point = at.world_T_sensor * Eigen::Vector3d(x, y, z);
            for (const Solid& solid : town.scene.solids()) {
              ASSERT_GT(SignedDistance(solid, point), 0.0)
                  << "seed " << seed << " stamp " << at.stamp_s << " label "
                  << static_cast<int>(solid.label);
            }
          }
        }
      }
    }
  }
}

TEST(DriveTest, AShorterDriveIsTheStartOfALongerOne) {
  const World town = SmallTown(6, 250.0);
  const std::vector<DrivePose> brief = *PlanDrive(town, Fine(50));
  const std::vector<DrivePose> lengthy = *PlanDrive(town, Fine(3000));
  for (size_t i = 0; i < brief.size(); ++i) {
    EXPECT_LT(TranslationDistance(brief[i].world_T_sensor, lengthy[i].world_T_sensor), 1e-9);
    EXPECT_LT(RotationDistance(brief[i].world_T_sensor, lengthy[i].world_T_sensor), 1e-7);
  }
}

TEST(DriveTest, EndsBeforeADeadEndOrIsRefused) {
  Street street;
  street.length_m = 118.0;  // 100 m of lane
  const World world = {StreetNetwork(street), Scene(Ground(200.0), {})};
  DriveOptions options = Fine(250);  // 99.6 m at 8 m/s
  const auto whole = PlanDrive(world, options);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_NEAR(TranslationDistance(whole->front().world_T_sensor, whole->back().world_T_sensor),
              249 * 0.05 * 8.0, 1e-6);
  options.scans = 252;
  const absl::Status status = PlanDrive(world, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("ends after 100 m"), absl::string_view::npos) << status;
}

TEST(DriveTest, BetweenScansAndInItsTailItMovesOnSteadily) {
  const World town = SmallTown(6, 250.0);
  DriveOptions options = Fine(40);
  options.tail_s = 0.5;
  const Drive drive = *Drive::Plan(town, options);
  const std::vector<DrivePose> scans = drive.Scans();
  EXPECT_EQ(drive.At(scans[7].stamp_s).world_T_sensor.translation,
            scans[7].world_T_sensor.translation);
  for (double stamp_s = 0.0; stamp_s < scans.back().stamp_s + 0.49; stamp_s += 0.01) {
    const DrivePose now = drive.At(stamp_s);
    const double step_m =
        TranslationDistance(now.world_T_sensor, drive.At(stamp_s + 0.01).world_T_sensor);
    EXPECT_NEAR(step_m, 0.01 * now.speed_mps, 0.003) << stamp_s;
  }
}

TEST(DriveTest, AbsurdOptionsAreRefused) {
  const World town = SmallTown(6, 250.0);
  for (const auto& spoil : std::vector<void (*)(DriveOptions&)>{
           [](DriveOptions& o) { o.scans = 0; }, [](DriveOptions& o) { o.rate_hz = -1.0; },
           [](DriveOptions& o) { o.max_speed_mps = 0.0; },
           [](DriveOptions& o) { o.sensor_height_m = std::nan(""); },
           [](DriveOptions& o) {
             o.scans = 100000;
             o.rate_hz = 0.1;
           }}) {
    DriveOptions options;
    spoil(options);
    EXPECT_EQ(PlanDrive(town, options).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace voxloc::sim
