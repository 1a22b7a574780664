// SPDX-License-Identifier: Apache-2.0

#include "core/geometry/covariance.h"

#include <Eigen/Geometry>
#include <cmath>
#include <random>

#include "core/geometry/euler.h"
#include "gtest/gtest.h"

namespace voxloc {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

// The rotation vector about fixed axes that turns `from` into `to`.
Vector3d FixedAxesRotation(const Matrix3d& from, const Matrix3d& to) {
  const Eigen::AngleAxisd turn(to * from.transpose());
  return turn.axis() * turn.angle();
}

TEST(CovarianceTest, JacobianMatchesFiniteDifferencesOfTheRotation) {
  std::mt19937_64 random(11);
  const auto uniform = [&](double limit) {
    return (static_cast<double>(random() >> 11) * 0x1p-53 * 2.0 - 1.0) * limit;
  };
  constexpr double kStep = 1e-5;
  for (int i = 0; i < 500; ++i) {
    const Vector3d angles(uniform(M_PI), uniform(M_PI_2), uniform(M_PI));
    const Matrix6 jacobian = FixedAxesFromChartJacobian(angles.x(), angles.y());
    for (int k = 0; k < 3; ++k) {
      Vector3d low = angles;
      Vector3d high = angles;
      low[k] -= kStep;
      high[k] += kStep;
      const Vector3d column =
          FixedAxesRotation(RotationFromChartAngles(low.x(), low.y(), low.z()),
                            RotationFromChartAngles(high.x(), high.y(), high.z())) /
          (2.0 * kStep);
      const Vector3d given = jacobian.block<3, 1>(3, 3 + k);
      ASSERT_LT((given - column).norm(), 1e-8) << angles.transpose() << " column " << k;
    }
    EXPECT_EQ((jacobian.topLeftCorner<3, 3>()), Matrix3d::Identity());
    EXPECT_TRUE((jacobian.topRightCorner<3, 3>().isZero(0.0)));
    EXPECT_TRUE((jacobian.bottomLeftCorner<3, 3>().isZero(0.0)));
  }
}

TEST(CovarianceTest, AChartCovarianceIsCarriedByTheJacobian) {
  Matrix6 spread = Matrix6::Zero();
  spread.diagonal() << 0.3, 0.2, 0.1, 2e-3, 1e-3, 3e-3;
  spread(1, 0) = 0.1;
  spread(4, 3) = 5e-4;
  spread(5, 0) = 1e-3;
  const Matrix6 to_fixed_axes = FixedAxesFromChartJacobian(0.7, -0.5) * spread;
  const Matrix6 given = FixedAxesCovarianceFromChart(spread * spread.transpose(), 0.7, -0.5);
  EXPECT_LT((given - to_fixed_axes * to_fixed_axes.transpose()).cwiseAbs().maxCoeff(), 1e-15);
}

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
