// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/integrity/solution_separation.h"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <cmath>
#include <vector>

#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

Matrix6 RandomInformation(RandomNumbers& random, int rank) {
  Matrix6 information = Matrix6::Zero();
  for (int i = 0; i < rank; ++i) {
    Vector6 row;
    row << random.NormalVector(), random.NormalVector();
    information += row * row.transpose();
  }
  return information;
}

Vector6 RandomVector(RandomNumbers& random) {
  Vector6 vector;
  vector << random.NormalVector(), random.NormalVector();
  return vector;
}

std::vector<ScoreTerms> RandomClusters(RandomNumbers& random, size_t count, int rank) {
  std::vector<ScoreTerms> clusters(count);
  for (ScoreTerms& cluster : clusters) {
    cluster.information = RandomInformation(random, rank);
    cluster.gradient = RandomVector(random);
  }
  return clusters;
}

ScoreTerms Sum(const std::vector<ScoreTerms>& clusters, size_t without) {
  ScoreTerms sum;
  for (size_t k = 0; k < clusters.size(); ++k) {
    if (k == without) continue;
    sum.gradient += clusters[k].gradient;
    sum.information += clusters[k].information;
  }
  return sum;
}

TEST(SolutionSeparationTest, StepsSolveTheNormalEquations) {
  RandomNumbers random(1);
  for (int trial = 0; trial < 20; ++trial) {
    const std::vector<ScoreTerms> clusters = RandomClusters(random, 9, 3);
    const Axes axes = random.Orthogonal<3>();
    const ScoreTerms all = Sum(clusters, clusters.size());
    const Separations separations =
        SeparateSolutions(clusters, all.information.inverse(), std::nullopt, axes, {});
    const Vector6 step = all.information.fullPivLu().solve(all.gradient);
    for (size_t k = 0; k < clusters.size(); ++k) {
      const ScoreTerms rest = Sum(clusters, k);
      const Vector6 without = rest.information.fullPivLu().solve(rest.gradient);
      EXPECT_LT((separations.steps_without[k] - without).norm(), 1e-8 * without.norm());
      for (int i = 0; i < 3; ++i) {
        const AxisSolution& along = separations.without[k][static_cast<size_t>(i)];
        EXPECT_TRUE(along.observed);
        EXPECT_NEAR(along.step_m, axes.col(i).dot(without.head<3>()), 1e-8 * without.norm());
        EXPECT_NEAR(along.separation_m, axes.col(i).dot((without - step).head<3>()),
                    1e-8 * without.norm());
      }
    }
    for (int i = 0; i < 3; ++i) {
      EXPECT_NEAR(separations.all[static_cast<size_t>(i)].step_m, axes.col(i).dot(step.head<3>()),
                  1e-8);
    }
  }
}

TEST(SolutionSeparationTest, WithTheCovarianceOfALikelihoodTheVariancesAreTheClassicalOnes) {
  // Where the covariance is the inverse information, the separation's variance is the difference of
  // those of the two solutions.
  RandomNumbers random(2);
  const double noise = 0.3;  // of the gradients, as a factor
  const std::vector<ScoreTerms> clusters = RandomClusters(random, 12, 2);
  const Matrix6 covariance = noise * noise * Sum(clusters, clusters.size()).information.inverse();
  const Separations separations =
      SeparateSolutions(clusters, covariance, std::nullopt, Axes::Identity(), {});
  for (size_t i = 0; i < 3; ++i) {
    const auto axis = static_cast<Eigen::Index>(i);
    EXPECT_NEAR(separations.all[i].sigma_m, std::sqrt(covariance(axis, axis)), 1e-9);
    for (size_t k = 0; k < clusters.size(); ++k) {
      const Matrix6 without = noise * noise * Sum(clusters, k).information.inverse();
      EXPECT_NEAR(separations.without[k][i].sigma_m, std::sqrt(without(axis, axis)), 1e-8);
      EXPECT_NEAR(separations.without[k][i].separation_sigma_m,
                  std::sqrt(without(axis, axis) - covariance(axis, axis)), 1e-7);
      EXPECT_NEAR(separations.covariances_without[k](axis, axis), without(axis, axis), 1e-8);
    }
  }
}

TEST(SolutionSeparationTest, ADrawnNoiseSpreadsAsTheStandardDeviationsSay) {
  // Any covariance: it need not be the inverse information.
  RandomNumbers random(3);
  std::vector<ScoreTerms> clusters = RandomClusters(random, 7, 6);
  const Matrix6 covariance = 0.01 * RandomInformation(random, 8);
  const Matrix6 information = Sum(clusters, clusters.size()).information;
  // By the class's own rule, written out: in coordinates in which the information is the identity,
  // a cluster's gradient has the noise S L_k S, S the root of the covariance.
  const Eigen::SelfAdjointEigenSolver<Matrix6> eigen(information);
  const Matrix6 half = eigen.operatorSqrt();
  const Matrix6 inverse_half = eigen.operatorInverseSqrt();
  const Matrix6 root =
      Eigen::SelfAdjointEigenSolver<Matrix6>(half * covariance * half).operatorSqrt();
  std::vector<Matrix6> factors;
  for (const ScoreTerms& cluster : clusters) {
    const Matrix6 share = inverse_half * cluster.information * inverse_half;
    const Matrix6 share_root = Eigen::SelfAdjointEigenSolver<Matrix6>(share).operatorSqrt();
    factors.emplace_back(half * root * share_root);
  }
  const int draws = 20'000;
  std::vector<double> squares(clusters.size(), 0.0);
  double square = 0.0;
  Separations separations;
  for (int draw = 0; draw < draws; ++draw) {
    for (size_t k = 0; k < clusters.size(); ++k) {
      clusters[k].gradient = factors[k] * RandomVector(random);
    }
    separations = SeparateSolutions(clusters, covariance, std::nullopt, Axes::Identity(), {});
    for (size_t k = 0; k < clusters.size(); ++k) {
      squares[k] += std::pow(separations.without[k][2].separation_m, 2);
    }
    square += std::pow(separations.all[2].step_m, 2);
  }
  EXPECT_NEAR(separations.all[2].sigma_m, std::sqrt(covariance(2, 2)), 1e-9);
  EXPECT_NEAR(std::sqrt(square / draws) / separations.all[2].sigma_m, 1.0, 0.02);
  for (size_t k = 0; k < clusters.size(); ++k) {
    EXPECT_NEAR(std::sqrt(squares[k] / draws) / separations.without[k][2].separation_sigma_m, 1.0,
                0.02);
  }
}

TEST(SolutionSeparationTest, WhatIsNotObservedComesFromThePrior) {
  // Two clusters see z, only the first one sees y, and nothing sees x.
  std::vector<ScoreTerms> clusters(2);
  clusters[0].information.diagonal() << 0, 40, 40, 40, 40, 40;
  clusters[1].information.diagonal() << 0, 0, 40, 40, 40, 40;
  Matrix6 covariance = Matrix6::Zero();
  covariance.diagonal() << 0, 0.01, 0.01, 0.01, 0.01, 0.01;
  Separations separations =
      SeparateSolutions(clusters, covariance, std::nullopt, Axes::Identity(), {});
  EXPECT_FALSE(separations.all[0].observed);
  EXPECT_TRUE(std::isinf(separations.all[0].sigma_m));
  EXPECT_TRUE(separations.all[1].observed);
  EXPECT_FALSE(separations.without[0][1].observed);
  EXPECT_TRUE(std::isinf(separations.without[0][1].sigma_m));
  EXPECT_TRUE(separations.without[1][1].observed);
  EXPECT_TRUE(separations.without[0][2].observed);
  EXPECT_NEAR(separations.all[2].sigma_m, 0.1, 1e-12);
  EXPECT_NEAR(separations.without[0][2].sigma_m, 0.1 * std::sqrt(2.0), 1e-12);

  PosePrior prior;
  prior.offset << 0.5, -0.7, 9.0, 0.0, 0.0, 0.0;
  prior.covariance.diagonal() << 4.0, 9.0, 1.0, 1.0, 1.0, 1.0;
  separations = SeparateSolutions(clusters, covariance, prior, Axes::Identity(), {});
  EXPECT_NEAR(separations.all[0].sigma_m, 2.0, 1e-12);
  EXPECT_NEAR(separations.all[0].step_m, 0.5, 1e-12);
  EXPECT_NEAR(separations.without[0][1].sigma_m, 3.0, 1e-12);
  EXPECT_NEAR(separations.without[0][1].step_m, -0.7, 1e-12);
  EXPECT_NEAR(separations.without[0][2].sigma_m, 0.1 * std::sqrt(2.0), 1e-12);
}

TEST(SolutionSeparationTest, NothingAtAllIsObservedWithoutClusters) {
  const Separations separations =
      SeparateSolutions({}, Matrix6::Identity(), std::nullopt, Axes::Identity(), {});
  for (const AxisSolution& along : separations.all) {
    EXPECT_FALSE(along.observed);
    EXPECT_TRUE(std::isinf(along.sigma_m));
  }
  EXPECT_TRUE(separations.without.empty());
}

}  // namespace
}  // namespace voxloc
