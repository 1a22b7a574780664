// SPDX-License-Identifier: Apache-2.0
//
// What `voxloc calibrate` makes of answers whose errors were drawn here, with known sizes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "clients/cli/calibrate/calibration_report.h"
#include "clients/cli/calibrate/innovations.h"
#include "tests/support/random_numbers.h"

namespace voxloc::cli {
namespace {

using ::testing::HasSubstr;

// A drive through long bends, 10 scans a second, and what its answers are wrong by.
struct SimulatedDrive {
  int scans = 1500;
  double slow_m_s = 2.0;
  double fast_m_s = 15.0;  // the speed swings between the two
  Eigen::Vector3d scan_sigma = {0.01, 0.005, 0.008};
  double scan_turn_sigma = 5e-4;
  Eigen::Vector3d position_sigma_m = Eigen::Vector3d::Zero();
  Eigen::Vector3d rotation_sigma_rad = Eigen::Vector3d::Zero();
  double time_sigma_s = 0.0;
  Eigen::Vector3d common_m = Eigen::Vector3d::Zero();  // of all scans, base axes
  double drift = 0.0;                                  // of the odometry, of each step
  double lost_share = 0.0;
  double bend_rad_per_m = 2e-3;  // at most
};

Pose Moved(const Eigen::Vector3d& translation, const Eigen::Vector3d& turn) {
  const double angle = turn.norm();
  const Eigen::Vector3d axis =
      angle > 0.0 ? Eigen::Vector3d(turn / angle) : Eigen::Vector3d::UnitX();
  return {translation, Eigen::Quaterniond(Eigen::AngleAxisd(angle, axis))};
}

std::vector<DriveAnswer> Answers(const SimulatedDrive& drive, uint64_t seed) {
  constexpr double kPeriodS = 0.1;
  RandomNumbers random(seed);
  Pose map_T_base = Moved({100.0, -50.0, 2.0}, {0.0, 0.0, 0.7});
  Pose odometry_T_base;  // of another frame
  std::vector<DriveAnswer> answers;
  for (int i = 0; i < drive.scans; ++i) {
    const double swing = 0.5 - 0.5 * std::cos(2.0 * M_PI * i / 200.0);
    const double speed_m_s = drive.slow_m_s + swing * (drive.fast_m_s - drive.slow_m_s);
    const Pose step =
        Moved({kPeriodS * speed_m_s, 0.0, 0.0},
              {0.0, 0.0, drive.bend_rad_per_m * speed_m_s * kPeriodS * std::sin(i / 60.0)});
    map_T_base = map_T_base * step;
    odometry_T_base =
        odometry_T_base * step *
        Moved(drive.drift * kPeriodS * speed_m_s * random.NormalVector(), Eigen::Vector3d::Zero());
    DriveAnswer& answer = answers.emplace_back();
    answer.stamp_ns = i * 100'000'000LL;
    answer.odometry_T_base = odometry_T_base;
    const Pose scan_part = Moved(drive.scan_sigma.cwiseProduct(random.NormalVector()),
                                 drive.scan_turn_sigma * random.NormalVector());
    const Pose systematic =
        Moved(drive.common_m + drive.position_sigma_m.cwiseProduct(random.NormalVector()),
              drive.rotation_sigma_rad.cwiseProduct(random.NormalVector()));
    const Pose late = Moved({drive.time_sigma_s * random.Normal() * speed_m_s, 0.0, 0.0},
                            Eigen::Vector3d::Zero());
    answer.answer.map_T_base = map_T_base * late * systematic * scan_part;
    if (random.Uniform(0.0, 1.0) < drive.lost_share) {
      answer.answer.map_T_base.translation += Eigen::Vector3d(5.0, -3.0, 1.0);
    }
    Matrix6 covariance = Matrix6::Zero();
    covariance.diagonal() << drive.scan_sigma.cwiseAbs2(),
        Eigen::Vector3d::Constant(drive.scan_turn_sigma * drive.scan_turn_sigma);
    answer.answer.covariance = RotateCovariance(map_T_base.rotation.toRotationMatrix(), covariance);
  }
  return answers;
}

constexpr OdometryNoise kExact = {0.0, 0.0};

TEST(Innovations, RecoverTheSimulatedSystematicPart) {
  SimulatedDrive drive;
  drive.position_sigma_m = {0.05, 0.03, 0.02};
  drive.rotation_sigma_rad = {0.001, 0.002, 0.003};
  const auto estimates = EstimateSystematic(Answers(drive, 1), kExact);
  ASSERT_TRUE(estimates.ok()) << estimates.status();
  for (size_t axis = 0; axis < 3; ++axis) {
    const auto i = static_cast<Eigen::Index>(axis);
    const double position_m = drive.position_sigma_m[i];
    EXPECT_NEAR(estimates->position_sigma_m[axis].value, position_m, 0.2 * position_m) << axis;
    EXPECT_LE(estimates->position_sigma_m[axis].low, estimates->position_sigma_m[axis].value);
    EXPECT_GE(estimates->position_sigma_m[axis].high, estimates->position_sigma_m[axis].value);
    const double rotation_rad = drive.rotation_sigma_rad[i];
    EXPECT_NEAR(estimates->rotation_sigma_rad[axis].value, rotation_rad, 0.2 * rotation_rad)
        << axis;
  }
  // There is no error of the time: 2 ms are 3 cm at the highest speed.
  ASSERT_TRUE(estimates->time_sigma_s.has_value());
  EXPECT_LT(estimates->time_sigma_s->value, 0.003);
}

TEST(Innovations, EstimateTheTimeSigmaFromSpeed) {
  SimulatedDrive drive;
  drive.position_sigma_m = {0.03, 0.03, 0.03};
  drive.time_sigma_s = 0.01;
  const auto estimates = EstimateSystematic(Answers(drive, 2), kExact);
  ASSERT_TRUE(estimates.ok()) << estimates.status();
  ASSERT_TRUE(estimates->time_sigma_s.has_value());
  EXPECT_NEAR(estimates->time_sigma_s->value, 0.01, 0.0025);
  EXPECT_LT(estimates->time_sigma_s->low, 0.01);
  EXPECT_GT(estimates->time_sigma_s->high, 0.008);
  // Along the way the two are hard to tell apart, which the interval says.
  EXPECT_LT(estimates->position_sigma_m[0].low, 0.03);
  EXPECT_GT(estimates->position_sigma_m[0].high, 0.03);
  EXPECT_LT(estimates->position_sigma_m[0].high, 0.12);
  EXPECT_NEAR(estimates->position_sigma_m[1].value, 0.03, 0.006);
}

TEST(Innovations, WithoutSystematicErrorsNearlyNothingIsFound) {
  const auto estimates = EstimateSystematic(Answers(SimulatedDrive(), 3), kExact);
  ASSERT_TRUE(estimates.ok()) << estimates.status();
  for (size_t axis = 0; axis < 3; ++axis) {
    EXPECT_LT(estimates->position_sigma_m[axis].value, 0.005) << axis;
    EXPECT_LT(estimates->rotation_sigma_rad[axis].value, 2e-4) << axis;
  }
}

TEST(Innovations, WhatAllScansHaveInCommonIsNotSeen) {
  SimulatedDrive drive;
  drive.common_m = {0.3, -0.2, 0.1};
  drive.bend_rad_per_m = 0.0;  // which would turn it
  const auto estimates = EstimateSystematic(Answers(drive, 4), kExact);
  ASSERT_TRUE(estimates.ok()) << estimates.status();
  for (size_t axis = 0; axis < 3; ++axis) {
    EXPECT_LT(estimates->position_sigma_m[axis].value, 0.02) << axis;
  }
}

TEST(Innovations, AreNotMovedByAnswersThatAreLost) {
  SimulatedDrive drive;
  drive.position_sigma_m = {0.04, 0.04, 0.04};
  drive.lost_share = 0.03;
  const auto estimates = EstimateSystematic(Answers(drive, 5), kExact);
  ASSERT_TRUE(estimates.ok()) << estimates.status();
  for (size_t axis = 0; axis < 3; ++axis) {
    EXPECT_NEAR(estimates->position_sigma_m[axis].value, 0.04, 0.012) << axis;
  }
}

TEST(Innovations, OdometryIsBelievedAsFarAsItIsSaidToBeGood) {
  SimulatedDrive drive;
  drive.position_sigma_m = {0.03, 0.03, 0.03};
  drive.drift = 0.01;
  const auto estimates = EstimateSystematic(Answers(drive, 6), {0.01, 0.0});
  ASSERT_TRUE(estimates.ok()) << estimates.status();
  EXPECT_NEAR(estimates->position_sigma_m[1].value, 0.03, 0.008);
  for (const LagSummary& lag : estimates->lags) EXPECT_LE(lag.distance_m, 3.0);
}

TEST(Innovations, AtOneSpeedTheTimeIsNotObservable) {
  SimulatedDrive drive;
  drive.slow_m_s = drive.fast_m_s = 10.0;
  drive.position_sigma_m = {0.04, 0.04, 0.04};
  const auto estimates = EstimateSystematic(Answers(drive, 7), kExact);
  ASSERT_TRUE(estimates.ok()) << estimates.status();
  EXPECT_FALSE(estimates->time_sigma_s.has_value());
  EXPECT_FALSE(estimates->skew_sigma_s.has_value());
}

TEST(Innovations, ADriveThatIsTooShortOrStandsIsRefusedWithWhatItLacks) {
  SimulatedDrive drive;
  drive.scans = 15;
  absl::Status status = EstimateSystematic(Answers(drive, 8), kExact).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("at least 20 pairs"));
  drive.scans = 100;
  drive.slow_m_s = drive.fast_m_s = 0.0;
  status = EstimateSystematic(Answers(drive, 9), kExact).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(EstimateSystematic({}, kExact).ok());
}

std::vector<HalvesAnswer> Halves(double true_over_stated) {
  RandomNumbers random(10);
  const Eigen::Vector3d position(0.02, 0.01, 0.03);
  const Eigen::Vector3d rotation(1e-3, 2e-3, 1e-3);
  std::vector<HalvesAnswer> scans;
  for (int i = 0; i < 400; ++i) {
    HalvesAnswer& scan = scans.emplace_back();
    const Pose shared = Moved({0.1 * i, 0.2, 0.0}, {0.0, 0.0, 0.01 * i});
    for (UncertainPose* half : {&scan.first, &scan.second}) {
      half->map_T_base = shared;
      half->map_T_base.translation +=
          true_over_stated * position.cwiseProduct(random.NormalVector());
      const Eigen::Vector3d turn = true_over_stated * rotation.cwiseProduct(random.NormalVector());
      half->map_T_base.rotation = Moved({}, turn).rotation * shared.rotation;
      half->covariance.diagonal() << position.cwiseAbs2(), rotation.cwiseAbs2();
    }
  }
  return scans;
}

TEST(SplitHalves, EstimateTheScanPartFactor) {
  const IntervalEstimate right = ScanPartFactor(Halves(1.0));
  EXPECT_LT(right.low, 1.0);
  EXPECT_GT(right.high, 1.0);
  EXPECT_NEAR(right.value, 1.0, 0.15);
  const IntervalEstimate small = ScanPartFactor(Halves(2.0));
  EXPECT_NEAR(small.value, 4.0, 0.6);
  EXPECT_GT(small.low, 3.0);
}

TEST(SplitHalves, EachPointIsInOneHalfAndBothSeeAllOfTheScan) {
  RandomNumbers random(11);
  PointCloud scan;
  for (int i = 0; i < 1500; ++i) {
    const Eigen::Vector3f p = random.InBox(20.0).cast<float>();
    scan.PushBack(p.x(), p.y(), p.z());
  }
  const auto [first, second] = SplitInHalves(scan);
  EXPECT_EQ(first.size() + second.size(), scan.size());
  EXPECT_NEAR(static_cast<double>(first.size()), 750.0, 75.0);
  for (const PointCloud* half : {&first, &second}) {
    const Bounds bounds = ComputeBounds(*half);
    EXPECT_LT(bounds.min.maxCoeff(), -15.0);
    EXPECT_GT(bounds.max.minCoeff(), 15.0);
  }
  PointCloud one;
  one.PushBack(1.0F, 2.0F, 3.0F);
  EXPECT_TRUE(SplitInHalves(one).first.empty());
}

CalibrationEstimate SomeEstimates() {
  SimulatedDrive drive;
  drive.position_sigma_m = {0.05, 0.03, 0.02};
  CalibrationEstimate estimates;
  estimates.drive = "drive/scans in map town, 2026-01-02";
  estimates.scan_part_factor = IntervalEstimate{1.0, 0.9, 1.1};
  estimates.systematic = *EstimateSystematic(Answers(drive, 12), kExact);
  return estimates;
}

TEST(CalibrationReport, WritesUpperEndsWithTheirOrigins) {
  const CalibrationEstimate estimates = SomeEstimates();
  SensorCalibration known;
  known.name = "roof";
  known.mount_offset_m = {{0.0, 0.0, 0.1}, "drawing"};
  const SensorCalibration written = ApplyEstimate(estimates, known);
  EXPECT_TRUE(ValidateSensorCalibration(written).ok());
  EXPECT_EQ(written.name, "roof");
  EXPECT_EQ(written.position_sigma_m.value.x(), estimates.systematic.position_sigma_m[0].high);
  EXPECT_THAT(written.position_sigma_m.origin, HasSubstr("drive/scans in map town, 2026-01-02"));
  EXPECT_EQ(written.time_sigma_s.value, estimates.systematic.time_sigma_s->high);
  // Configured, and not in doubt.
  EXPECT_EQ(written.mount_offset_m.value, known.mount_offset_m.value);
  EXPECT_EQ(written.scan_scale.value, 1.0);
  EXPECT_EQ(written.scan_scale.origin, known.scan_scale.origin);
  EXPECT_THAT(CalibrationText(estimates, written), HasSubstr("scan part, factor"));
}

TEST(CalibrationReport, SigmasAreMadeSmallerOnlyWhereAnswersWereComparedOverALongWay) {
  CalibrationEstimate estimates = SomeEstimates();
  ASSERT_LT(estimates.systematic.position_sigma_m[2].high, 0.03);
  estimates.systematic.position_distance_m = 20.0;
  EXPECT_EQ(ApplyEstimate(estimates, {}).position_sigma_m.value.z(),
            estimates.systematic.position_sigma_m[2].high);
  estimates.systematic.position_distance_m = 19.0;
  const SensorCalibration written = ApplyEstimate(estimates, {});
  EXPECT_EQ(written.position_sigma_m.value.z(), SystematicError().position_sigma_m.z());
  EXPECT_EQ(written.position_sigma_m.value.x(), estimates.systematic.position_sigma_m[0].high);
  EXPECT_THAT(written.position_sigma_m.origin, HasSubstr("where that is less"));
}

TEST(CalibrationReport, TheScanPartIsEnlargedWhereItIsTooSmallForSure) {
  CalibrationEstimate estimates = SomeEstimates();
  estimates.scan_part_factor = IntervalEstimate{2.0, 1.5, 2.6};
  EXPECT_EQ(ApplyEstimate(estimates, {}).scan_scale.value, 2.0);
  estimates.scan_part_factor = IntervalEstimate{0.5, 0.4, 0.6};
  EXPECT_EQ(ApplyEstimate(estimates, {}).scan_scale.value, 1.0);
}

TEST(CalibrationReport, UnobservedValuesStayAndAreReported) {
  CalibrationEstimate estimates = SomeEstimates();
  estimates.systematic.time_sigma_s.reset();
  estimates.systematic.skew_sigma_s.reset();
  estimates.scan_part_factor.reset();
  const SensorCalibration written = ApplyEstimate(estimates, {});
  EXPECT_EQ(written.time_sigma_s.value, SystematicError().time_sigma_s);
  const std::string text = CalibrationText(estimates, written);
  EXPECT_THAT(text, HasSubstr("This drive does not determine the time and the skew"));
  EXPECT_THAT(text, HasSubstr("The scan part could not be judged"));
  EXPECT_TRUE(CalibrationJson(estimates)["time_sigma_s"].is_null());
}

}  // namespace
}  // namespace voxloc::cli
