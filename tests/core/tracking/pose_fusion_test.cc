// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/pose_fusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "tests/support/diagonal_covariance.h"
#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr int64_t kStepNs = 100'000'000;
constexpr double kCellM = 0.5;

Pose InPlane(double x, double y = 0.0, double yaw_rad = 0.0) {
  return {{x, y, 0.0}, Eigen::Quaterniond(Eigen::AngleAxisd(yaw_rad, Eigen::Vector3d::UnitZ()))};
}

Matrix6 ScanCovariance(double sigma_m = 0.01) { return DiagonalCovariance(sigma_m, 1e-3); }

// What a scan says of its pose; in a tunnel along the map's x axis, nothing along that.
ScanObservation Seen(const Pose& map_T_base, bool tunnel = false) {
  const Matrix6 covariance = ScanCovariance();
  Matrix6 information = covariance.inverse();
  if (tunnel) information(0, 0) = 0.0;
  return ObserveByScan(map_T_base, covariance, Matrix6::Zero(),
                       AnalyzeDegeneracy(information, 10.0, kDegeneracyLimits), kCellM);
}

// A vehicle that drives along x, and its odometry.
class PoseFusionTest : public ::testing::Test {
 protected:
  PoseFusion::Prediction Begin(double odometry_x_m) {
    stamp_ns_ += kStepNs;
    return fusion_.Begin(stamp_ns_, InPlane(odometry_x_m), std::nullopt, systematic_);
  }
  std::optional<FusedPose> Step(double odometry_x_m,
                                const std::optional<ScanObservation>& observation) {
    const auto prediction = Begin(odometry_x_m);
    return fusion_.End(prediction.scan, observation.has_value() ? &*observation : nullptr);
  }

  PoseFusion fusion_{OdometryErrors()};
  SystematicError systematic_;
  int64_t stamp_ns_ = 1'000'000'000;
};

double SigmaX(const FusedPose& fused) { return std::sqrt(fused.covariance(0, 0)); }
double SigmaY(const FusedPose& fused) { return std::sqrt(fused.covariance(1, 1)); }

TEST_F(PoseFusionTest, KnowsNothingBeforeTheFirstResult) {
  EXPECT_FALSE(Begin(0.0).known);
  EXPECT_FALSE(Step(1.0, std::nullopt).has_value());
  const auto fused = Step(2.0, Seen(InPlane(102.0)));
  ASSERT_TRUE(fused.has_value());
  EXPECT_EQ(fused->map_T_base.translation, InPlane(102.0).translation);
  EXPECT_TRUE(fused->covariance.isApprox(ScanCovariance(), 1e-9));
  EXPECT_EQ(fused->resets, 1U);
  EXPECT_EQ(fused->refusal, "");
  EXPECT_THAT(fused->since_observed_m, Each(0.0));
  const auto next = Begin(3.0);
  EXPECT_TRUE(next.known);
  EXPECT_TRUE(next.map_T_base.translation.isApprox(InPlane(103.0).translation, 1e-12));
}

TEST_F(PoseFusionTest, DrivesBlindByItsOdometry) {
  Step(0.0, Seen(InPlane(0.0)));
  std::optional<FusedPose> fused;
  for (int i = 1; i <= 50; ++i) fused = Step(i, std::nullopt);
  EXPECT_TRUE(fused->map_T_base.translation.isApprox(InPlane(50.0).translation, 1e-9));
  EXPECT_GT(SigmaX(*fused), 0.02 * 50.0);  // by the scale
  EXPECT_THAT(fused->refusal, HasSubstr("no accepted result"));
  EXPECT_THAT(fused->since_observed_m, Each(::testing::DoubleNear(50.0, 1e-9)));
  EXPECT_EQ(fused->resets, 1U);
}

TEST_F(PoseFusionTest, TakesFromATunnelWhatItsScansObserve) {
  Step(0.0, Seen(InPlane(0.0)));
  std::optional<FusedPose> fused;
  // The odometry counts 1 % too much. The answers stay with their guess along the tunnel.
  for (int i = 1; i <= 100; ++i) {
    const auto prediction = Begin(1.01 * i);
    const auto seen = Seen(InPlane(prediction.map_T_base.translation.x()), /*tunnel=*/true);
    fused = fusion_.End(prediction.scan, &seen);
    ASSERT_EQ(fused->refusal, "");
  }
  EXPECT_NEAR(fused->map_T_base.translation.x(), 101.0, 1e-6);
  EXPECT_GT(SigmaX(*fused), 1.0);
  EXPECT_LT(SigmaX(*fused), 3.0);
  EXPECT_LT(SigmaY(*fused), 0.011);
  EXPECT_NEAR(fused->since_observed_m[0], 101.0, 1e-6);
  EXPECT_EQ(fused->since_observed_m[1], 0.0);
  // At its end, the first scan tells, and says what the scale was.
  fused = Step(1.01 * 101, Seen(InPlane(101.0)));
  EXPECT_NEAR(fused->map_T_base.translation.x(), 101.0, 0.02);
  EXPECT_LT(SigmaX(*fused), 0.02);
  EXPECT_NEAR(fused->scale, 1.0 / 1.01, 2e-3);
  EXPECT_EQ(fused->resets, 1U);
}

TEST_F(PoseFusionTest, KnowsTheTwistByWhatItHasLearntOfTheOdometry) {
  // 10 m/s, of which the odometry counts 2 % too much.
  auto fused = Step(0.0, Seen(InPlane(0.0)));
  EXPECT_FALSE(fused->base_twist.has_value()) << "nothing is known of the way before";
  for (int i = 1; i <= 300; ++i) fused = Step(1.02 * i, Seen(InPlane(i)));
  for (const bool is_seen : {true, false}) {
    ASSERT_TRUE(fused->base_twist.has_value());
    const KnownTwist& known = *fused->base_twist;
    EXPECT_NEAR(known.twist.linear_m_s.x(), 10.0, 30.0 * fused->scale_sigma);
    EXPECT_GT(std::abs(known.twist.linear_m_s.x() - 10.2), 30.0 * fused->scale_sigma);
    EXPECT_LT(known.twist.linear_m_s.tail<2>().norm() + known.twist.angular_rad_s.norm(), 0.02);
    // The way of a step is known to 0.01 m and 0.001 rad by the noise, and to its scale.
    EXPECT_NEAR(known.covariance(0, 0), 1.02 * 0.01 + std::pow(10.2 * fused->scale_sigma, 2), 1e-4);
    EXPECT_NEAR(known.covariance(1, 1), 1.02 * 0.01, 1e-9);
    EXPECT_NEAR(known.covariance(5, 5), 1.02e-4 + std::pow(fused->yaw_rate_bias_sigma_radps, 2),
                1e-7);
    if (is_seen) fused = Step(1.02 * 301, std::nullopt);
  }
  stamp_ns_ += 20'000'000'000;
  fused = Step(1.02 * 302, Seen(InPlane(302.0)));
  EXPECT_FALSE(fused->base_twist.has_value()) << "the time is not known";
}

TEST_F(PoseFusionTest, LeavesASingleContradictionOut) {
  for (int i = 0; i <= 20; ++i) Step(i, Seen(InPlane(i)));
  const auto wrong = Step(21.0, Seen(InPlane(22.0)));
  EXPECT_THAT(wrong->refusal, HasSubstr("contradicts"));
  EXPECT_NEAR(wrong->map_T_base.translation.x(), 21.0, 0.02);
  const auto right = Step(22.0, Seen(InPlane(22.0)));
  EXPECT_EQ(right->refusal, "");
  EXPECT_EQ(right->resets, 1U);
  EXPECT_NEAR(right->map_T_base.translation.x(), 22.0, 0.02);
}

TEST_F(PoseFusionTest, FollowsResultsThatAgreeAfterAWheelHasSlipped) {
  const auto step = [&](double odometry_x_m, const ScanObservation& seen) {
    const auto prediction = fusion_.Begin(0, InPlane(odometry_x_m), std::nullopt, systematic_);
    return fusion_.End(prediction.scan, &seen);
  };
  for (int i = 0; i <= 20; ++i) step(i, Seen(InPlane(i)));
  std::vector<uint32_t> resets;
  for (int i = 21; i <= 24; ++i) {
    const auto fused = step(i + 0.7, Seen(InPlane(i)));  // 0.7 m too much from now on
    resets.push_back(fused->resets);
    EXPECT_NEAR(fused->map_T_base.translation.x(), i < 23 ? i + 0.7 : i, 0.05) << i;
  }
  EXPECT_EQ(resets, std::vector<uint32_t>({1, 1, 2, 2}));
}

// Where stamps say so, a slip looks as if the vehicle had gained 70 m/s^2, at which a stamp that is
// late by 20 ms explains the difference.
TEST_F(PoseFusionTest, FollowsTheScanAtOnceWhereTheSpeedJumps) {
  for (int i = 0; i <= 20; ++i) Step(i, Seen(InPlane(i)));
  const auto fused = Step(21.7, Seen(InPlane(21)));
  EXPECT_EQ(fused->refusal, "");
  EXPECT_NEAR(fused->map_T_base.translation.x(), 21.0, 0.01);
}

TEST_F(PoseFusionTest, DoesNotFollowResultsThatContradictEachOtherToo) {
  for (int i = 0; i <= 20; ++i) Step(i, Seen(InPlane(i)));
  std::optional<FusedPose> fused;
  for (int i = 21; i <= 30; ++i) fused = Step(i, Seen(InPlane(i + (i % 2 == 0 ? 1.0 : -1.0))));
  EXPECT_NEAR(fused->map_T_base.translation.x(), 30.0, 0.05);
  EXPECT_EQ(fused->resets, 1U);
}

TEST_F(PoseFusionTest, KeepsTheWayAlongATunnelWhereItFollowsRivalsAcross) {
  Step(0.0, Seen(InPlane(0.0)));
  std::optional<FusedPose> fused;
  for (int i = 1; i <= 10; ++i) fused = Step(i, Seen(InPlane(i), /*tunnel=*/true));
  const double sigma_m = SigmaX(*fused);
  for (int i = 11; i <= 13; ++i) fused = Step(i, Seen(InPlane(i, 1.0), /*tunnel=*/true));
  EXPECT_EQ(fused->resets, 2U);
  EXPECT_NEAR(fused->map_T_base.translation.y(), 1.0, 0.05);
  EXPECT_NEAR(fused->map_T_base.translation.x(), 13.0, 0.05);
  EXPECT_LT(SigmaX(*fused), 2.0 * sigma_m);
}

TEST_F(PoseFusionTest, EndsScansInAnyOrder) {
  const auto drive = [this](bool late) {
    PoseFusion fusion{OdometryErrors()};
    RandomNumbers random(5);
    std::optional<FusedPose> fused;
    std::optional<std::pair<uint64_t, ScanObservation>> waiting;
    for (int i = 0; i < 30; ++i) {
      const auto prediction =
          fusion.Begin((i + 1) * kStepNs, InPlane(i), std::nullopt, systematic_);
      const ScanObservation seen = Seen(InPlane(i + 0.01 * random.Normal()));
      if (late && i % 3 == 1) {
        waiting.emplace(prediction.scan, seen);
        continue;
      }
      fused = fusion.End(prediction.scan, &seen);
      if (waiting.has_value()) {
        const auto earlier = fusion.End(waiting->first, &waiting->second);
        // The fused pose of the earlier scan is that at its own time.
        EXPECT_NEAR(earlier->map_T_base.translation.x(), i - 1, 0.05);
        waiting.reset();
      }
    }
    return fusion.Begin(31 * kStepNs, InPlane(30), std::nullopt, systematic_);
  };
  const auto in_order = drive(false);
  const auto late = drive(true);
  EXPECT_EQ(in_order.map_T_base.translation, late.map_T_base.translation);
  EXPECT_EQ(in_order.covariance, late.covariance);
}

TEST_F(PoseFusionTest, RefusesAResultThatComesTooLate) {
  Step(0.0, Seen(InPlane(0.0)));
  const uint64_t scan = Begin(1.0).scan;
  for (int i = 2; i < 40; ++i) static_cast<void>(Begin(i));
  const ScanObservation seen = Seen(InPlane(1.0));
  EXPECT_THAT(fusion_.End(scan, &seen)->refusal, HasSubstr("too late"));
}

TEST_F(PoseFusionTest, StandsAndReverses) {
  for (int i = 0; i <= 10; ++i) Step(i, Seen(InPlane(i)));
  std::optional<FusedPose> fused;
  for (int i = 0; i < 50; ++i) fused = Step(10.0, Seen(InPlane(10.0)));
  EXPECT_NEAR(fused->map_T_base.translation.x(), 10.0, 1e-3);
  for (int i = 9; i >= 0; --i) fused = Step(i, std::nullopt);
  EXPECT_NEAR(fused->map_T_base.translation.x(), 0.0, 0.02);
  EXPECT_NEAR(fused->since_observed_m[0], 10.0, 1e-9);
}

TEST_F(PoseFusionTest, OutlastsPausesAndJumpsOfTheClockByItsOdometry) {
  Step(0.0, Seen(InPlane(0.0)));
  for (const int64_t jump_ns : {3'600'000'000'000LL, -3'600'000'000'000LL, 60'000'000'000LL}) {
    stamp_ns_ += jump_ns;
    const auto prediction = Begin(1.0);
    EXPECT_TRUE(prediction.known);
    EXPECT_NEAR(prediction.map_T_base.translation.x(), 1.0, 1e-9);
    EXPECT_LT(prediction.covariance(5, 5), 0.01);
  }
}

TEST_F(PoseFusionTest, ForgetsThePoseWhereTheOdometryJumps) {
  Step(0.0, Seen(InPlane(0.0)));
  EXPECT_FALSE(Begin(1000.0).known);
  EXPECT_FALSE(Begin(1001.0).known);
  const auto fused = Step(1002.0, Seen(InPlane(3.0)));
  EXPECT_EQ(fused->resets, 2U);
  EXPECT_NEAR(fused->map_T_base.translation.x(), 3.0, 1e-9);
}

TEST_F(PoseFusionTest, GoesByTheTwistWithoutOdometry) {
  const Twist twist{{10.0, 0.0, 0.0}, Eigen::Vector3d::Zero()};
  const auto begin = [&](const std::optional<Twist>& base_twist) {
    stamp_ns_ += kStepNs;
    return fusion_.Begin(stamp_ns_, std::nullopt, base_twist, systematic_);
  };
  const ScanObservation seen = Seen(InPlane(0.0));
  static_cast<void>(fusion_.End(begin(std::nullopt).scan, &seen));
  // Nothing says how fast it is yet: anywhere within metres.
  EXPECT_GT(begin(std::nullopt).covariance(0, 0), 1.0);
  const ScanObservation next = Seen(InPlane(2.0));
  static_cast<void>(fusion_.End(begin(twist).scan, &next));
  const auto prediction = begin(twist);
  EXPECT_NEAR(prediction.map_T_base.translation.x(), 3.0, 0.1);
  EXPECT_LT(prediction.covariance(0, 0), 0.1 * 0.1);
  // After a pause nobody knows.
  stamp_ns_ += 60'000'000'000;
  EXPECT_FALSE(begin(twist).known);
}

TEST_F(PoseFusionTest, ClearForgetsThePoseAndKeepsTheScale) {
  std::optional<FusedPose> fused;
  for (int i = 0; i <= 200; ++i) fused = Step(1.02 * i, Seen(InPlane(i)));
  EXPECT_NEAR(fused->scale, 1.0 / 1.02, 2e-3);
  fusion_.Clear();
  EXPECT_FALSE(Begin(5.0).known);
  const auto anew = Step(6.0, Seen(InPlane(50.0)));
  EXPECT_EQ(anew->scale, fused->scale);
  EXPECT_EQ(anew->resets, 2U);
}

// 100 vehicles with errors of the stated size: the squared Mahalanobis distance of the error has
// mean 6.
TEST_F(PoseFusionTest, IsAsSureAsItIsRight) {
  systematic_.position_sigma_m.setZero();
  systematic_.rotation_sigma_rad.setZero();
  double sum = 0.0;
  constexpr int kVehicles = 100;
  for (int vehicle = 0; vehicle < kVehicles; ++vehicle) {
    RandomNumbers random(100 + static_cast<uint64_t>(vehicle));
    PoseFusion fusion{OdometryErrors()};
    const double scale = 1.0 + 0.02 * random.Normal();
    const double bias_radps = 0.001 * random.Normal();
    Pose truth = InPlane(0.0);
    Pose odometry;
    std::optional<FusedPose> fused;
    for (int i = 0; i < 100; ++i) {
      if (i > 0) {
        truth = truth * InPlane(scale, 0.0, 0.02);
        Vector6 noise;
        noise << 0.01 * random.NormalVector(),
            std::hypot(0.001, 0.02 * std::sqrt(0.02)) * random.NormalVector();
        odometry =
            odometry * ApplyFixedAxesDifference(InPlane(1.0, 0.0, 0.02 + 0.1 * bias_radps), noise);
      }
      const auto prediction = fusion.Begin((i + 1) * kStepNs, odometry, std::nullopt, systematic_);
      Vector6 error;
      error << 0.01 * random.NormalVector(), 1e-3 * random.NormalVector();
      const ScanObservation seen =
          Seen(ApplyFixedAxesDifference(truth, error), /*tunnel=*/i % 50 > 25);
      fused = fusion.End(prediction.scan, &seen);
    }
    const Vector6 difference = FixedAxesDifference(fused->map_T_base, truth);
    sum += difference.dot(fused->covariance.ldlt().solve(difference));
  }
  // A chi-square of 600 degrees of freedom has a standard deviation of 35.
  EXPECT_NEAR(sum, 6.0 * kVehicles, 4.0 * 35.0);
}

TEST_F(PoseFusionTest, BeginsWithTheGuessWhereTheScanIsSilent) {
  ScanObservation seen = Seen(InPlane(0.4, 0.1), /*tunnel=*/true);
  seen.guess = GuessedPose{InPlane(0.0), ScanCovariance(0.2)};
  const auto fused = Step(0.0, seen);
  EXPECT_NEAR(fused->map_T_base.translation.x(), 0.0, 1e-6);
  EXPECT_NEAR(SigmaX(*fused), 0.2, 1e-6);
  EXPECT_NEAR(fused->map_T_base.translation.y(), 0.1, 1e-3);
  EXPECT_LT(SigmaY(*fused), 0.02);
}

TEST_F(PoseFusionTest, DoesNotBeginWithAGuessThatTheScanContradicts) {
  ScanObservation seen = Seen(InPlane(0.4, 2.0), /*tunnel=*/true);
  seen.guess = GuessedPose{InPlane(0.0), ScanCovariance(0.2)};
  const auto fused = Step(0.0, seen);
  EXPECT_EQ(fused->map_T_base.translation, seen.map_T_base.translation);
}

// Stamps are 30 ms early, and the vehicle brakes and accelerates by up to 2.5 m/s^2.
class StampsInFusion : public PoseFusionTest {
 protected:
  struct Drive {
    double x_m = 0.0;
    double speed_m_s = 0.0;
  };
  static Drive At(double time_s) {
    constexpr double kRadPerS = 0.5;
    return {10.0 * time_s - 5.0 / kRadPerS * std::cos(kRadPerS * time_s),
            10.0 + 5.0 * std::sin(kRadPerS * time_s)};
  }
  std::optional<FusedPose> DriveOn(bool with_odometry) {
    std::optional<FusedPose> fused;
    for (int i = 0; i < 600; ++i) {
      now_ = At(0.1 * i);
      stamp_ns_ += kStepNs;
      const Twist twist{{now_.speed_m_s, 0.0, 0.0}, Eigen::Vector3d::Zero()};
      const auto prediction = fusion_.Begin(
          stamp_ns_, with_odometry ? std::optional<Pose>(InPlane(now_.x_m)) : std::nullopt, twist,
          systematic_);
      last_ = prediction.systematic;
      const ScanObservation seen = Seen(InPlane(now_.x_m + 0.03 * now_.speed_m_s));
      fused = fusion_.End(prediction.scan, &seen);
    }
    return fused;
  }

  Drive now_;
  SystematicError last_;
};

TEST_F(StampsInFusion, AreLearntFromDeskewedScans) {
  systematic_.skew_sigma_s = 0.0;
  const auto fused = DriveOn(/*with_odometry=*/true);
  EXPECT_NEAR(fused->stamp_offset_s, 0.03, 0.003);
  EXPECT_LT(fused->stamp_sigma_s, 0.006);
  EXPECT_NEAR(fused->map_T_base.translation.x(), now_.x_m, 0.05);
  EXPECT_NEAR(last_.time_sigma_s, std::hypot(0.03, fused->stamp_sigma_s), 2e-3);
  EXPECT_LT(last_.position_sigma_m.x(), 0.9 * systematic_.position_sigma_m.x());
  EXPECT_EQ(last_.rotation_sigma_rad, systematic_.rotation_sigma_rad);
  // What a drive has shown stays known when the pose is not.
  fusion_.Clear();
  const auto anew = fusion_.Begin(stamp_ns_, std::nullopt, std::nullopt, systematic_);
  EXPECT_FALSE(anew.known);
  EXPECT_NEAR(anew.systematic.time_sigma_s, last_.time_sigma_s, 1e-3);
}

TEST_F(StampsInFusion, AreNotLearntFromSweeps) {
  const auto fused = DriveOn(/*with_odometry=*/true);
  EXPECT_EQ(fused->stamp_offset_s, 0.0);
  EXPECT_GT(fused->stamp_sigma_s, systematic_.time_sigma_s);
}

// A motion by twists lags behind by half a step.
TEST_F(StampsInFusion, AreNotLearntWithoutOdometry) {
  systematic_.skew_sigma_s = 0.0;
  EXPECT_EQ(DriveOn(/*with_odometry=*/false)->stamp_offset_s, 0.0);
}

// The spectrum of each scan turns the tunnel's axis by a degree, to one side or the other.
TEST_F(PoseFusionTest, LearnsNothingFromHowTheSilentDirectionTurns) {
  RandomNumbers random(3);
  Step(0.0, Seen(InPlane(0.0)));
  std::optional<FusedPose> fused;
  for (int i = 1; i <= 200; ++i) {
    const auto prediction = Begin(i);
    Matrix6 information = ScanCovariance().inverse();
    information(0, 0) = 0.0;
    const Eigen::Matrix3d turn =
        Eigen::AngleAxisd(0.017 * random.Normal(), Eigen::Vector3d::UnitZ()).toRotationMatrix();
    information = RotateCovariance(turn, information);
    const ScanObservation seen = ObserveByScan(
        InPlane(prediction.map_T_base.translation.x()), ScanCovariance(), Matrix6::Zero(),
        AnalyzeDegeneracy(information, 10.0, kDegeneracyLimits), kCellM);
    fused = fusion_.End(prediction.scan, &seen);
  }
  EXPECT_GT(SigmaX(*fused), 0.95 * 0.02 * 200.0);
  EXPECT_GT(fused->scale_sigma, 0.019);
}

// Whether and how surely an observation of this share is taken, along x.
double SigmaOfShare(double share, double filter_sigma_m) {
  Matrix6 information = Matrix6::Identity();
  information(0, 0) = share;
  const ScanObservation scan =
      ObserveByScan(Pose(), Matrix6::Identity(), Matrix6::Zero(),
                    AnalyzeDegeneracy(information, 1.0, kDegeneracyLimits), kCellM);
  Matrix6 filter = 1e-6 * Matrix6::Identity();
  filter(0, 0) = filter_sigma_m * filter_sigma_m;
  const ObservedPart part = PartOf(scan, filter);
  for (Eigen::Index row = 0; row < part.axes.rows(); ++row) {
    if (std::abs(part.axes(row, 0)) > 0.5) return std::sqrt(part.covariance(row, row));
  }
  return std::numeric_limits<double>::infinity();
}

TEST(PartOf, FadesDirectionsOfLittleInformation) {
  EXPECT_TRUE(std::isinf(SigmaOfShare(0.99 * kGatedRatio, 0.0)));
  EXPECT_NEAR(SigmaOfShare(2.0 * kGatedRatio, 0.0), 2.0, 1e-6);
  EXPECT_NEAR(SigmaOfShare(10.0 * kGatedRatio, 0.0), 1.0 / 0.9, 1e-6);
}

TEST(PartOf, AsksForMoreInformationOfAFilterThatIsUnsureToACell) {
  EXPECT_TRUE(std::isinf(SigmaOfShare(0.99 * kObservedRatio, kCellM)));
  EXPECT_NEAR(SigmaOfShare(2.0 * kObservedRatio, kCellM), 2.0, 1e-6);
  EXPECT_NEAR(SigmaOfShare(2.0 * kObservedRatio, 10.0 * kCellM), 2.0, 1e-6);
  // Half a cell is a quarter of the doubt.
  const double least = kGatedRatio + 0.25 * (kObservedRatio - kGatedRatio);
  EXPECT_NEAR(SigmaOfShare(2.0 * least, 0.5 * kCellM), 2.0, 1e-6);
}

TEST(PartOf, SaysWhichAxesOfTheBaseAreObserved) {
  // A tunnel along the map's y axis, driven with the base's x axis along it.
  Matrix6 information = ScanCovariance().inverse();
  information(1, 1) = 0.0;
  const Matrix6 systematic = 1e-4 * Matrix6::Identity();
  const ScanObservation scan =
      ObserveByScan(InPlane(5.0, 6.0, M_PI / 2.0), ScanCovariance() + systematic, systematic,
                    AnalyzeDegeneracy(information, 10.0, kDegeneracyLimits), kCellM);
  EXPECT_TRUE(scan.covariance.isApprox(ScanCovariance(), 1e-9));
  const ObservedPart part = PartOf(scan, 1e-4 * Matrix6::Identity());
  ASSERT_EQ(part.axes.rows(), 5);
  EXPECT_LT(part.observed[0], 1e-6);
  for (int axis = 1; axis < 6; ++axis) EXPECT_GT(part.observed[axis], 0.9) << axis;
  EXPECT_TRUE((part.axes * part.directions).isApprox(Eigen::MatrixXd::Identity(5, 5), 1e-9));
  EXPECT_LT(part.axes.col(1).norm(), 1e-9);
}

}  // namespace
}  // namespace voxloc
