// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/estimate/initial_pose/prior_search.h"
#include "core/geometry/euler.h"
#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

ParzenPrior Prior(double sigma) {
  ParzenPrior prior;
  prior.sigma.setConstant(sigma);
  return prior;
}

PoseParameters At(double x_m, double y_m, double yaw_rad) {
  PoseParameters parameters = PoseParameters::Zero();
  parameters[0] = x_m;
  parameters[1] = y_m;
  parameters[5] = yaw_rad;
  return parameters;
}

// One good trial, and nine bad ones elsewhere.
void AddOneGoodTrial(const PoseParameters& good, const PoseParameters& bad,
                     ParzenEstimator& estimator) {
  for (int i = 0; i < 9; ++i) estimator.AddTrial(bad, 1.0);
  estimator.AddTrial(good, 2.0);
}

TEST(ParzenEstimatorTest, DrawsFromThePriorWhileItKnowsTooLittle) {
  ParzenPrior prior;
  prior.mean << 5.0, -3.0, 1.0, 0.1, -0.2;
  prior.sigma << 2.0, 1.0, 0.1, 0.02, 0.05;
  constexpr size_t kDraws = 20'000;
  const std::vector<PoseParameters> draws = ParzenEstimator(prior, 100, 3).Propose(kDraws);
  ASSERT_EQ(draws.size(), kDraws);
  PoseParameters mean = PoseParameters::Zero();
  for (const PoseParameters& draw : draws) mean += draw / kDraws;
  Eigen::Matrix<double, 6, 6> covariance = Eigen::Matrix<double, 6, 6>::Zero();
  for (const PoseParameters& draw : draws) {
    covariance += (draw - mean) * (draw - mean).transpose() / kDraws;
  }
  PoseParameters expected_mean, sigma;
  expected_mean << prior.mean, 0.0;
  sigma << prior.sigma, M_PI / std::sqrt(3.0);  // of an angle that is anything
  const double root = std::sqrt(static_cast<double>(kDraws));
  for (int i = 0; i < 6; ++i) {
    EXPECT_NEAR(mean[i], expected_mean[i], 4.0 * sigma[i] / root) << i;
    for (int j = 0; j < 6; ++j) {
      const double expected = i == j ? 1.0 : 0.0;
      EXPECT_NEAR(covariance(i, j) / (sigma[i] * sigma[j]), expected, 6.0 / root) << i << " " << j;
    }
  }
}

TEST(ParzenEstimatorTest, IsGuidedFromTheTenthTrialOnWhereThatManyHaveStarted) {
  const std::vector<PoseParameters> drawn = ParzenEstimator(Prior(1.0), 0, 4).Propose(3);
  const struct {
    size_t startup;
    int trials;
    bool guided;
  } rows[] = {{0, 9, false}, {0, 10, true}, {12, 11, false}, {12, 12, true}};
  for (const auto& row : rows) {
    ParzenEstimator estimator(Prior(1.0), row.startup, 4);
    for (int i = 0; i < row.trials; ++i) estimator.AddTrial(At(i, 0.0, 0.0), i);
    EXPECT_EQ(estimator.Propose(3) == drawn, !row.guided) << row.startup << " " << row.trials;
  }
}

TEST(ParzenEstimatorTest, ProposesTheBestOfAHundredDrawsByTheWeightedRatio) {
  // With all good trials at g and all bad ones at b, log N(c; g) - 5 log N(c; b) is, up to a
  // constant, 2 |c - (5 b - g) / 4|^2 in units of the kernel's widths: the farthest draw is best.
  const Eigen::Vector3d widths(0.25, 0.25, 2.5 * M_PI / 180.0);
  const PoseParameters good = At(0.7, -1.1, 0.0);
  const PoseParameters bad = At(-0.4, 0.3, 0.0);
  const auto planar = [](const PoseParameters& p) { return Eigen::Vector3d(p[0], p[1], p[5]); };
  const Eigen::Vector3d away = (5.0 * planar(bad) - planar(good)) / 4.0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    // Wide enough that x and y matter beside a yaw of up to 72 widths.
    ParzenEstimator estimator(Prior(15.0), 0, seed);
    AddOneGoodTrial(good, bad, estimator);
    const std::vector<PoseParameters> draws = ParzenEstimator(Prior(15.0), 0, seed).Propose(100);
    const auto distance = [&](const PoseParameters& p) {
      return (planar(p) - away).cwiseQuotient(widths).norm();
    };
    const auto farthest =
        std::max_element(draws.begin(), draws.end(),
                         [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
    EXPECT_EQ(estimator.Propose(1)[0], *farthest) << seed;
  }
}

TEST(ParzenEstimatorTest, TheTenBestOfManyTrialsAreGood) {
  // Of 300 trials ten are good, not thirty.
  const PoseParameters here = At(0.0, 0.0, 0.0);
  const PoseParameters there = At(1000.0, 0.0, 0.0);
  const auto mean_x = [&](int trials_there) {
    double sum = 0.0;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      ParzenEstimator estimator(Prior(3.0), 0, seed);
      for (int i = 0; i < 300; ++i) {
        const bool is_there = i < trials_there;
        estimator.AddTrial(is_there ? there : here, is_there ? 2.0 : 1.0);
      }
      sum += estimator.Propose(1)[0][0] / 20.0;
    }
    return sum;
  };
  EXPECT_GT(mean_x(10), 3.0);
  // Ten good and 290 bad ones at the same place: the weight of the bad drives away from it.
  EXPECT_LT(mean_x(300), -3.0);
}

TEST(ParzenEstimatorTest, TheOrderInWhichTrialsCameDoesNotMatter) {
  RandomNumbers random(11);
  std::vector<PoseParameters> places;
  for (int i = 0; i < 40; ++i) {
    places.push_back(At(random.Normal(), random.Normal(), random.Uniform(-M_PI, M_PI)));
  }
  ParzenEstimator forwards(Prior(1.0), 0, 2);
  ParzenEstimator backwards(Prior(1.0), 0, 2);
  for (size_t i = 0; i < places.size(); ++i) {
    const size_t j = places.size() - 1 - i;
    forwards.AddTrial(places[i], static_cast<double>(i));
    backwards.AddTrial(places[j], static_cast<double>(j));
  }
  EXPECT_EQ(forwards.Propose(7), backwards.Propose(7));
}

TEST(ParzenEstimatorTest, AScoreThatIsNoNumberIsTheWorst) {
  ParzenEstimator with_nan(Prior(3.0), 0, 2);
  ParzenEstimator with_worst(Prior(3.0), 0, 2);
  for (int i = 0; i < 30; ++i) {
    const PoseParameters at = At(0.1 * i, 0.0, 0.0);
    const bool odd = i % 3 == 0;
    with_nan.AddTrial(at, odd ? std::nan("") : i);
    with_worst.AddTrial(at, odd ? -std::numeric_limits<double>::infinity() : i);
  }
  EXPECT_EQ(with_nan.Propose(5), with_worst.Propose(5));
}

TEST(ParzenEstimatorTest, ProposalsOfOneBatchKeepApart) {
  // What has been tried is the same for all; only those of a batch know of each other.
  RandomNumbers random(8);
  std::vector<PoseParameters> tried;
  for (int i = 0; i < 100; ++i) {
    tried.push_back(At(0.5 * random.Normal(), 0.5 * random.Normal(), random.Uniform(-M_PI, M_PI)));
  }
  const auto with_trials = [&tried](uint64_t seed) {
    ParzenEstimator estimator(Prior(0.5), 0, seed);
    for (const PoseParameters& at : tried) estimator.AddTrial(at, -at.head<2>().norm());
    return estimator;
  };
  // Mean distance from a proposal to the nearest other, in widths of the kernel.
  const auto spacing = [](const std::vector<PoseParameters>& proposals) {
    double sum = 0.0;
    for (const PoseParameters& a : proposals) {
      double nearest = std::numeric_limits<double>::infinity();
      for (const PoseParameters& b : proposals) {
        if (&a == &b) continue;
        const double yaw = WrapAngle(a[5] - b[5]) / (2.5 * M_PI / 180.0);
        nearest = std::min(nearest, std::hypot((a - b).head<2>().norm() / 0.25, yaw));
      }
      sum += nearest / static_cast<double>(proposals.size());
    }
    return sum;
  };
  double together = 0.0;
  double apart = 0.0;
  for (uint64_t round = 0; round < 10; ++round) {
    together += spacing(with_trials(round).Propose(20));
    std::vector<PoseParameters> alone;
    for (uint64_t i = 0; i < 20; ++i) {
      alone.push_back(with_trials(1000 * round + i).Propose(1)[0]);
    }
    apart += spacing(alone);
  }
  EXPECT_GT(together, 1.3 * apart);
}

TEST(ParzenEstimatorTest, FindsTheMinimumOfASphereBetterThanChanceAloneOrInBatches) {
  constexpr size_t kTrials = 200;
  const auto sphere = [](const PoseParameters& p) { return 100.0 * p.squaredNorm(); };
  // Mean over 20 runs of the best of 200 trials.
  const auto mean_of_best = [&](size_t startup, size_t batch) {
    double mean = 0.0;
    for (uint64_t run = 0; run < 20; ++run) {
      ParzenEstimator estimator(Prior(1.0), startup, run);
      double best = std::numeric_limits<double>::infinity();
      for (size_t done = 0; done < kTrials; done += batch) {
        for (const PoseParameters& proposal : estimator.Propose(batch)) {
          best = std::min(best, sphere(proposal));
          estimator.AddTrial(proposal, -sphere(proposal));
        }
      }
      mean += best / 20.0;
    }
    return mean;
  };
  const double random = mean_of_best(kTrials, 1);
  for (const size_t batch : {1, 10, 20, 50}) {
    EXPECT_LT(mean_of_best(kTrials / 2, batch), random) << "batches of " << batch;
  }
}

TEST(ParzenEstimatorTest, ParametersAreThePositionAndRosAngles) {
  PoseParameters parameters;
  parameters << 1.0, 2.0, 3.0, 0.1, -0.2, 2.5;
  const Pose pose = PoseFromParameters(parameters);
  const Eigen::Matrix3d expected = (Eigen::AngleAxisd(2.5, Eigen::Vector3d::UnitZ()) *
                                    Eigen::AngleAxisd(-0.2, Eigen::Vector3d::UnitY()) *
                                    Eigen::AngleAxisd(0.1, Eigen::Vector3d::UnitX()))
                                       .toRotationMatrix();
  EXPECT_LT((pose.rotation.toRotationMatrix() - expected).norm(), 1e-12);
  EXPECT_EQ(pose.translation, Eigen::Vector3d(1.0, 2.0, 3.0));
  EXPECT_LT((ParametersFromPose(pose) - parameters).norm(), 1e-12);
}

}  // namespace
}  // namespace voxloc
