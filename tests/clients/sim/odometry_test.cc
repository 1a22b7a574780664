// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/odometry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/geometry/covariance.h"
#include "tests/clients/sim/test_worlds.h"
#include "tests/support/simulated.h"

namespace voxloc::sim {
namespace {

OdometryOptions Exact() {
  OdometryOptions options;
  options.scale_error = 0.0;
  options.position_noise_m = 0.0;
  options.rotation_noise_rad = 0.0;
  return options;
}

std::vector<DrivePose> TownDrive(int scans) {
  DriveOptions options;
  options.scans = scans;
  return *PlanDrive(SmallTown(6, 250.0), options);
}

// Along x at 8 m/s, a scan every 0.1 s.
std::vector<DrivePose> StraightDrive(int scans) {
  std::vector<DrivePose> drive;
  for (int i = 0; i < scans; ++i) {
    DrivePose& at = drive.emplace_back();
    at.stamp_s = 0.1 * i;
    at.world_T_sensor.translation = {100.0 + 0.8 * i, 50.0, 2.0};
  }
  return drive;
}

Pose Step(const Pose& from, const Pose& to) { return from.Inverse() * to; }

double YawOf(const Pose& pose) { return 2.0 * std::atan2(pose.rotation.z(), pose.rotation.w()); }

TEST(OdometryTest, WithoutErrorsItIsTheDriveSeenFromItsFirstPose) {
  const std::vector<DrivePose> drive = TownDrive(300);
  const std::vector<Pose> odometry = OdometryOf(drive, Exact());
  ASSERT_EQ(odometry.size(), drive.size());
  EXPECT_TRUE(odometry.front().translation.isZero(0.0));
  EXPECT_TRUE(odometry.front().rotation.isApprox(Eigen::Quaterniond::Identity(), 0.0));
  for (size_t i = 0; i < drive.size(); ++i) {
    const Pose expected = Step(drive.front().world_T_sensor, drive[i].world_T_sensor);
    EXPECT_LT(TranslationDistance(expected, odometry[i]), 1e-9);
    EXPECT_LT(RotationDistance(expected, odometry[i]), 1e-7);
  }
}

TEST(OdometryTest, AScaleErrorScalesTheWayAndLeavesTheHeadings) {
  const std::vector<DrivePose> drive = TownDrive(300);
  OdometryOptions options = Exact();
  options.scale_error = 0.01;
  const std::vector<Pose> odometry = OdometryOf(drive, options);
  for (size_t i = 0; i < drive.size(); ++i) {
    const Pose truth = Step(drive.front().world_T_sensor, drive[i].world_T_sensor);
    EXPECT_LT((odometry[i].translation - 1.01 * truth.translation).norm(), 1e-9);
    EXPECT_LT(RotationDistance(truth, odometry[i]), 1e-7);
  }
}

TEST(OdometryTest, AYawBiasTurnsByTheBiasTimesTheTime) {
  OdometryOptions options = Exact();
  options.yaw_bias_radps = 0.002;
  const std::vector<DrivePose> drive = StraightDrive(600);
  const std::vector<Pose> odometry = OdometryOf(drive, options);
  for (size_t i = 0; i < drive.size(); ++i) {
    EXPECT_NEAR(YawOf(odometry[i]), 0.002 * drive[i].stamp_s, 1e-12);
  }
  // The way bends to the left: 599 chords of 0.8 m, each turned by the angle of one step.
  const double turn_rad = 0.0002;
  const double length_m = 0.8 * std::sin(0.5 * 599 * turn_rad) / std::sin(0.5 * turn_rad);
  EXPECT_NEAR(odometry.back().translation.x(), length_m * std::cos(0.5 * 598 * turn_rad), 1e-8);
  EXPECT_NEAR(odometry.back().translation.y(), length_m * std::sin(0.5 * 598 * turn_rad), 1e-8);
}

TEST(OdometryTest, NoiseIsWhiteOnEachAxisOfTheBase) {
  OdometryOptions options = Exact();
  options.position_noise_m = 0.002;
  options.rotation_noise_rad = 0.0005;
  const std::vector<DrivePose> drive = TownDrive(4000);
  const std::vector<Pose> odometry = OdometryOf(drive, options);
  Vector6 sum = Vector6::Zero();
  Matrix6 products = Matrix6::Zero();
  Vector6 lagged = Vector6::Zero();
  Vector6 before = Vector6::Zero();
  for (size_t i = 1; i < drive.size(); ++i) {
    const Pose truth = Step(drive[i - 1].world_T_sensor, drive[i].world_T_sensor);
    const Pose said = Step(odometry[i - 1], odometry[i]);
    Vector6 error =
        FixedAxesDifference({truth.translation, Eigen::Quaterniond::Identity()},
                            {said.translation, truth.rotation.conjugate() * said.rotation});
    error.head<3>() /= 0.002;
    error.tail<3>() /= 0.0005;
    sum += error;
    products += error * error.transpose();
    lagged += error.cwiseProduct(before);
    before = error;
  }
  // Of n standard normals, the mean and all correlations have the standard deviation 1 / sqrt(n),
  // the mean square sqrt(2 / n); the bounds are five of them.
  const double n = static_cast<double>(drive.size() - 1);
  for (int a = 0; a < 6; ++a) {
    EXPECT_NEAR(sum[a] / n, 0.0, 5.0 / std::sqrt(n)) << a;
    EXPECT_NEAR(lagged[a] / n, 0.0, 5.0 / std::sqrt(n)) << a;
    for (int b = 0; b < 6; ++b) {
      EXPECT_NEAR(products(a, b) / n, a == b ? 1.0 : 0.0, 5.0 * std::sqrt(2.0 / n)) << a << b;
    }
  }
}

TEST(OdometryTest, SlipsCountMoreOrLessInTheirPlacesOnly) {
  OdometryOptions options = Exact();
  options.seed = 5;
  options.slips_per_km = 20.0;
  options.slip_length_m = 6.0;
  options.slip_size = 0.3;
  const std::vector<DrivePose> drive = StraightDrive(3001);  // 2400 m: 48 stretches
  const std::vector<Pose> odometry = OdometryOf(drive, options);
  std::vector<WheelSlip> slips;
  int spins = 0;
  for (uint64_t stretch = 0; stretch < 48; ++stretch) {
    const WheelSlip slip = SlipInStretch(options, stretch);
    EXPECT_GE(slip.from_m, 50.0 * static_cast<double>(stretch));
    EXPECT_LE(slip.to_m, 50.0 * static_cast<double>(stretch + 1));
    EXPECT_GE(slip.to_m - slip.from_m, 3.0 - 1e-9);
    EXPECT_LE(slip.to_m - slip.from_m, 9.0 + 1e-9);
    EXPECT_EQ(std::abs(slip.share), 0.3);
    if (slip.share > 0.0) ++spins;
    slips.push_back(slip);
  }
  // 24 of 48, whose standard deviation is 3.5.
  EXPECT_NEAR(spins, 24, 14);
  for (size_t i = 1; i < drive.size(); ++i) {
    const double from_m = 0.8 * static_cast<double>(i - 1);
    const double step_m = Step(odometry[i - 1], odometry[i]).translation.norm();
    double expected_m = 0.8;
    bool cut = false;  // by the begin or the end of a slip
    for (const WheelSlip& slip : slips) {
      const bool begun = from_m >= slip.from_m;
      const bool ended = from_m >= slip.to_m;
      cut |= begun != (from_m + 0.8 > slip.from_m) || ended != (from_m + 0.8 > slip.to_m);
      if (begun && !ended) expected_m *= 1.0 + slip.share;
    }
    if (!cut) {
      EXPECT_NEAR(step_m, expected_m, 1e-9) << i;
    }
  }
  // Where a slip begins or ends within a step, the sum still is right.
  double counted_m = 2400.0;
  for (const WheelSlip& slip : slips) counted_m += slip.share * (slip.to_m - slip.from_m);
  EXPECT_NEAR(odometry.back().translation.x(), counted_m, 1e-6);
  EXPECT_TRUE(odometry.back().translation.tail<2>().isZero(1e-9));
}

TEST(OdometryTest, AFullLockCountsNothing) {
  OdometryOptions options = Exact();
  options.slips_per_km = 50.0;
  options.slip_length_m = 10.0;
  options.slip_size = 1.0;
  const std::vector<DrivePose> drive = StraightDrive(2000);
  const std::vector<Pose> odometry = OdometryOf(drive, options);
  double least_m = 1.0;
  double most_m = 0.0;
  for (size_t i = 1; i < drive.size(); ++i) {
    const double step_m = Step(odometry[i - 1], odometry[i]).translation.x();
    least_m = std::min(least_m, step_m);
    most_m = std::max(most_m, step_m);
  }
  EXPECT_NEAR(least_m, 0.0, 1e-9);
  EXPECT_NEAR(most_m, 1.6, 1e-9);
}

TEST(OdometryTest, FollowsFromTheSeedAndFromNothingLater) {
  OdometryOptions options;
  options.slips_per_km = 10.0;
  const std::vector<Pose> brief = OdometryOf(TownDrive(200), options);
  const std::vector<Pose> again = OdometryOf(TownDrive(200), options);
  for (size_t i = 0; i < brief.size(); ++i) {
    EXPECT_EQ(brief[i].translation, again[i].translation);
    EXPECT_EQ(brief[i].rotation.coeffs(), again[i].rotation.coeffs());
  }
  const std::vector<Pose> lengthy = OdometryOf(TownDrive(900), options);
  for (size_t i = 0; i < brief.size(); ++i) {
    EXPECT_LT(TranslationDistance(brief[i], lengthy[i]), 1e-9);
    EXPECT_LT(RotationDistance(brief[i], lengthy[i]), 1e-7);
  }
  options.seed = 2;
  EXPECT_GT(TranslationDistance(brief.back(), OdometryOf(TownDrive(200), options).back()), 1e-3);
}

TEST(OdometryTest, AbsurdOptionsAreRefusedByName) {
  for (const auto& [spoil, expected] :
       std::vector<std::pair<void (*)(OdometryOptions&), const char*>>{
           {[](OdometryOptions& o) { o.scale_error = 1.0; }, "odometry scale error must be"},
           {[](OdometryOptions& o) { o.position_noise_m = -1.0; }, "odometry position noise"},
           {[](OdometryOptions& o) { o.rotation_noise_rad = 1.0; }, "odometry rotation noise"},
           {[](OdometryOptions& o) { o.yaw_bias_radps = std::nan(""); }, "odometry yaw bias"},
           {[](OdometryOptions& o) { o.slips_per_km = 51.0; }, "odometry slips per km"},
           {[](OdometryOptions& o) { o.slip_length_m = 0.0; }, "odometry slip length"},
           {[](OdometryOptions& o) { o.slip_size = 1.1; }, "odometry slip size"}}) {
    OdometryOptions options;
    spoil(options);
    EXPECT_NE(Validate(options).message().find(expected), absl::string_view::npos) << expected;
  }
}

}  // namespace
}  // namespace voxloc::sim
