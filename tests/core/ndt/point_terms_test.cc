// SPDX-License-Identifier: Apache-2.0
//
// Score, gradient and Hessian of random points with their neighbours held fixed, against
// differences of the score itself, which is evaluated here in long double from Eigen matrices.

#include "core/ndt/point_terms.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>
#include <vector>

#include "core/engine/profile.h"
#include "core/ndt/cell_gaussian.h"
#include "core/ndt/chart_derivatives.h"
#include "core/ndt/pose_score.h"
#include "tests/support/random_numbers.h"
#include "tests/support/reference_ndt.h"

namespace voxloc::ndt {
namespace {

using Real = long double;
using RealVector3 = Eigen::Matrix<Real, 3, 1>;
using RealMatrix3 = Eigen::Matrix<Real, 3, 3>;
using RealChart = Eigen::Matrix<Real, 6, 1>;

struct Neighbor {
  Eigen::Vector3d mean;  // map frame
  Symmetric3<double> information;
};

struct PointWithNeighbors {
  Eigen::Vector3d x;  // scan frame
  std::vector<Neighbor> neighbors;
};

struct Problem {
  Stage stage;
  ChartVector chart;
  std::vector<PointWithNeighbors> points;
};

// A cell of a slightly bent plane of random size and direction, as the stage would make it.
CellGaussian RandomCell(const Stage& stage, RandomNumbers& random) {
  const double size = stage.cells.cell_size_m;
  const int count = 6 + random.Index(150);
  const Eigen::Matrix3d axes = random.Orthogonal<3>();
  const Eigen::Vector3d extent(random.Uniform(0.1, 0.4) * size, random.Uniform(0.05, 0.4) * size,
                               random.Uniform(0.0, 0.03) * size);
  const Eigen::Vector3d centre = random.InBox(0.3 * size);
  CellMoments moments;
  for (int i = 0; i < count; ++i) {
    const Eigen::Vector3d p = centre + axes * extent.cwiseProduct(random.InBox(1.0));
    AddPoint({p.x(), p.y(), p.z()}, moments);
  }
  CellGaussian gaussian;
  EXPECT_TRUE(ComputeGaussian(moments, stage.cells.gaussian, gaussian));
  return gaussian;
}

Problem RandomProblem(const Stage& stage, uint64_t seed) {
  RandomNumbers random(seed);
  Problem problem;
  problem.stage = stage;
  problem.chart.head<3>() = random.InBox(100.0);
  problem.chart.tail<3>() = random.InBox(M_PI);
  const Eigen::Matrix3d rotation =
      reference::DifferentiateRotation(problem.chart.tail<3>()).rotation;
  for (int i = 0; i < 40; ++i) {
    PointWithNeighbors point;
    point.x = random.InBox(30.0);
    const Eigen::Vector3d moved = rotation * point.x + problem.chart.head<3>();
    const int count = 1 + random.Index(8);
    for (int k = 0; k < count; ++k) {
      const CellGaussian cell = RandomCell(stage, random);
      // Within about two sigma of the point, so that the pair counts.
      const Eigen::Matrix3d root = reference::ToEigen(cell.covariance).llt().matrixL();
      point.neighbors.push_back({moved + root * random.InBox(2.0), cell.information});
    }
    problem.points.push_back(point);
  }
  return problem;
}

struct Sums {
  double score = 0.0;
  ChartVector gradient = ChartVector::Zero();
  Matrix6 hessian = Matrix6::Zero();
};

// By the code under test, in double.
Sums Compute(const Problem& problem, bool reweighted = false) {
  const Stage& stage = problem.stage;
  const ScoreConstants constants =
      ComputeScoreConstants(stage.outlier_ratio, stage.cells.cell_size_m);
  const ChartVector& p = problem.chart;
  const AngleTerms<double> terms = ComputeAngleTerms(p[3], p[4], p[5]);
  const Rotation<double> r = ComputeRotation(terms);
  DerivativeSums<double> in_map_axes;
  double exponentials = 0.0;
  for (const PointWithNeighbors& point : problem.points) {
    const Vector3<double> x = {point.x.x(), point.x.y(), point.x.z()};
    const Vector3<double> moved = {DotRow(r.m[0], x) + p[0], DotRow(r.m[1], x) + p[1],
                                   DotRow(r.m[2], x) + p[2]};
    PairSums<double> pairs;
    for (const Neighbor& neighbor : point.neighbors) {
      const Vector3<double> q = {moved.x - neighbor.mean.x(), moved.y - neighbor.mean.y(),
                                 moved.z - neighbor.mean.z()};
      AddPair(ComputePairTerms(q, neighbor.information, constants.d2), neighbor.information,
              reweighted ? 0.0 : constants.d2, pairs);
    }
    exponentials += pairs.exponentials;
    if (reweighted) {
      AddPoint<false>(x, pairs, r, in_map_axes);
    } else {
      AddPoint<true>(x, pairs, r, in_map_axes);
    }
  }
  Sums sums;
  sums.score = -constants.d1 * exponentials;
  Derivatives derivatives;
  ToChart(Scaled(in_map_axes, constants.d1 * constants.d2), ComputeChartAxes(terms),
          {/*second_order=*/!reweighted, /*exact_pitch_curvature=*/true}, derivatives);
  for (int i = 0; i < 6; ++i) {
    sums.gradient[i] = derivatives.gradient[i];
    for (int j = 0; j < 6; ++j) sums.hessian(i, j) = derivatives.hessian.m[i][j];
  }
  return sums;
}

Real ScoreAt(const Problem& problem, const RealChart& p) {
  const reference::Constants constants =
      reference::ScoreConstants(problem.stage.outlier_ratio, problem.stage.cells.cell_size_m);
  const RealMatrix3 rotation = (Eigen::AngleAxis<Real>(p[3], RealVector3::UnitX()) *
                                Eigen::AngleAxis<Real>(p[4], RealVector3::UnitY()) *
                                Eigen::AngleAxis<Real>(p[5], RealVector3::UnitZ()))
                                   .toRotationMatrix();
  Real score = 0.0L;
  for (const PointWithNeighbors& point : problem.points) {
    const RealVector3 moved = rotation * point.x.cast<Real>() + p.head<3>();
    for (const Neighbor& neighbor : point.neighbors) {
      const RealVector3 q = moved - neighbor.mean.cast<Real>();
      const RealMatrix3 information = reference::ToEigen(neighbor.information).cast<Real>();
      score += -static_cast<Real>(constants.d1) *
               std::exp(-static_cast<Real>(constants.d2) / 2 * q.dot(information * q));
    }
  }
  return score;
}

// Steps far below the width of the sharpest cell, seen from 30 m.
constexpr Real kMetreStep = 1e-5L;
constexpr Real kRadianStep = 3e-7L;

RealChart Step(int i, Real scale) {
  RealChart step = RealChart::Zero();
  step[i] = scale * (i < 3 ? kMetreStep : kRadianStep);
  return step;
}

// Differences at two step lengths, extrapolated to an error of fourth order.
double GradientByDifferences(const Problem& problem, int i) {
  const RealChart p = problem.chart.cast<Real>();
  const auto difference = [&](Real scale) {
    const RealChart h = Step(i, scale);
    return (ScoreAt(problem, p + h) - ScoreAt(problem, p - h)) / (2 * h[i]);
  };
  return static_cast<double>((4 * difference(1) - difference(2)) / 3);
}
double HessianByDifferences(const Problem& problem, int i, int j) {
  const RealChart p = problem.chart.cast<Real>();
  const auto difference = [&](Real scale) {
    const RealChart hi = Step(i, scale);
    const RealChart hj = Step(j, scale);
    return (ScoreAt(problem, p + hi + hj) - ScoreAt(problem, p + hi - hj) -
            ScoreAt(problem, p - hi + hj) + ScoreAt(problem, p - hi - hj)) /
           (4 * hi[i] * hj[j]);
  };
  return static_cast<double>((4 * difference(1) - difference(2)) / 3);
}

std::vector<Stage> AllStages() {
  std::vector<Stage> stages = AutowareProfile().stages;
  for (const Stage& stage : PreciseProfile().stages) stages.push_back(stage);
  return stages;
}

TEST(PointTermsTest, DerivativesMatchDifferencesOfTheScoreForTheCellsOfEveryStage) {
  uint64_t seed = 100;
  for (const Stage& stage : AllStages()) {
    SCOPED_TRACE(ToString(stage.cells));
    for (int trial = 0; trial < 4; ++trial) {
      const Problem problem = RandomProblem(stage, seed++);
      const Sums sums = Compute(problem);
      const auto score = static_cast<double>(ScoreAt(problem, problem.chart.cast<Real>()));
      ASSERT_GT(score, 1.0);
      EXPECT_NEAR(sums.score, score, 1e-9 * score);
      const double gradient_scale = sums.gradient.cwiseAbs().maxCoeff();
      const double hessian_scale = sums.hessian.cwiseAbs().maxCoeff();
      for (int i = 0; i < 6; ++i) {
        const double g = std::abs(sums.gradient[i] - GradientByDifferences(problem, i));
        EXPECT_LE(g, 1e-6 * gradient_scale) << "gradient " << i;
        for (int j = i; j < 6; ++j) {
          const double h = std::abs(sums.hessian(i, j) - HessianByDifferences(problem, i, j));
          EXPECT_LE(h, 1e-6 * hessian_scale) << "Hessian " << i << " " << j;
        }
      }
    }
  }
}

TEST(PointTermsTest, TheReweightedCurvatureIsTheSumOfWeightedProductsAndNeverPositive) {
  uint64_t seed = 200;
  for (const Stage& stage : AllStages()) {
    SCOPED_TRACE(ToString(stage.cells));
    for (int trial = 0; trial < 4; ++trial) {
      const Problem problem = RandomProblem(stage, seed++);
      const reference::Constants constants =
          reference::ScoreConstants(stage.outlier_ratio, stage.cells.cell_size_m);
      const reference::RotationDerivatives turning =
          reference::DifferentiateRotation(problem.chart.tail<3>());
      Matrix6 expected = Matrix6::Zero();
      for (const PointWithNeighbors& point : problem.points) {
        Eigen::Matrix<double, 3, 6> jacobian;
        jacobian << Eigen::Matrix3d::Identity(), turning.first[0] * point.x,
            turning.first[1] * point.x, turning.first[2] * point.x;
        const Eigen::Vector3d moved = turning.rotation * point.x + problem.chart.head<3>();
        for (const Neighbor& neighbor : point.neighbors) {
          const Eigen::Matrix3d information = reference::ToEigen(neighbor.information);
          const Eigen::Vector3d q = moved - neighbor.mean;
          const double e = std::exp(-0.5 * constants.d2 * q.dot(information * q));
          expected +=
              constants.d1 * constants.d2 * e * jacobian.transpose() * information * jacobian;
        }
      }
      const Sums exact = Compute(problem);
      const Sums reweighted = Compute(problem, /*reweighted=*/true);
      const double scale = expected.cwiseAbs().maxCoeff();
      EXPECT_LE((reweighted.hessian - expected).cwiseAbs().maxCoeff(), 1e-10 * scale);
      EXPECT_EQ(reweighted.score, exact.score);
      EXPECT_EQ(reweighted.gradient, exact.gradient);
      const Eigen::SelfAdjointEigenSolver<Matrix6> eigen(reweighted.hessian);
      EXPECT_LE(eigen.eigenvalues().maxCoeff(), 1e-12 * scale);
      // Left out is only what weakens the curvature: the exact one is at least as large.
      EXPECT_GT((exact.hessian - reweighted.hessian).trace(), 0.0);
    }
  }
}

}  // namespace
}  // namespace voxloc::ndt
