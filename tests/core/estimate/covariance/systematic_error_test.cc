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
  const Matrix6 covariance = SystematicCovariance(error, map_T_base);
  const Eigen::Matrix<double, 6, 1> scale = covariance.diagonal().cwiseSqrt();
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 6; ++j) {
      // Five standard deviations of the mean of so many products.
      EXPECT_NEAR(drawn(i, j), covariance(i, j), 0.05 * scale[i] * scale[j]) << i << ", " << j;
    }
  }
}

TEST(SystematicErrorTest, ZeroIsAllowedAndAddsNothing) {
  SystematicError none;
  none.position_sigma_m.setZero();
  none.rotation_sigma_rad.setZero();
  EXPECT_TRUE(ValidateSystematicError(none).ok());
  EXPECT_TRUE(SystematicCovariance(none, Pose()).isZero(0.0));
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
  }
}

}  // namespace
}  // namespace voxloc
