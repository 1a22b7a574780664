// SPDX-License-Identifier: Apache-2.0

#include "core/ndt/guess_prior.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <Eigen/LU>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "core/geometry/covariance.h"
#include "core/ndt/pose_score.h"
#include "core/ndt/search.h"
#include "tests/support/random_numbers.h"

namespace voxloc::ndt {
namespace {

Matrix6 RandomPositive(const Vector6& values, RandomNumbers& random) {
  const Matrix6 axes = random.Orthogonal<6>();
  const Matrix6 matrix = axes * values.asDiagonal() * axes.transpose();
  return 0.5 * (matrix + matrix.transpose());
}

// Eigenvalues over so many decades, the first 1.
Vector6 Decades(double decades, RandomNumbers& random) {
  Vector6 values = Vector6::Ones();
  for (int i = 1; i < 6; ++i) values[i] = std::pow(10.0, -random.Uniform(0.0, decades));
  return values;
}

Vector6 RandomChart(RandomNumbers& random) {
  Vector6 vector;
  for (double& value : vector) value = 0.2 * random.Normal();
  return vector;
}

Matrix6x6 ToPlain(const Matrix6& matrix) {
  Matrix6x6 plain;
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 6; ++j) plain.m[i][j] = matrix(i, j);
  }
  return plain;
}

Matrix6 FromPlain(const Matrix6x6& plain) {
  return Eigen::Map<const Eigen::Matrix<double, 6, 6, Eigen::RowMajor>>(&plain.m[0][0]);
}

GuessPrior MakePrior(const Matrix6& covariance, double observed_share, double rotation_scale_m) {
  GuessPrior prior;
  prior.active = true;
  prior.observed_share = observed_share;
  prior.rotation_scale_m = rotation_scale_m;
  for (int i = 0; i < 6; ++i) {
    prior.inverse_variance[i] = 1.0 / covariance(i, i);
    for (int j = 0; j < 6; ++j) prior.covariance[i][j] = covariance(i, j);
  }
  return prior;
}

Matrix6 CovarianceIn(const GuessPrior& prior) {
  return Eigen::Map<const Eigen::Matrix<double, 6, 6, Eigen::RowMajor>>(&prior.covariance[0][0]);
}

Matrix6 WeightOf(const GuessPrior& prior, const Matrix6& curvature) {
  Matrix6x6 weight;
  WeighGuess(prior, ToPlain(-curvature), OneLane{}, weight);
  return FromPlain(weight);
}

// The formula of guess_prior.h in lengths, by inverses.
Matrix6 ExpectedWeight(const GuessPrior& prior, const Matrix6& curvature) {
  Vector6 scale = Vector6::Ones();
  scale.tail<3>().setConstant(prior.rotation_scale_m);
  const Matrix6 h =
      scale.cwiseInverse().asDiagonal() * curvature * scale.cwiseInverse().asDiagonal();
  const Matrix6 covariance =
      prior.independent_share * scale.asDiagonal() * CovarianceIn(prior) * scale.asDiagonal();
  const double t = prior.observed_share * h.trace();
  const Matrix6 a = Matrix6::Identity() + h / t;
  const Matrix6 product = a * (covariance + Matrix6::Identity() / t) * a;
  return scale.asDiagonal() * product.inverse() * scale.asDiagonal();
}

TEST(GuessPriorTest, TheWeightIsThatOfTheFormula) {
  RandomNumbers random(31);
  for (int trial = 0; trial < 200; ++trial) {
    const double scale_m = random.Uniform(0.5, 40.0);
    Vector6 lengths = Vector6::Ones();
    lengths.tail<3>().setConstant(scale_m);
    const Matrix6 curvature =
        1e6 * (lengths.asDiagonal() * RandomPositive(Decades(4.0, random), random) *
               lengths.asDiagonal());
    GuessPrior prior = MakePrior(1e-4 * RandomPositive(Decades(3.0, random), random),
                                 std::pow(10.0, -random.Uniform(0.5, 3.0)), scale_m);
    prior.independent_share = random.Uniform(0.002, 2.0);
    const Matrix6 weight = WeightOf(prior, curvature);
    const Matrix6 expected = ExpectedWeight(prior, curvature);
    EXPECT_LE((weight - expected).cwiseAbs().maxCoeff(), 1e-7 * expected.cwiseAbs().maxCoeff());
    EXPECT_EQ(weight, weight.transpose());
  }
}

TEST(GuessPriorTest, UnobservedDirectionsKeepTheirPriorAndObservedOnesLoseIt) {
  constexpr double kShare = 0.01;
  Vector6 shares;
  shares << 0.0, 1e-4, 0.1, 0.2, 0.3, 0.3999;
  const Matrix6 curvature = 1e9 * Matrix6(shares.asDiagonal());
  const GuessPrior prior = MakePrior(Matrix6::Identity(), kShare, 1.0);
  const Matrix6 weight = WeightOf(prior, curvature);
  EXPECT_NEAR(weight(0, 0), 1.0, 1e-6);
  EXPECT_NEAR(weight(1, 1), 1.0, 0.03);
  for (int i = 2; i < 6; ++i) {
    EXPECT_NEAR(weight(i, i), std::pow(kShare / shares[i], 2), 0.25 * weight(i, i)) << i;
  }
}

TEST(GuessPriorTest, AGuessThatClaimsToBeExactIsLimitedByTheScan) {
  const Matrix6 curvature = 5e5 * Matrix6::Identity();
  const GuessPrior prior = MakePrior(Matrix6::Zero(), 0.01, 1.0);
  const Matrix6 weight = WeightOf(prior, curvature);
  // Every direction has a sixth of the curvature.
  const double threshold = 0.01 * 6.0 * 5e5;
  const double expected = threshold / std::pow(1.0 + 5e5 / threshold, 2);
  EXPECT_LE((weight - expected * Matrix6::Identity()).cwiseAbs().maxCoeff(), 1e-9 * expected);
  EXPECT_LE(expected, 1e-3 * 5e5);
}

TEST(GuessPriorTest, WithoutAUsableCurvatureThereIsNoPrior) {
  const GuessPrior prior = MakePrior(Matrix6::Identity(), 0.01, 3.0);
  Matrix6 not_finite = Matrix6::Identity();
  not_finite(0, 0) = std::numeric_limits<double>::quiet_NaN();
  for (const Matrix6& curvature :
       {Matrix6(Matrix6::Zero()), Matrix6(-Matrix6::Identity()), not_finite}) {
    EXPECT_EQ(WeightOf(prior, curvature), Matrix6::Zero());
  }
}

// What the score loses by the prior, by the formula of guess_prior.h.
double Loss(const GuessPrior& prior, const Matrix6& weight, const Vector6& d) {
  const Vector6 variances = CovarianceIn(prior).diagonal();
  return d.dot(weight * d) / (2.0 + 2.0 * d.cwiseAbs2().cwiseQuotient(variances).sum() / kTail);
}

TEST(GuessPriorTest, DerivativesAreThoseOfTheLoss) {
  RandomNumbers random(32);
  const Matrix6 weight = 1e3 * RandomPositive(Decades(2.0, random), random);
  const GuessPrior prior = MakePrior(0.01 * RandomPositive(Decades(1.0, random), random), 0.1, 1.0);
  const double guess[6] = {1.0, -2.0, 0.5, 0.1, -0.2, 3.0};
  const double zeros[6] = {};
  // Near the guess, and where the prior is given up.
  for (const double reach : {0.01, 0.3, 2.0}) {
    const Vector6 d = reach * RandomChart(random);
    double chart[6];
    for (int i = 0; i < 6; ++i) chart[i] = guess[i] + d[i];
    GuessPull pull;
    PullToGuess(prior, ToPlain(weight), guess, chart, OneLane{}, pull);
    Derivatives derivatives;
    AddPull(pull, ToPlain(weight), 1.0, OneLane{}, derivatives);
    EXPECT_NEAR(derivatives.score, -Loss(prior, weight, d), 1e-9 * std::abs(derivatives.score));
    const double step = 1e-5 * reach;
    for (int i = 0; i < 6; ++i) {
      const Vector6 ahead = d + step * Vector6::Unit(i);
      const Vector6 behind = d - step * Vector6::Unit(i);
      const double slope =
          (Loss(prior, weight, behind) - Loss(prior, weight, ahead)) / (2.0 * step);
      EXPECT_NEAR(derivatives.gradient[i], slope, 1e-5 * std::abs(slope) + 1e-7);
    }
    const double share = -derivatives.hessian.m[0][0] / weight(0, 0);
    EXPECT_GT(share, 0.0);
    EXPECT_LE(share, 1.0);
    EXPECT_LE((FromPlain(derivatives.hessian) + share * weight).norm(), 1e-9 * weight.norm());

    AddPull(pull, ToPlain(weight), -1.0, OneLane{}, derivatives);
    EXPECT_NEAR(derivatives.score, 0.0, 1e-9);
    for (int i = 0; i < 6; ++i) EXPECT_NEAR(derivatives.gradient[i], zeros[i], 1e-9);
  }
}

// Threads, each a lane of a warp.
struct ThreadLanes {
  static constexpr int kCount = 32;
  int index;
  pthread_barrier_t* barrier;
  void Sync() const { pthread_barrier_wait(barrier); }
};

TEST(GuessPriorTest, ManyLanesComputeTheBitsOfOne) {
  RandomNumbers random(34);
  pthread_barrier_t barrier;
  ASSERT_EQ(pthread_barrier_init(&barrier, nullptr, ThreadLanes::kCount), 0);
  for (int trial = 0; trial < 10; ++trial) {
    const GuessPrior prior = MakePrior(RandomPositive(Decades(2.0, random), random), 0.02, 5.0);
    const Matrix6x6 hessian = ToPlain(-1e4 * RandomPositive(Decades(3.0, random), random));
    const double guess[6] = {};
    double chart[6];
    for (double& value : chart) value = random.Normal();
    struct Result {
      Matrix6x6 weight;
      GuessPull pull;
      Derivatives sum;
    };
    const auto compute = [&](auto lanes, Result& result) {
      WeighGuess(prior, hessian, lanes, result.weight);
      PullToGuess(prior, result.weight, guess, chart, lanes, result.pull);
      AddPull(result.pull, result.weight, 1.0, lanes, result.sum);
    };
    Result of_one;
    compute(OneLane{}, of_one);
    Result of_many;
    std::vector<std::thread> threads;
    for (int i = 0; i < ThreadLanes::kCount; ++i) {
      threads.emplace_back([&, i] { compute(ThreadLanes{i, &barrier}, of_many); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_NE(of_one.sum.score, 0.0);
    EXPECT_EQ(of_many.sum.score, of_one.sum.score);
    for (int i = 0; i < 6; ++i) EXPECT_EQ(of_many.sum.gradient[i], of_one.sum.gradient[i]);
    EXPECT_EQ(FromPlain(of_many.weight), FromPlain(of_one.weight));
    EXPECT_EQ(FromPlain(of_many.sum.hessian), FromPlain(of_one.sum.hessian));
  }
  pthread_barrier_destroy(&barrier);
}

// A hill whose derivatives are exact everywhere: the search must end at the optimum of score and
// prior together, and report the derivatives of the score alone.
TEST(GuessPriorTest, ASearchEndsAtTheOptimumOfScoreAndPrior) {
  RandomNumbers random(33);
  for (int trial = 0; trial < 20; ++trial) {
    Vector6 values;
    values << 1.0, 0.8, 0.5, 0.3, 0.1, 1e-4;
    const Matrix6 curvature = 1e4 * RandomPositive(values, random);
    const Vector6 top = RandomChart(random);
    const Vector6 guess = top + 0.2 * RandomChart(random);
    SearchRules rules;
    rules.stages = 1;
    rules.stage[0].max_step = 10.0;
    rules.stage[0].epsilon = 1e-12;
    rules.stage[0].max_iterations = 500;
    rules.stage[0].line_search = trial % 2 == 1;
    rules.judgement.judged = trial % 4 >= 2;
    rules.prior = MakePrior(0.01 * Matrix6::Identity(), 0.01, 2.0);

    double plain_guess[6];
    Eigen::Map<Vector6>(plain_guess, 6) = guess;
    NewtonSearch<PoseScore> search(rules, plain_guess);
    while (!search.done()) {
      if (trial % 3 == 0) search.StepAhead(rules);
      const Vector6 away = Eigen::Map<const Vector6>(search.requested_chart()) - top;
      Evaluation<PoseScore>& evaluation = search.next();
      evaluation = {};
      evaluation.derivatives.hessian = ToPlain(-curvature);
      evaluation.derivatives.score = -0.5 * away.dot(curvature * away);
      Eigen::Map<Vector6>(evaluation.derivatives.gradient, 6) = -curvature * away;
      evaluation.finite = true;
      search.Advance(rules, Interrupt::kNone);
    }
    const Matrix6 weight = ExpectedWeight(rules.prior, curvature);
    const Vector6 found = Eigen::Map<const Vector6>(search.chart());
    for (int i = 0; i < 6; ++i) {
      const Vector6 step = 1e-6 * Vector6::Unit(i);
      const double slope = (Loss(rules.prior, weight, found - guess + step) -
                            Loss(rules.prior, weight, found - guess - step)) /
                           2e-6;
      EXPECT_NEAR((curvature * (top - found))[i], slope, 1e-3 * std::abs(slope) + 1e-4) << trial;
    }
    const Derivatives& derivatives = search.current().derivatives;
    EXPECT_LE((FromPlain(derivatives.hessian) + curvature).norm(), 1e-9 * curvature.norm());
    EXPECT_LE((Eigen::Map<const Vector6>(derivatives.gradient) + curvature * (found - top)).norm(),
              1e-8 * curvature.norm());
  }
}

}  // namespace
}  // namespace voxloc::ndt
