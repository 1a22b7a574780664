// SPDX-License-Identifier: Apache-2.0
//
// Derivatives in the chart, from sums in the map's axes, against the formulas of Magnusson 2009
// with products of differentiated rotations in Eigen. The sums of random points with random
// weights, as no cell would give them: all entries matter.

#include "core/ndt/chart_derivatives.h"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <algorithm>
#include <vector>

#include "tests/support/random_numbers.h"
#include "tests/support/reference_ndt.h"

namespace voxloc::ndt {
namespace {

constexpr int kPoses = 50;
constexpr int kPoints = 20;

struct WeightedPoint {
  Eigen::Vector3d x;  // scan frame
  Eigen::Vector3d s;
  Eigen::Matrix3d m;  // symmetric
};

std::vector<WeightedPoint> RandomPoints(RandomNumbers& random) {
  std::vector<WeightedPoint> points(kPoints);
  for (WeightedPoint& point : points) {
    point.x = random.InBox(30.0);
    point.s = random.InBox(1.0);
    for (int column = 0; column < 3; ++column) point.m.col(column) = random.InBox(1.0);
    point.m = (point.m + point.m.transpose()).eval();
  }
  return points;
}

template <bool kSecondOrder>
DerivativeSums<double> SumOf(const std::vector<WeightedPoint>& points,
                             const Rotation<double>& rotation) {
  DerivativeSums<double> sums;
  for (const WeightedPoint& point : points) {
    PairSums<double> pairs;
    pairs.s = {point.s.x(), point.s.y(), point.s.z()};
    pairs.m = {point.m(0, 0), point.m(0, 1), point.m(0, 2),
               point.m(1, 1), point.m(1, 2), point.m(2, 2)};
    AddPoint<kSecondOrder, double>({point.x.x(), point.x.y(), point.x.z()}, pairs, rotation, sums);
  }
  return sums;
}

struct Expected {
  ChartVector gradient = ChartVector::Zero();
  Matrix6 hessian = Matrix6::Zero();
};

Expected Direct(const std::vector<WeightedPoint>& points,
                const reference::RotationDerivatives& turning, bool second_order) {
  Expected expected;
  for (const WeightedPoint& point : points) {
    Eigen::Matrix<double, 3, 6> jacobian;
    jacobian << Eigen::Matrix3d::Identity(), turning.first[0] * point.x, turning.first[1] * point.x,
        turning.first[2] * point.x;
    expected.gradient += jacobian.transpose() * point.s;
    expected.hessian += jacobian.transpose() * point.m * jacobian;
    if (!second_order) continue;
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = i; j < 3; ++j) {
        const double bent = point.s.dot(turning.second[i][j] * point.x);
        const auto row = static_cast<Eigen::Index>(3 + i);
        const auto column = static_cast<Eigen::Index>(3 + j);
        expected.hessian(row, column) += bent;
        if (i != j) expected.hessian(column, row) += bent;
      }
    }
  }
  return expected;
}

void ExpectNear(const Derivatives& derivatives, const Expected& expected) {
  const double gradient_scale = expected.gradient.cwiseAbs().maxCoeff();
  const double hessian_scale = expected.hessian.cwiseAbs().maxCoeff();
  for (int i = 0; i < 6; ++i) {
    EXPECT_NEAR(derivatives.gradient[i], expected.gradient[i], 1e-13 * gradient_scale) << i;
    for (int j = 0; j < 6; ++j) {
      EXPECT_NEAR(derivatives.hessian.m[i][j], expected.hessian(i, j), 1e-13 * hessian_scale)
          << i << " " << j;
    }
  }
}

Derivatives InChart(const DerivativeSums<double>& sums, const AngleTerms<double>& terms,
                    const CurvatureRules& rules) {
  Derivatives derivatives;
  ToChart(sums, ComputeChartAxes(terms), rules, derivatives);
  return derivatives;
}

TEST(ChartDerivativesTest, MatchTheFormulasWithDifferentiatedRotations) {
  RandomNumbers random(1);
  for (int pose = 0; pose < kPoses; ++pose) {
    const Eigen::Vector3d angles = random.InBox(M_PI);
    const AngleTerms<double> terms = ComputeAngleTerms(angles[0], angles[1], angles[2]);
    const reference::RotationDerivatives turning = reference::DifferentiateRotation(angles);
    const std::vector<WeightedPoint> points = RandomPoints(random);
    ExpectNear(InChart(SumOf<true>(points, ComputeRotation(terms)), terms, {true, true}),
               Direct(points, turning, true));
    ExpectNear(InChart(SumOf<false>(points, ComputeRotation(terms)), terms, {false, true}),
               Direct(points, turning, false));
  }
}

TEST(ChartDerivativesTest, TheOldSignOfThePitchCurvatureChangesOneEntryOnly) {
  RandomNumbers random(2);
  for (int pose = 0; pose < kPoses; ++pose) {
    const Eigen::Vector3d angles = random.InBox(M_PI);
    const AngleTerms<double> terms = ComputeAngleTerms(angles[0], angles[1], angles[2]);
    reference::RotationDerivatives turning = reference::DifferentiateRotation(angles);
    ASSERT_NEAR(turning.second[1][1](0, 2), -std::sin(angles[1]), 1e-15);
    turning.second[1][1](0, 2) = std::sin(angles[1]);
    const std::vector<WeightedPoint> points = RandomPoints(random);
    ExpectNear(InChart(SumOf<true>(points, ComputeRotation(terms)), terms, {true, false}),
               Direct(points, turning, true));
  }
}

TEST(ChartDerivativesTest, TheUpperTriangleIsCountedRowByRow) {
  int next = 0;
  for (int i = 0; i < 6; ++i) {
    for (int j = i; j < 6; ++j) EXPECT_EQ(UpperIndex(i, j), next++);
  }
  EXPECT_EQ(next, kHessianSize);
}

}  // namespace
}  // namespace voxloc::ndt
