// SPDX-License-Identifier: Apache-2.0

#include "core/geometry/covariance.h"

#include <Eigen/Geometry>
#include <cmath>

#include "gtest/gtest.h"

namespace voxloc {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

TEST(CovarianceTest, RotatingTurnsBothBlocks) {
  Matrix6 covariance = Matrix6::Zero();
  covariance.diagonal() << 4, 1, 9, 0.4, 0.1, 0.9;
  covariance(0, 4) = covariance(4, 0) = 0.25;
  const Matrix3d quarter_turn =
      Eigen::AngleAxisd(M_PI_2, Vector3d::UnitZ()).toRotationMatrix();  // x -> y, y -> -x
  const Matrix6 rotated = RotateCovariance(quarter_turn, covariance);
  Matrix6 expected = Matrix6::Zero();
  expected.diagonal() << 1, 4, 9, 0.1, 0.4, 0.9;
  expected(1, 3) = expected(3, 1) = -0.25;
  EXPECT_LT((rotated - expected).cwiseAbs().maxCoeff(), 1e-15) << rotated;
}

}  // namespace
}  // namespace voxloc
