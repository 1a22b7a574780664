// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <vector>

#include "core/estimate/covariance/cluster_covariance.h"
#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

const NullSpaceExtents kNoExtent(6, 0);

SandwichOptions PlainOptions() {
  SandwichOptions options;
  options.unobserved_ratio = 1e-3;
  options.largest_sigma_m = 10.0;
  return options;
}

// Two clusters for each axis that pull to both sides of it; all hold the same information.
std::vector<ScoreTerms> OpposedClusters(const Vector6& pull, double information) {
  std::vector<ScoreTerms> clusters;
  for (int axis = 0; axis < 6; ++axis) {
    for (const double side : {-1.0, 1.0}) {
      ScoreTerms& cluster = clusters.emplace_back();
      cluster.gradient[axis] = side * pull[axis];
      cluster.information = information * Matrix6::Identity();
    }
  }
  return clusters;
}

Matrix6 SandwichOf(const std::vector<ScoreTerms>& clusters,
                   const NullSpaceExtents& extents = kNoExtent,
                   const Matrix6& extent_covariance = Matrix6::Zero()) {
  return SandwichCovariance(clusters, DecomposeInformation(clusters), extents, extent_covariance,
                            PlainOptions());
}

TEST(SandwichTest, OfEqualClustersIsTheirVarianceWidenedAsStudentsT) {
  const double pull = 3.0;
  const double information = 50.0;
  const auto clusters = OpposedClusters(Vector6::Constant(pull), information);
  const Matrix6 covariance = SandwichOf(clusters);
  // Of twelve clusters, two pull at each axis. The estimate without a bias divides by eleven; 68.27
  // % of Student's t with eleven degrees of freedom lie within 1.0476.
  const double plain = 2.0 * pull * pull / (12.0 * 11.0 * information * information);
  const Matrix6 expected = 1.0476 * 1.0476 * plain * Matrix6::Identity();
  EXPECT_LT((covariance - expected).norm(), 1e-3 * expected.norm());
}

// Gradients whose variance is in proportion to what their clusters know, which is unequal: the mean
// of many estimates is the true covariance, the inverse of the information, but for the widening.
TEST(SandwichTest, HasNoBiasWhateverTheLeverage) {
  RandomNumbers random(8);
  std::vector<ScoreTerms> clusters(40);
  double squares = 0.0;
  double sum = 0.0;
  for (size_t k = 0; k < clusters.size(); ++k) {
    const double information = k % 4 == 0 ? 90.0 : 20.0;
    clusters[k].information = information * Matrix6::Identity();
    sum += information;
    squares += information * information;
  }
  const Spectrum spectrum = DecomposeInformation(clusters);
  Vector6 mean = Vector6::Zero();
  constexpr int kTrials = 2000;
  for (int trial = 0; trial < kTrials; ++trial) {
    for (ScoreTerms& cluster : clusters) {
      for (double& value : cluster.gradient) value = random.Normal();
      cluster.gradient *= std::sqrt(cluster.information(0, 0));
    }
    // The search ended wherever these lead from the optimum; that is not noise.
    const Matrix6 covariance =
        SandwichCovariance(clusters, spectrum, kNoExtent, Matrix6::Zero(), PlainOptions());
    Vector6 step = Vector6::Zero();
    for (const ScoreTerms& cluster : clusters) step += cluster.gradient / sum;
    mean += covariance.diagonal() - step.cwiseAbs2();
  }
  const double freedom = sum * sum / squares - 1.0;
  const double widening = 1.0 + 0.5 / freedom;
  const double expected = widening * widening / sum;
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(mean[i] / kTrials, expected, 0.04 * expected);
}

TEST(SandwichTest, FollowsTheNoiseOfEachAxis) {
  Vector6 pull;
  pull << 1.0, 2.0, 4.0, 8.0, 1.0, 2.0;
  const auto clusters = OpposedClusters(pull, 50.0);
  const Matrix6 covariance = SandwichOf(clusters);
  for (int i = 0; i < 3; ++i) EXPECT_GT(covariance(i + 1, i + 1), 1.5 * covariance(i, i));
}

TEST(SandwichTest, CountsTheStepThatIsLeft) {
  auto clusters = OpposedClusters(Vector6::Constant(1e-3), 50.0);
  Vector6 left = Vector6::Zero();
  left[1] = 0.02;
  // As many metres from the optimum along y.
  clusters[0].gradient += 12.0 * 50.0 * left;
  EXPECT_GT(SandwichOf(clusters)(1, 1), 0.02 * 0.02);
}

TEST(SandwichTest, HoldsWhatIsNotObservedAsFarAsItSlid) {
  auto clusters = OpposedClusters(Vector6::Constant(2.0), 50.0);
  for (ScoreTerms& cluster : clusters) cluster.information(0, 0) = 1e-4;
  const Spectrum spectrum = DecomposeInformation(clusters);
  EXPECT_FALSE(spectrum.Observes(0, 1e-3));
  EXPECT_TRUE(spectrum.Observes(1, 1e-3));
  NullSpaceExtents extents(6, 1);
  extents << 5.0, 0.0, 0.1, 0.0, 0.0, 0.0;
  const Matrix6 covariance = SandwichOf(clusters, extents);
  EXPECT_NEAR(covariance(0, 0), 25.0, 1e-6);
  EXPECT_NEAR(covariance(0, 2), 0.5, 1e-6);
  EXPECT_LT(covariance(1, 1), 1e-3);
}

TEST(SandwichTest, AddsHowBadlyItIsKnownWhereNullSpaceExtentsLead) {
  const auto clusters = OpposedClusters(Vector6::Constant(2.0), 50.0);
  Vector6 loose;
  loose << 0.0, 0.0, 0.3, 0.0, 0.2, 0.0;
  const Matrix6 extent_covariance = loose * loose.transpose();
  const Matrix6 covariance = SandwichOf(clusters, kNoExtent, extent_covariance);
  EXPECT_LT((covariance - SandwichOf(clusters) - extent_covariance).cwiseAbs().maxCoeff(), 1e-9);
}

TEST(SandwichTest, IsPositiveDefiniteForAnyClusters) {
  RandomNumbers random(3);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<ScoreTerms> clusters(static_cast<size_t>(random.Index(9)));
    for (ScoreTerms& cluster : clusters) {
      for (int i = 0; i < 6; ++i) {
        cluster.gradient[i] = 1e3 * random.Normal();
        for (int j = 0; j <= i; ++j) {
          cluster.information(i, j) = cluster.information(j, i) = 1e4 * random.Normal();
        }
      }
    }
    Spectrum spectrum = DecomposeInformation(clusters);
    NullSpaceExtents extents(6, 0);
    for (int i = 0; i < 6; ++i) {
      if (spectrum.Observes(i, PlainOptions().unobserved_ratio)) continue;
      extents.conservativeResize(6, extents.cols() + 1);
      extents.rightCols<1>() = 2.0 * spectrum.directions.col(i);
    }
    const Matrix6 covariance =
        SandwichCovariance(clusters, spectrum, extents, Matrix6::Zero(), PlainOptions());
    ASSERT_TRUE(covariance.allFinite());
    EXPECT_EQ(Eigen::LLT<Matrix6>(covariance).info(), Eigen::Success) << covariance;
  }
}

}  // namespace
}  // namespace voxloc
