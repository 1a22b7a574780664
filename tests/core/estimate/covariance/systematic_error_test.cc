// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <optional>

#include "core/estimate/covariance/covariance_estimator.h"
#include "core/geometry/covariance.h"
#include "tests/core/tracking/refused_options.h"
#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

SystematicError NoError() {
  SystematicError none;
  none.position_sigma_m.setZero();
  none.rotation_sigma_rad.setZero();
  none.time_sigma_s = 0.0;
  none.skew_sigma_s = 0.0;
  return none;
}

// Against the mean over poses that are moved by `draw` (translation, rotation vector) in the base's
// axes, looked at from the map.
Matrix6 ExpectCovarianceOf(const SystematicError& error, const std::optional<Twist>& twist,
                           const std::function<std::array<Eigen::Vector3d, 2>()>& draw) {
  Pose map_T_base;
  map_T_base.translation = {1000.0, -20.0, 3.0};
  map_T_base.rotation = Eigen::AngleAxisd(0.9, Eigen::Vector3d(0.2, -0.3, 0.9).normalized());
  constexpr int kDraws = 20'000;
  Matrix6 sum = Matrix6::Zero();
  for (int i = 0; i < kDraws; ++i) {
    const auto [moved, turn] = draw();
    const Pose wrong_T_true = {
        moved, Eigen::Quaterniond(Eigen::AngleAxisd(turn.norm(), turn.normalized()))};
    const Eigen::Matrix<double, 6, 1> difference =
        FixedAxesDifference(map_T_base, map_T_base * wrong_T_true);
    sum += difference * difference.transpose();
  }
  const Matrix6 covariance = SystematicCovariance(error, map_T_base, twist).Sum();
  const Eigen::Matrix<double, 6, 1> scale = covariance.diagonal().cwiseSqrt();
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 6; ++j) {
      // Five standard deviations of the mean of so many products.
      EXPECT_NEAR(sum(i, j) / kDraws, covariance(i, j), 0.05 * scale[i] * scale[j])
          << i << ", " << j;
    }
  }
  return covariance;
}

TEST(SystematicErrorTest, IsTheCovarianceOfErrorsDrawnInTheBaseFrame) {
  SystematicError error;
  error.position_sigma_m = {0.05, 0.01, 0.03};
  error.rotation_sigma_rad = {0.001, 0.002, 0.008};
  RandomNumbers random(5);
  ExpectCovarianceOf(error, std::nullopt, [&]() -> std::array<Eigen::Vector3d, 2> {
    const Eigen::Vector3d moved = error.position_sigma_m.cwiseProduct(random.NormalVector());
    return {moved, error.rotation_sigma_rad.cwiseProduct(random.NormalVector())};
  });
}

// A base that is where it will be, or was, a moment from now: by driving it there in its own axes.
TEST(SystematicErrorTest, TheTimePartIsTheCovarianceOfPosesDrivenForRandomTimes) {
  SystematicError error = NoError();
  error.time_sigma_s = 0.004;
  const Twist twist = {{20.0, 0.3, -0.1}, {0.01, -0.02, 0.5}};
  RandomNumbers random(6);
  const Matrix6 covariance =
      ExpectCovarianceOf(error, twist, [&]() -> std::array<Eigen::Vector3d, 2> {
        const double late_s = error.time_sigma_s * random.Normal();
        return {late_s * twist.linear_m_s, late_s * twist.angular_rad_s};
      });
  // Along the way alone: the square of 20 m/s for 4 ms.
  EXPECT_NEAR((covariance.topLeftCorner<3, 3>().trace()), 0.0064, 1e-5);
}

TEST(SystematicErrorTest, TheSkewPartIsTheSpeedForItsTimeInAllDirections) {
  SystematicError error = NoError();
  error.skew_sigma_s = 0.01;
  const Twist twist = {{3.0, 0.0, 4.0}, {0.0, 0.0, 1.0}};
  Matrix6 expected = Matrix6::Zero();
  // 5 m/s for 0.01 s; the same at 10 m.
  expected.diagonal() << 0.0025, 0.0025, 0.0025, 2.5e-5, 2.5e-5, 2.5e-5;
  EXPECT_TRUE(SystematicCovariance(error, Pose(), twist).Sum().isApprox(expected, 1e-12));
}

TEST(SystematicErrorTest, WithoutATwistTimeAndSkewAddNothing) {
  SystematicError error;
  error.time_sigma_s = 0.0;
  error.skew_sigma_s = 0.0;
  Twist moving;
  moving.linear_m_s.x() = 10.0;
  const Matrix6 without_time = SystematicCovariance(error, Pose(), moving).Sum();
  error.time_sigma_s = 1.0;
  error.skew_sigma_s = 1.0;
  EXPECT_EQ(SystematicCovariance(error, Pose(), std::nullopt).Sum(), without_time);
  EXPECT_EQ(SystematicCovariance(error, Pose(), Twist()).Sum(), without_time);
}

TEST(SystematicErrorTest, ZeroIsAllowedAndAddsNothing) {
  EXPECT_TRUE(ValidateSystematicError(NoError()).ok());
  EXPECT_TRUE(SystematicCovariance(NoError(), Pose(), std::nullopt).Sum().isZero(0.0));
}

TEST(SystematicErrorTest, WhatIsNoStandardDeviationIsRefused) {
  for (const double value : {-0.1, 101.0, std::nan("")}) {
    ExpectRefused<SystematicError>(
        ValidateSystematicError,
        {{[=](auto& e) { e.position_sigma_m.y() = value; },
          "systematic_position_sigma_m must be from 0 to 100"},
         {[=](auto& e) { e.rotation_sigma_rad.z() = value; },
          "systematic_rotation_sigma_rad must be from 0 to 3.2"},
         {[=](auto& e) { e.time_sigma_s = value; }, "systematic_time_sigma_s must be from 0 to 10"},
         {[=](auto& e) { e.skew_sigma_s = value; },
          "systematic_skew_sigma_s must be from 0 to 10"}});
  }
}

}  // namespace
}  // namespace voxloc
