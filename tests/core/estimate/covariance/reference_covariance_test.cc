// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/estimate/covariance/covariance_estimator.h"
#include "core/geometry/euler.h"

namespace voxloc {
namespace {

Pose Level(double x, double y, double yaw) {
  return {{x, y, 0.0}, RotationFromRosAngles(0.0, 0.0, yaw)};
}

TEST(ReferenceCovarianceTest, SoftmaxBearsLargeScoresAndSmallTemperatures) {
  const std::vector<double> far = SoftmaxWeights({1e6, 0.0, 1e6}, 1e-3);
  EXPECT_EQ(far, (std::vector<double>{0.5, 0.0, 0.5}));
  EXPECT_EQ(SoftmaxWeights({-7.0}, 0.05), (std::vector<double>{1.0}));
  const std::vector<double> weights = SoftmaxWeights({0.0, 0.25 * std::log(3.0)}, 0.25);
  ASSERT_EQ(weights.size(), 2u);
  EXPECT_NEAR(weights[0], 0.25, 1e-15);
  EXPECT_NEAR(weights[1], 0.75, 1e-15);
}

TEST(ReferenceCovarianceTest, LaplaceIsTheNegativeInverseOfTheBlockAlone) {
  Matrix6 hessian = -1e3 * Matrix6::Identity();
  hessian(0, 0) = -2.0;
  hessian(1, 1) = -4.0;
  const auto diagonal = LaplaceCovariance(hessian);
  ASSERT_TRUE(diagonal.ok()) << diagonal.status();
  EXPECT_TRUE(diagonal->isApprox(Eigen::Vector2d(0.5, 0.25).asDiagonal().toDenseMatrix(), 1e-15));
  // What couples x with yaw does not count.
  hessian(0, 5) = hessian(5, 0) = 40.0;
  EXPECT_EQ(*LaplaceCovariance(hessian), *diagonal);
  // What couples x and y does: ((2, -1), (-1, 4)) has the inverse ((4, 1), (1, 2)) / 7.
  hessian(0, 1) = hessian(1, 0) = 1.0;
  Eigen::Matrix2d expected;
  expected << 4.0, 1.0, 1.0, 2.0;
  EXPECT_TRUE(LaplaceCovariance(hessian)->isApprox(expected / 7.0, 1e-14));
}

TEST(ReferenceCovarianceTest, LaplaceKeepsAnIndefiniteBlockAsTheReferenceDoes) {
  Matrix6 hessian = Matrix6::Zero();
  hessian(0, 0) = 2.0;
  hessian(1, 1) = -4.0;
  const auto covariance = LaplaceCovariance(hessian);
  ASSERT_TRUE(covariance.ok()) << covariance.status();
  EXPECT_DOUBLE_EQ((*covariance)(0, 0), -0.5);
}

TEST(ReferenceCovarianceTest, LaplaceOfASingularBlockIsRefused) {
  Matrix6 dependent = Matrix6::Identity();
  dependent.topLeftCorner<2, 2>() << -1e6, -2e6, -2e6, -4e6;
  Matrix6 infinite = -Matrix6::Identity();
  infinite(0, 0) = -std::numeric_limits<double>::infinity();
  Matrix6 nan = -Matrix6::Identity();
  nan(0, 1) = nan(1, 0) = std::nan("");
  for (const Matrix6& hessian : {Matrix6(Matrix6::Zero()), dependent, infinite, nan}) {
    EXPECT_EQ(LaplaceCovariance(hessian).status().code(), absl::StatusCode::kFailedPrecondition);
  }
}

TEST(ReferenceCovarianceTest, OffsetsTurnWithTheVehicleAndKeepHeightAndRotation) {
  const std::vector<Pose> poses = OffsetPoses(Level(10.0, 20.0, M_PI_2), {{1.0, 0.0}, {0.0, 1.0}});
  ASSERT_EQ(poses.size(), 2u);
  EXPECT_LE((poses[0].translation - Eigen::Vector3d(10.0, 21.0, 0.0)).norm(), 1e-14);
  EXPECT_LE((poses[1].translation - Eigen::Vector3d(9.0, 20.0, 0.0)).norm(), 1e-14);
  const Pose tilted = {{1.0, 2.0, 3.0}, RotationFromRosAngles(0.1, -0.2, 0.7)};
  for (const Pose& pose : OffsetPoses(tilted, {{1.0, -1.0}, {0.0, 5.0}})) {
    EXPECT_EQ(pose.translation.z(), 3.0);
    EXPECT_EQ(pose.rotation.coeffs(), tilted.rotation.coeffs());
  }
}

TEST(ReferenceCovarianceTest, TwoPointsOfEqualWeightHaveVarianceOne) {
  const std::vector<Eigen::Vector2d> positions = {{0.0, 0.0}, {2.0, 0.0}};
  const PositionMoments weighted = WeightedMoments(positions, {0.5, 0.5});
  EXPECT_EQ(weighted.mean, Eigen::Vector2d(1.0, 0.0));
  EXPECT_DOUBLE_EQ(weighted.covariance(0, 0), 1.0);
  EXPECT_EQ(weighted.covariance(1, 1), 0.0);
  // With the reference's factor of a half.
  EXPECT_DOUBLE_EQ(MomentsOf(positions).covariance(0, 0), 0.5);
  EXPECT_EQ(MomentsOf({{3.0, 4.0}}).covariance, Eigen::Matrix2d(Eigen::Matrix2d::Zero()));
}

TEST(ReferenceCovarianceTest, MomentsLoseNothingAtLargeCoordinates) {
  const Eigen::Vector2d far(4e6, 5e5);
  std::vector<Eigen::Vector2d> near;
  std::vector<Eigen::Vector2d> moved;
  for (const double d : {-1e-3, 0.0, 2e-3, 5e-3}) {
    near.emplace_back(d, 0.5 * d);
    moved.emplace_back(far + near.back());
  }
  // A coordinate of 4e6 m has steps of 5e-10 m.
  EXPECT_LE((MomentsOf(moved).covariance - MomentsOf(near).covariance).cwiseAbs().maxCoeff(),
            1e-11);
}

TEST(ReferenceCovarianceTest, TheDiagonalIsRaised) {
  const Eigen::Matrix2d raised = RaiseDiagonal(Eigen::Matrix2d::Identity(), 4.0, 9.0);
  EXPECT_EQ(raised, Eigen::Matrix2d(Eigen::Vector2d(4.0, 9.0).asDiagonal()));
  Eigen::Matrix2d wide;
  wide << 16.0, 3.0, 3.0, 2.0;
  Eigen::Matrix2d expected;
  expected << 16.0, 3.0, 3.0, 9.0;
  EXPECT_EQ(RaiseDiagonal(wide, 4.0, 9.0), expected);
}

TEST(ReferenceCovarianceTest, TheFixedMatrixTurnsInItsPositionBlockOnly) {
  Matrix6 fixed = Matrix6::Zero();
  fixed.diagonal() << 4.0, 1.0, 9.0, 0.1, 0.2, 0.3;
  fixed(1, 5) = fixed(5, 1) = 0.05;
  const Matrix6 turned = RotateFixedCovariance(fixed, Level(7.0, 8.0, M_PI_2));
  Matrix6 expected = fixed;
  expected(0, 0) = 1.0;
  expected(1, 1) = 4.0;
  EXPECT_LE((turned - expected).cwiseAbs().maxCoeff(), 1e-14);
  EXPECT_EQ(turned, Matrix6(turned.transpose()));

  // Pitched by a right angle, forward points down: forward variance becomes vertical.
  const Pose down = {{0.0, 0.0, 0.0}, RotationFromRosAngles(0.0, M_PI_2, 0.0)};
  EXPECT_NEAR(RotateFixedCovariance(fixed, down)(2, 2), 4.0, 1e-14);
}

TEST(ReferenceCovarianceTest, FloorsHoldAlongTheVehiclesAxes) {
  CovarianceOptions options;
  options.fixed.diagonal() << 0.04, 0.01, 0.5, 0.1, 0.1, 0.1;
  // Heading north: the vehicle's longitudinal axis is map y.
  const Pose north = Level(0.0, 0.0, M_PI_2);
  const Matrix6 floored = CovarianceWithPosition(Eigen::Matrix2d::Zero(), north, options);
  EXPECT_NEAR(floored(1, 1), 0.04, 1e-15);
  EXPECT_NEAR(floored(0, 0), 0.01, 1e-15);
  EXPECT_EQ(floored(2, 2), 0.5);
  EXPECT_EQ(floored(4, 4), 0.1);
  // What exceeds them stays, whatever the heading.
  Eigen::Matrix2d estimate;
  estimate << 2.0, 0.7, 0.7, 1.0;
  for (const double yaw : {0.0, 0.4, 2.0, -1.3}) {
    const Matrix6 kept = CovarianceWithPosition(estimate, Level(0.0, 0.0, yaw), options);
    EXPECT_LE((kept.topLeftCorner<2, 2>() - estimate).cwiseAbs().maxCoeff(), 1e-14) << yaw;
  }
}

TEST(ReferenceCovarianceTest, AnEstimateThatIsNotSymmetricIsReportedAsItsSymmetricPart) {
  CovarianceOptions options;
  options.fixed = 1e-12 * Matrix6::Identity();
  Eigen::Matrix2d estimate;
  estimate << 2.0, 0.7, 0.5, 1.0;
  Eigen::Matrix2d expected;
  expected << 2.0, 0.6, 0.6, 1.0;
  for (const double yaw : {0.0, 0.4, 2.0}) {
    const Matrix6 reported = CovarianceWithPosition(estimate, Level(0.0, 0.0, yaw), options);
    EXPECT_LE((reported.topLeftCorner<2, 2>() - expected).cwiseAbs().maxCoeff(), 1e-14) << yaw;
    EXPECT_EQ(reported, Matrix6(reported.transpose()));
  }
}

TEST(ReferenceCovarianceTest, TheScaleIsOnTheEstimateNotOnTheFloors) {
  CovarianceOptions options;
  options.scale_factor = 0.1;
  const Eigen::Matrix2d estimate = Eigen::Vector2d(1.0, 0.1).asDiagonal();
  const Matrix6 scaled = CovarianceWithPosition(estimate, Pose{}, options);
  EXPECT_NEAR(scaled(0, 0), 0.1, 1e-15);
  EXPECT_NEAR(scaled(1, 1), 0.0225, 1e-15);
}

}  // namespace
}  // namespace voxloc
