// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/estimate/quality/confidence.h"

namespace voxloc {
namespace {

// A metre along x or a radian about z changes the gradient by as much.
constexpr double kCurvature = 50.0;

GroupSums Drawing(double gradient_x, double gradient_rz = 0.0) {
  GroupSums cluster;
  cluster.derivatives.gradient[0] = gradient_x;
  cluster.derivatives.gradient[5] = gradient_rz;
  return cluster;
}

// Of information that is the same along all axes but y, in axes in which a radian is two metres.
Degeneracy Known(double information_y = kCurvature) {
  Matrix6 information = kCurvature * Matrix6::Identity();
  information(1, 1) = information_y;
  information.bottomRightCorner<3, 3>() *= 4.0;
  return AnalyzeDegeneracy(information, 2.0, {1e-2, 1e-3});
}

TEST(ClusterPullTest, ClustersThatAgreeAreOneStep) {
  const std::vector<GroupSums> clusters(4, Drawing(5.0, 10.0));
  const ClusterPull pull = MeasurePull(clusters, Known());
  EXPECT_NEAR(pull.step_m, 4 * 5.0 / kCurvature, 1e-12);
  EXPECT_NEAR(pull.step_rad, 4 * 10.0 / (4.0 * kCurvature), 1e-12);
  EXPECT_NEAR(pull.spread_m, 2 * 5.0 / kCurvature, 1e-12);
  EXPECT_NEAR(pull.spread_rad, 2 * 10.0 / (4.0 * kCurvature), 1e-12);
}

TEST(ClusterPullTest, ClustersThatContradictEachOtherLeaveASpread) {
  const std::vector<GroupSums> clusters = {Drawing(5.0), Drawing(-5.0)};
  const ClusterPull pull = MeasurePull(clusters, Known());
  EXPECT_NEAR(pull.step_m, 0.0, 1e-12);
  EXPECT_NEAR(pull.spread_m, std::sqrt(2.0) * 5.0 / kCurvature, 1e-12);
}

TEST(ClusterPullTest, IsFiniteWhereTheScoreDoesNotBend) {
  GroupSums cluster;
  cluster.derivatives.gradient[1] = 1.0;
  for (const double information_y : {0.0, -1e-9}) {
    const double step_m = MeasurePull({&cluster, 1}, Known(information_y)).step_m;
    EXPECT_GT(step_m, 1.0);
    EXPECT_TRUE(std::isfinite(step_m));
  }
  EXPECT_EQ(MeasurePull({&cluster, 1}, Degeneracy()).step_m, 0.0);
  // Bending the wrong way counts as much.
  EXPECT_NEAR(MeasurePull({&cluster, 1}, Known(-kCurvature)).step_m, 1.0 / kCurvature, 1e-12);
}

}  // namespace
}  // namespace voxloc
