// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>

#include "core/geometry/euler.h"
#include "core/tracking/verdict.h"

namespace voxloc {
namespace {

constexpr double kRadius_m = 20.0;
const DegeneracyLimits kLimits = {/*weak_ratio=*/1e-2, /*unobserved_ratio=*/1e-3};

// A tunnel along this horizontal direction: nothing is seen of it.
Degeneracy Tunnel(double yaw_rad) {
  const Eigen::Vector3d along(std::cos(yaw_rad), std::sin(yaw_rad), 0.0);
  Matrix6 information = Matrix6::Identity();
  information.topLeftCorner<3, 3>() -= along * along.transpose();
  information.bottomRightCorner<3, 3>() *= kRadius_m * kRadius_m;
  return AnalyzeDegeneracy(information, kRadius_m, kLimits);
}

PriorPose PriorAt(double x, double y, double sigma_m) {
  PriorPose prior;
  prior.map_T_base.translation = {x, y, 0.0};
  prior.covariance = sigma_m * sigma_m * Matrix6::Identity();
  return prior;
}

TEST(PriorPose, CountsTheDistanceAlongTheTunnelAlone) {
  const Degeneracy degeneracy = Tunnel(0.0);
  ASSERT_EQ(degeneracy.unobserved_directions, 1);
  Pose result;
  result.translation = {100.0, 7.0, 0.0};
  EXPECT_NEAR(ErrorBoundAlongUnobserved(degeneracy, result, PriorAt(100.3, 0.0, 0.1)), 0.5, 1e-9);
  result.translation.x() = 99.3;
  EXPECT_NEAR(ErrorBoundAlongUnobserved(degeneracy, result, PriorAt(100.3, 0.0, 0.1)), 1.2, 1e-9);
}

TEST(PriorPose, FollowsAnObliqueTunnelAcrossTheAxes) {
  const double yaw_rad = 30.0 * kRadiansPerDegree;
  const Degeneracy degeneracy = Tunnel(yaw_rad);
  Pose result;
  // 2 m across the tunnel and 0.25 m along it.
  result.translation = {0.25 * std::cos(yaw_rad) - 2.0 * std::sin(yaw_rad),
                        0.25 * std::sin(yaw_rad) + 2.0 * std::cos(yaw_rad), 0.0};
  EXPECT_NEAR(ErrorBoundAlongUnobserved(degeneracy, result, PriorAt(0.0, 0.0, 0.2)), 0.65, 1e-9);
}

TEST(PriorPose, CountsARotationByHowFarItMovesThePoints) {
  // Round about the vertical axis, as in a silo.
  Matrix6 information = Matrix6::Identity();
  information.bottomRightCorner<3, 3>() *= kRadius_m * kRadius_m;
  information(5, 5) = 0.0;
  const Degeneracy degeneracy = AnalyzeDegeneracy(information, kRadius_m, kLimits);
  Pose result;
  result.rotation = Eigen::AngleAxisd(0.01, Eigen::Vector3d::UnitZ());
  PriorPose prior;
  prior.covariance(5, 5) = 0.015 * 0.015;
  EXPECT_NEAR(ErrorBoundAlongUnobserved(degeneracy, result, prior), 0.2 + 2.0 * 0.3, 1e-9);
}

TEST(PriorPose, IsNotAskedWhereTheScanObservesAll) {
  Matrix6 information = Matrix6::Identity();
  information.bottomRightCorner<3, 3>() *= kRadius_m * kRadius_m;
  const Degeneracy degeneracy = AnalyzeDegeneracy(information, kRadius_m, kLimits);
  EXPECT_EQ(degeneracy.unobserved_directions, 0);
  EXPECT_FALSE(degeneracy.degenerate());
  EXPECT_EQ(ErrorBoundAlongUnobserved(degeneracy, Pose(), PriorAt(50.0, 50.0, 9.0)), 0.0);
}

TEST(PriorPose, CountsEveryDirectionWhereNothingIsKnown) {
  const Degeneracy degeneracy =
      AnalyzeDegeneracy(std::nan("") * Matrix6::Identity(), kRadius_m, kLimits);
  EXPECT_EQ(degeneracy.unobserved_directions, 6);
  EXPECT_NEAR(ErrorBoundAlongUnobserved(degeneracy, Pose(), PriorAt(3.0, 4.0, 0.0)), 5.0, 1e-9);
}

}  // namespace
}  // namespace voxloc
