// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/drive_errors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

Pose InMap(const Eigen::Vector3d& position, double yaw_rad) {
  return {position, Eigen::Quaterniond(Eigen::AngleAxisd(yaw_rad, Eigen::Vector3d::UnitZ()))};
}

// Drives 3 km in steps of 0.7 m, along a road that bends, through a map that is displaced along and
// across it by independent amounts every 5 m, linear between them.
class DisplacedMap {
 public:
  void Drive(double along_sigma_m, double across_sigma_m) {
    std::vector<Eigen::Vector3d> displacements_base(700);
    for (Eigen::Vector3d& displacement : displacements_base) {
      displacement = {along_sigma_m * random_.Normal(), across_sigma_m * random_.Normal(), 0.0};
    }
    const Pose step = InMap({0.7, 0.0, 0.0}, 0.002);
    for (int i = 0; i < 4200; ++i) {
      const double place = 0.7 * i / 5.0;
      const auto before = static_cast<size_t>(place);
      const double share = place - std::floor(place);
      const Eigen::Vector3d displacement_base =
          (1.0 - share) * displacements_base[before] + share * displacements_base[before + 1];
      errors_.Observe(truth_ * Pose{displacement_base, Eigen::Quaterniond::Identity()}, start_);
      truth_ = truth_ * step;
      errors_.Move(step, std::nullopt);
    }
  }
  [[nodiscard]] Eigen::Vector3d Sigma() const { return errors_.Adapt(start_).position_sigma_m; }
  [[nodiscard]] const SystematicError& start() const { return start_; }

 private:
  RandomNumbers random_{5};
  SystematicError start_;
  DriveErrors errors_;
  Pose truth_ = InMap({100.0, 50.0, 3.0}, 0.3);
};

TEST(DriveErrors, AreTheStartsBeforeAnythingIsSeen) {
  DriveErrors errors;
  const SystematicError start;
  errors.Observe(Pose(), start);
  const SystematicError adapted = errors.Adapt(start);
  EXPECT_EQ(adapted.position_sigma_m, start.position_sigma_m);
  EXPECT_EQ(adapted.rotation_sigma_rad, start.rotation_sigma_rad);
  EXPECT_EQ(adapted.skew_sigma_s, start.skew_sigma_s);
  EXPECT_NEAR(adapted.time_sigma_s, std::hypot(0.02, 0.002), 1e-12);  // with the jitter
  EXPECT_EQ(errors.StampOffset(start), 0.0);
}

// Linear between independent values, a displacement has 2/3 of their variance.
TEST(DriveErrors, DisplacementIsFoundAlongEachAxis) {
  DisplacedMap map;
  map.Drive(0.03, 0.02);
  EXPECT_NEAR(map.Sigma().x(), 0.03 * std::sqrt(2.0 / 3.0), 0.004);
  EXPECT_NEAR(map.Sigma().y(), 0.02 * std::sqrt(2.0 / 3.0), 0.004);
}

TEST(DriveErrors, DisplacementStaysWithinItsBounds) {
  DisplacedMap map;
  map.Drive(0.2, 0.2);
  EXPECT_EQ(map.Sigma().x(), map.start().position_sigma_m.x());
  // Along z, the map is right.
  EXPECT_EQ(map.Sigma().z(), 0.25 * map.start().position_sigma_m.z());
}

TEST(DriveErrors, AnotherDistrictIsSeenSoon) {
  DisplacedMap map;
  for (int i = 0; i < 5; ++i) map.Drive(0.0, 0.0);
  EXPECT_LE(map.Sigma().x(), 0.011);
  map.Drive(0.04, 0.04);
  EXPECT_GT(map.Sigma().x(), 0.027);
}

TEST(DriveErrors, NothingIsComparedAcrossAJump) {
  DriveErrors errors;
  const SystematicError start;
  const Pose step = InMap({1.0, 0.0, 0.0}, 0.0);
  for (int i = 0; i < 200; ++i) {
    if (i % 15 == 0) errors.Restart();
    errors.Observe(InMap({1.0 * i + 10.0 * (i / 15), 0.0, 0.0}, 0.0), start);
    errors.Move(step, std::nullopt);
  }
  EXPECT_EQ(errors.Adapt(start).position_sigma_m, start.position_sigma_m);
}

// As where the scans' information along the road is so little that a result slides.
TEST(DriveErrors, AResultThatHasSlidTellsNoOffset) {
  DriveErrors errors;
  const SystematicError start;
  double x_m = 0.0;
  for (int i = 0; i < 200; ++i) {
    const double slid_m = i % 25 == 0 ? 0.5 : 0.0;
    errors.Observe(InMap({x_m + slid_m, 0.0, 0.0}, 0.0), start);
    const double speed_m_s = i % 2 == 0 ? 28.0 : 29.0;
    x_m += 0.1 * speed_m_s;
    errors.Move(InMap({0.1 * speed_m_s, 0.0, 0.0}, 0.0),
                Twist{{speed_m_s, 0.0, 0.0}, {0.0, 0.0, 0.0}});
  }
  EXPECT_NEAR(errors.StampOffset(start), 0.0, 1e-3);
}

// 200 vehicles with stamps that are each wrong by another time, and with odometry whose noise is in
// the twist too: that of two motions, from the middle of the last one on.
struct StampSpread {
  double ratio = 0.0;    // mean square of the errors over the variance that is stated
  double sigma_s = 0.0;  // that is stated, without the jitter; the mean
  double bias_s = 0.0;   // mean error
};

StampSpread DriveWithWrongStamps(const std::function<double(double)>& speed_at,
                                 const std::function<double(double)>& yaw_rate_at,
                                 double noise_per_metre) {
  constexpr int kVehicles = 200;
  constexpr double kPeriodS = 0.1;
  const SystematicError start;
  RandomNumbers random(29);
  StampSpread spread;
  for (int vehicle = 0; vehicle < kVehicles; ++vehicle) {
    const double offset_s = start.time_sigma_s * random.Normal();
    DriveErrors errors;
    Pose truth = InMap({10.0, -3.0, 1.0}, 0.8);
    std::optional<Twist> before;
    for (int step = 0; step < 600; ++step) {
      const auto twist_at = [&](double time_s) {
        return Twist{{speed_at(time_s), 0.0, 0.0}, {0.0, 0.0, yaw_rate_at(time_s)}};
      };
      // The scan shows the base later.
      const Pose shown = truth * IntegrateTwist(twist_at(kPeriodS * step), offset_s);
      const Eigen::Vector3d noise = 0.01 * random.NormalVector();
      errors.Observe({shown.translation + noise, shown.rotation}, start);
      const Pose moved = IntegrateTwist(twist_at(kPeriodS * (step + 0.5)), kPeriodS);
      truth = truth * moved;
      Pose counted = moved;
      counted.translation +=
          noise_per_metre * std::sqrt(moved.translation.norm()) * random.NormalVector();
      const Twist mean = MeanTwist(Pose(), counted, kPeriodS);
      Twist now = mean;
      if (before.has_value()) {
        now.linear_m_s += 0.5 * (mean.linear_m_s - before->linear_m_s);
        now.angular_rad_s += 0.5 * (mean.angular_rad_s - before->angular_rad_s);
      }
      before = mean;
      errors.Move(counted, now);
    }
    const double jitter_s = 0.1 * start.time_sigma_s;
    const double sigma_s = std::sqrt(std::pow(errors.StampSigma(start), 2) - std::pow(jitter_s, 2));
    const double error_s = errors.StampOffset(start) - offset_s;
    spread.ratio += error_s * error_s / (sigma_s * sigma_s) / kVehicles;
    spread.sigma_s += sigma_s / kVehicles;
    spread.bias_s += error_s / kVehicles;
  }
  return spread;
}

// The map is right here, which the drive does not know: errors are smaller than what is stated.
TEST(DriveErrors, StampsAreLearntWhereTheVelocityChanges) {
  for (const double noise_per_metre : {0.002, 0.01}) {
    for (const double acceleration : {1.0, 3.0}) {
      const StampSpread brakes = DriveWithWrongStamps(
          [=](double t) { return 10.0 + 2.0 * acceleration * std::sin(0.5 * t); },
          [](double) { return 0.0; }, noise_per_metre);
      EXPECT_LT(brakes.ratio, 1.3) << noise_per_metre << " " << acceleration;
      EXPECT_LT(brakes.sigma_s, acceleration == 1.0 ? 0.012 : 0.006);
      EXPECT_LT(std::abs(brakes.bias_s), 0.5 * brakes.sigma_s);
    }
    const StampSpread turns =
        DriveWithWrongStamps([](double) { return 10.0; },
                             [](double t) { return 0.3 * std::sin(0.5 * t); }, noise_per_metre);
    EXPECT_LT(turns.ratio, 1.3) << noise_per_metre;
    EXPECT_LT(turns.sigma_s, 0.012);
  }
}

// Also in a bend: the scans then show another place of the same circle.
TEST(DriveErrors, StampsAreNotLearntWhereTheTwistIsTheSame) {
  for (const double yaw_rate : {0.0, 0.2}) {
    const StampSpread even =
        DriveWithWrongStamps([](double) { return 10.0; }, [=](double) { return yaw_rate; }, 0.002);
    EXPECT_NEAR(even.ratio, 1.0, 0.4) << yaw_rate;  // 4 sqrt(2 / 200)
    EXPECT_NEAR(even.sigma_s, 0.02, 5e-4) << yaw_rate;
  }
}

}  // namespace
}  // namespace voxloc
