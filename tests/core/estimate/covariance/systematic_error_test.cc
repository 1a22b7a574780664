// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/covariance/systematic_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/geometry/pose_difference.h"
#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

using ::testing::HasSubstr;

// By drawing errors in the base's frame and looking at them from the map.
TEST(SystematicErrorTest, IsTheCovarianceOfErrorsDrawnInTheBaseFrame) {
  SystematicError error;
  error.position_sigma_m = {0.05, 0.01, 0.03};
  error.rotation_sigma_rad = {0.001, 0.002, 0.008};
  Pose map_T_base;
  map_T_base.translation = {1000.0, -20.0, 3.0};
  map_T_base.rotation = Eigen::AngleAxisd(0.9, Eigen::Vector3d(0.2, -0.3, 0.9).normalized());
  RandomNumbers random(5);
  constexpr int kDraws = 20'000;
  Matrix6 sum = Matrix6::Zero();
  for (int i = 0; i < kDraws; ++i) {
    Pose wrong_T_true;
    wrong_T_true.translation = error.position_sigma_m.cwiseProduct(random.NormalVector());
    const Eigen::Vector3d turn = error.rotation_sigma_rad.cwiseProduct(random.NormalVector());
    wrong_T_true.rotation = Eigen::AngleAxisd(turn.norm(), turn.normalized());
    const Eigen::Matrix<double, 6, 1> difference =
        FixedAxesDifference(map_T_base, map_T_base * wrong_T_true);
    sum += difference * difference.transpose();
  }
  const Matrix6 drawn = sum / kDraws;
  const Matrix6 covariance = SystematicCovariance(error, map_T_base, std::nullopt);
  const Eigen::Matrix<double, 6, 1> scale = covariance.diagonal().cwiseSqrt();
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 6; ++j) {
      // Five standard deviations of the mean of so many products.
      EXPECT_NEAR(drawn(i, j), covariance(i, j), 0.05 * scale[i] * scale[j]) << i << ", " << j;
    }
  }
}

// A base that is where it will be, or was, a moment from now: by driving it there in its own axes.
TEST(SystematicErrorTest, TheTimePartIsTheCovarianceOfPosesDrivenForRandomTimes) {
  SystematicError error;
  error.position_sigma_m.setZero();
  error.rotation_sigma_rad.setZero();
  error.time_sigma_s = 0.004;
  error.skew_sigma_s = 0.0;
  const Twist twist = {{20.0, 0.3, -0.1}, {0.01, -0.02, 0.5}};
  Pose map_T_base;
  map_T_base.translation = {1000.0, -20.0, 3.0};
  map_T_base.rotation = Eigen::AngleAxisd(0.9, Eigen::Vector3d(0.2, -0.3, 0.9).normalized());
  RandomNumbers random(6);
  constexpr int kDraws = 20'000;
  Matrix6 sum = Matrix6::Zero();
  for (int i = 0; i < kDraws; ++i) {
    const double late_s = error.time_sigma_s * random.Normal();
    const Eigen::Vector3d turn = late_s * twist.angular_rad_s;
    Pose now_T_then;
    now_T_then.translation = late_s * twist.linear_m_s;
    now_T_then.rotation = Eigen::AngleAxisd(turn.norm(), turn.normalized());
    const Eigen::Matrix<double, 6, 1> difference =
        FixedAxesDifference(map_T_base, map_T_base * now_T_then);
    sum += difference * difference.transpose();
  }
  const Matrix6 drawn = sum / kDraws;
  const Matrix6 covariance = SystematicCovariance(error, map_T_base, twist);
  const Eigen::Matrix<double, 6, 1> scale = covariance.diagonal().cwiseSqrt();
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 6; ++j) {
      // Five standard deviations of the mean of so many squares.
      EXPECT_NEAR(drawn(i, j), covariance(i, j), 0.05 * scale[i] * scale[j]) << i << ", " << j;
    }
  }
  // Along the way alone: the square of 20 m/s for 4 ms.
  const Eigen::Matrix3d position = covariance.topLeftCorner<3, 3>();
  EXPECT_NEAR(position.trace(), 0.0064, 1e-5);
}

TEST(SystematicErrorTest, TheSkewPartIsTheSpeedForItsTimeInAllDirections) {
  SystematicError error;
  error.position_sigma_m.setZero();
  error.rotation_sigma_rad.setZero();
  error.time_sigma_s = 0.0;
  error.skew_sigma_s = 0.01;
  Twist twist;
  twist.linear_m_s = {3.0, 0.0, 4.0};
  twist.angular_rad_s = {0.0, 0.0, 1.0};
  Matrix6 expected = Matrix6::Zero();
  // 5 m/s for 0.01 s; the same at 10 m.
  expected.diagonal() << 0.0025, 0.0025, 0.0025, 2.5e-5, 2.5e-5, 2.5e-5;
  EXPECT_TRUE(SystematicCovariance(error, Pose(), twist).isApprox(expected, 1e-12));
}

TEST(SystematicErrorTest, WithoutATwistTimeAndSkewAddNothing) {
  SystematicError error;
  error.time_sigma_s = 0.0;
  error.skew_sigma_s = 0.0;
  Twist moving;
  moving.linear_m_s.x() = 10.0;
  const Matrix6 without_time = SystematicCovariance(error, Pose(), moving);
  error.time_sigma_s = 1.0;
  error.skew_sigma_s = 1.0;
  EXPECT_EQ(SystematicCovariance(error, Pose(), std::nullopt), without_time);
  EXPECT_EQ(SystematicCovariance(error, Pose(), Twist()), without_time);
}

TEST(SystematicErrorTest, ZeroIsAllowedAndAddsNothing) {
  SystematicError none;
  none.position_sigma_m.setZero();
  none.rotation_sigma_rad.setZero();
  none.time_sigma_s = 0.0;
  none.skew_sigma_s = 0.0;
  EXPECT_TRUE(ValidateSystematicError(none).ok());
  EXPECT_TRUE(SystematicCovariance(none, Pose(), std::nullopt).isZero(0.0));
}

TEST(SystematicErrorTest, WhatIsNoStandardDeviationIsRefused) {
  for (const double value : {-0.1, 101.0, std::numeric_limits<double>::quiet_NaN()}) {
    SystematicError error;
    error.position_sigma_m.y() = value;
    EXPECT_THAT(std::string(ValidateSystematicError(error).message()),
                HasSubstr("systematic_position_sigma_m must be three values from 0 to 100"));
    error = SystematicError();
    error.rotation_sigma_rad.z() = value;
    EXPECT_THAT(std::string(ValidateSystematicError(error).message()),
                HasSubstr("systematic_rotation_sigma_rad must be three values from 0 to 3.2"));
    error = SystematicError();
    error.time_sigma_s = value;
    EXPECT_THAT(std::string(ValidateSystematicError(error).message()),
                HasSubstr("systematic_time_sigma_s must be from 0 to 10"));
    error = SystematicError();
    error.skew_sigma_s = value;
    EXPECT_THAT(std::string(ValidateSystematicError(error).message()),
                HasSubstr("systematic_skew_sigma_s must be from 0 to 10"));
  }
}

}  // namespace
}  // namespace voxloc
