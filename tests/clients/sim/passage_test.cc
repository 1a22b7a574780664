// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "clients/sim/drive.h"
#include "clients/sim/lidar.h"
#include "clients/sim/map_sampler.h"
#include "clients/sim/scenes.h"
#include "core/geometry/euler.h"
#include "tests/clients/sim/test_worlds.h"
#include "tests/support/simulated.h"

namespace voxloc::sim {
namespace {

struct Passage {
  PassageOptions options;
  Roof roof;
  World world;
  Eigen::Vector3d axis;
  Eigen::Vector3d left;
  Eigen::Vector3d up;
};

// The directions are written out here from heading and slope.
Passage Make(Roof roof) {
  PassageOptions options;
  options.length_m = 90.0;
  options.heading_deg = 35.0;
  options.slope = roof == Roof::kVault ? 0.04 : 0.0;
  const double heading = options.heading_deg * M_PI / 180.0;
  const Eigen::Vector3d axis =
      Eigen::Vector3d(std::cos(heading), std::sin(heading), options.slope).normalized();
  const Eigen::Vector3d left(-std::sin(heading), std::cos(heading), 0.0);
  return {options, roof, *BuildPassage(options, roof, kSight_m), axis, left, axis.cross(left)};
}

std::vector<DrivePose> DriveToTheEnd(const World& world) {
  DriveOptions options;
  options.scans = 12;
  options.rate_hz = 1.0;
  return *PlanDrive(world, options);
}

double LargestDifference(const PointCloud& a, const PointCloud& b) {
  double largest = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, (a.Point(i) - b.Point(i)).norm());
  }
  return largest;
}

class PassageTest : public testing::TestWithParam<Roof> {};

INSTANTIATE_TEST_SUITE_P(, PassageTest, testing::Values(Roof::kNone, Roof::kVault),
                         [](const auto& test) {
                           return test.param == Roof::kVault ? "Tunnel" : "Corridor";
                         });

TEST_P(PassageTest, AScanIsTheSameFromEverywhereAlongTheAxisAndNowhereElse) {
  const Passage passage = Make(GetParam());
  const RayCaster caster(passage.world.scene);
  const Lidar lidar = ExactLidar();
  const std::vector<DrivePose> drive = DriveToTheEnd(passage.world);
  const Pose first = drive.front().world_T_sensor;
  const PointCloud scan = lidar.Scan(caster, first, 0);
  for (const double along_m : {0.37, 13.1, 41.0, 88.0}) {
    // Towards where the drive ends.
    const double sense = (first.rotation * Eigen::Vector3d::UnitX()).dot(passage.axis);
    Pose moved = first;
    moved.translation += sense * along_m * passage.axis;
    EXPECT_LT(LargestDifference(scan, lidar.Scan(caster, moved, 0)), 1e-4) << along_m;
  }
  for (const Eigen::Vector3d& direction : {passage.left, passage.up}) {
    Pose moved = first;
    moved.translation += 0.1 * direction;
    EXPECT_GT(LargestDifference(scan, lidar.Scan(caster, moved, 0)), 0.09);
  }
  for (const Eigen::Vector3d& about : {passage.axis, passage.left, passage.up}) {
    Pose turned = first;
    turned.rotation = Eigen::Quaterniond(Eigen::AngleAxisd(0.02, about)) * first.rotation;
    EXPECT_GT(LargestDifference(scan, lidar.Scan(caster, turned, 0)), 0.05);
  }
}

TEST_P(PassageTest, EveryReturnLiesOnASurfaceThatFollowsTheAxis) {
  const Passage passage = Make(GetParam());
  const RayCaster caster(passage.world.scene);
  const Lidar lidar = ExactLidar();
  const double side = 0.5 * passage.options.width_m;
  const double springing = passage.options.height_m / 3.0;
  std::array<size_t, 3> counts{};  // ground, walls, vault
  uint64_t number = 0;
  for (const DrivePose& at : DriveToTheEnd(passage.world)) {
    const PointCloud scan = lidar.Scan(caster, at.world_T_sensor, number++);
    for (size_t i = 0; i < scan.size(); ++i) {
      if (scan.Offset(i).isZero(0.0F)) continue;
      const Eigen::Vector3d point = at.world_T_sensor * scan.Point(i);
      const double across = point.dot(passage.left);
      const double height = point.dot(passage.up);
      if (std::abs(height) < 2e-5) {
        ++counts[0];
        continue;
      }
      if (std::abs(std::abs(across) - side) < 2e-5) {
        ++counts[1];
        EXPECT_LT(height,
                  (passage.roof == Roof::kVault ? springing : passage.options.height_m) + 1e-3);
        continue;
      }
      // Chords of 15 degrees inscribed in an ellipse.
      ASSERT_EQ(passage.roof, Roof::kVault) << point.transpose();
      const double radius =
          std::hypot(across / side, (height - springing) / (passage.options.height_m - springing));
      EXPECT_GT(radius, std::cos(M_PI / 24.0) - 1e-5);
      EXPECT_LT(radius, 1.0 + 1e-5);
      ++counts[2];
    }
  }
  EXPECT_GT(counts[0], 10000U);
  EXPECT_GT(counts[1], 10000U);
  EXPECT_GE(counts[2], passage.roof == Roof::kVault ? 10000U : 0U);
}

TEST_P(PassageTest, OnlyTheCorridorIsOpenAbove) {
  const Passage passage = Make(GetParam());
  const RayCaster caster(passage.world.scene);
  const Eigen::Vector3d eye = DriveToTheEnd(passage.world)[5].world_T_sensor.translation;
  size_t missed = 0;
  for (int i = 0; i < 360; ++i) {
    const double angle = i * M_PI / 180.0;
    const Eigen::Vector3d direction =
        std::cos(angle) * passage.left + std::sin(angle) * passage.up + 0.1 * passage.axis;
    if (caster.Cast({eye, direction.normalized()}, kSight_m).range_m == kNoHit) ++missed;
  }
  if (passage.roof == Roof::kVault) {
    EXPECT_EQ(missed, 0U);
  } else {
    EXPECT_GT(missed, 60U);
    EXPECT_LT(missed, 180U);
  }
}

TEST_P(PassageTest, TheDriveFollowsTheAxisOnTheGround) {
  const Passage passage = Make(GetParam());
  const std::vector<DrivePose> drive = DriveToTheEnd(passage.world);
  const double across = drive.front().world_T_sensor.translation.dot(passage.left);
  EXPECT_NEAR(std::abs(across), 0.5 * kLaneWidth_m, 1e-9);
  for (const DrivePose& at : drive) {
    const Pose& pose = at.world_T_sensor;
    EXPECT_NEAR(pose.translation.dot(passage.up), DriveOptions().sensor_height_m, 1e-9);
    EXPECT_NEAR(pose.translation.dot(passage.left), across, 1e-9);
    EXPECT_NEAR(std::abs((pose.rotation * Eigen::Vector3d::UnitX()).dot(passage.axis)), 1.0, 1e-12);
    EXPECT_NEAR((pose.rotation * Eigen::Vector3d::UnitZ()).dot(passage.up), 1.0, 1e-12);
    // What the vehicle sees has no end.
    EXPECT_LT(std::abs(pose.translation.dot(passage.axis)), 0.5 * passage.options.length_m + 0.1);
  }
}

TEST_P(PassageTest, TheMapIsAsDenseEverywhereThatADriveCanSee) {
  const Passage passage = Make(GetParam());
  MapSamplingOptions options;
  options.spacing_m = 0.2;
  const PointCloud map = *SampleMap(passage.world, options, 0);
  const double reach_m = 0.5 * passage.options.length_m + kSight_m;
  std::vector<double> counts(static_cast<size_t>(2.0 * reach_m / 10.0), 0.0);
  for (size_t i = 0; i < map.size(); ++i) {
    const double bin = (map.Point(i).dot(passage.axis) + reach_m) / 10.0;
    if (bin >= 0.0 && bin < static_cast<double>(counts.size())) {
      counts[static_cast<size_t>(bin)] += 1.0;
    }
  }
  // Ground and both walls at least, at 25 points a square metre.
  for (const double count : counts) {
    EXPECT_GT(count, 10.0 * 25.0 * passage.options.width_m);
    EXPECT_NEAR(count / counts.front(), 1.0, 0.05);
  }
}

TEST_P(PassageTest, SeedsGiveOtherShapesWithinTheLimits) {
  for (uint64_t seed = 101; seed < 121; ++seed) {
    const PassageOptions options = SeededPassage(seed, GetParam());
    EXPECT_GE(options.width_m, 8.0);
    EXPECT_LE(options.width_m, 14.0);
    EXPECT_GE(options.height_m, 4.0);
    EXPECT_LE(options.height_m, 8.0);
    EXPECT_EQ(options.slope == 0.0, GetParam() == Roof::kNone);
    EXPECT_TRUE(Validate(options).ok());
    EXPECT_NE(options.heading_deg, SeededPassage(seed + 1, GetParam()).heading_deg);
  }
}

TEST(PassageOptionsTest, AbsurdOptionsAreRefusedByName) {
  const std::vector<std::pair<void (*)(PassageOptions&), const char*>> cases = {
      {[](PassageOptions& o) { o.length_m = 0.0; }, "length"},
      {[](PassageOptions& o) { o.width_m = 3.0; }, "width"},
      {[](PassageOptions& o) { o.height_m = std::nan(""); }, "height"},
      {[](PassageOptions& o) { o.slope = 1.0; }, "slope"},
      {[](PassageOptions& o) { o.heading_deg = 361.0; }, "heading"}};
  for (const auto& [spoil, name] : cases) {
    PassageOptions options;
    spoil(options);
    const absl::Status status = BuildPassage(options, Roof::kNone, kSight_m).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find(name), absl::string_view::npos) << status;
  }
}

}  // namespace
}  // namespace voxloc::sim
