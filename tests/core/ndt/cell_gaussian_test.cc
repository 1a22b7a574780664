// SPDX-License-Identifier: Apache-2.0

#include "core/ndt/cell_gaussian.h"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/random_numbers.h"
#include "tests/support/reference_ndt.h"

namespace voxloc::ndt {
namespace {

using reference::ToEigen;

CellMoments MomentsOf(const std::vector<Eigen::Vector3d>& points) {
  CellMoments moments;
  for (const Eigen::Vector3d& p : points) AddPoint({p.x(), p.y(), p.z()}, moments);
  return moments;
}

// Mean first, deviations second.
struct TwoPass {
  Eigen::Vector3d mean = Eigen::Vector3d::Zero();
  Eigen::Matrix3d covariance = Eigen::Matrix3d::Zero();
  explicit TwoPass(const std::vector<Eigen::Vector3d>& points) {
    const auto n = static_cast<double>(points.size());
    for (const Eigen::Vector3d& p : points) mean += p / n;
    for (const Eigen::Vector3d& p : points) {
      covariance += (p - mean) * (p - mean).transpose() / (n - 1.0);
    }
  }
};

std::vector<Eigen::Vector3d> Blob(int count, RandomNumbers& random) {
  std::vector<Eigen::Vector3d> points;
  for (int i = 0; i < count; ++i) points.push_back(random.InBox(1.0));
  return points;
}

Eigen::Vector3d MeanOf(const CellGaussian& gaussian) {
  return {gaussian.mean_from_centre.x, gaussian.mean_from_centre.y, gaussian.mean_from_centre.z};
}

TEST(CellStatisticsTest, MeanAndCovarianceAreThoseOfTwoPasses) {
  RandomNumbers random(31);
  GaussianOptions options;
  options.eigenvalue_ratio = 1e-6;  // so low that it changes nothing
  for (const int count : {6, 7, 20, 500, 5000}) {
    const std::vector<Eigen::Vector3d> points = Blob(count, random);
    const TwoPass expected(points);
    CellGaussian gaussian;
    ASSERT_TRUE(ComputeGaussian(MomentsOf(points), options, gaussian));
    EXPECT_LE((MeanOf(gaussian) - expected.mean).norm(), 1e-13);
    EXPECT_LE((ToEigen(gaussian.covariance) - expected.covariance).norm(), 1e-12);
    EXPECT_LE((ToEigen(gaussian.information) - expected.covariance.inverse()).norm(),
              1e-9 * ToEigen(gaussian.information).norm());
  }
}

TEST(CellStatisticsTest, TheIdentitySeedAddsOneOverTheCountLessOne) {
  RandomNumbers random(32);
  GaussianOptions options;
  options.identity_seed = true;
  for (const int count : {6, 10, 100}) {
    const std::vector<Eigen::Vector3d> points = Blob(count, random);
    CellGaussian gaussian;
    ASSERT_TRUE(ComputeGaussian(MomentsOf(points), options, gaussian));
    const Eigen::Matrix3d expected =
        TwoPass(points).covariance + Eigen::Matrix3d::Identity() / (count - 1.0);
    EXPECT_LE((ToEigen(gaussian.covariance) - expected).norm(), 1e-12);
  }
}

TEST(CellStatisticsTest, SmallEigenvaluesAreRaisedToTheirShareOfTheLargest) {
  RandomNumbers random(33);
  for (const double ratio : {1e-3, 0.01, 0.3}) {
    for (int trial = 0; trial < 50; ++trial) {
      const Eigen::Matrix3d axes = random.Orthogonal<3>();
      const double flatness = std::pow(10.0, random.Uniform(-5.0, 0.0));
      const double narrowness = std::pow(10.0, random.Uniform(-5.0, 0.0));
      std::vector<Eigen::Vector3d> points;
      for (int i = 0; i < 30; ++i) {
        points.emplace_back(
            axes * random.InBox(1.0).cwiseProduct(Eigen::Vector3d(1.0, narrowness, flatness)));
      }
      GaussianOptions options;
      options.eigenvalue_ratio = ratio;
      CellGaussian gaussian;
      ASSERT_TRUE(ComputeGaussian(MomentsOf(points), options, gaussian));
      const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> sample(TwoPass(points).covariance);
      const Eigen::Vector3d values = sample.eigenvalues().cwiseMax(ratio * sample.eigenvalues()[2]);
      const Eigen::Matrix3d expected =
          sample.eigenvectors() * values.asDiagonal() * sample.eigenvectors().transpose();
      EXPECT_LE((ToEigen(gaussian.covariance) - expected).norm(), 1e-12);
      const Eigen::Matrix3d product = ToEigen(gaussian.covariance) * ToEigen(gaussian.information);
      EXPECT_LE((product - Eigen::Matrix3d::Identity()).norm(), 1e-9 / ratio);
    }
  }
}

TEST(CellStatisticsTest, CellsOfTooFewPointsHaveNoGaussian) {
  RandomNumbers random(34);
  const std::vector<Eigen::Vector3d> points = Blob(12, random);
  for (uint32_t least = 3; least <= 12; ++least) {
    GaussianOptions options;
    options.min_points = least;
    for (size_t count = 0; count <= points.size(); ++count) {
      CellGaussian gaussian;
      const std::vector<Eigen::Vector3d> some(points.begin(),
                                              points.begin() + static_cast<std::ptrdiff_t>(count));
      EXPECT_EQ(ComputeGaussian(MomentsOf(some), options, gaussian), count >= least) << count;
    }
  }
}

TEST(CellStatisticsTest, CoplanarAndCollinearPointsAreRegularised) {
  RandomNumbers random(35);
  for (int trial = 0; trial < 100; ++trial) {
    const Eigen::Vector3d along = random.InBox(1.0);
    const Eigen::Vector3d across = trial % 2 == 0 ? random.InBox(1.0) : Eigen::Vector3d::Zero();
    const Eigen::Vector3d at = random.InBox(0.5);
    std::vector<Eigen::Vector3d> points;
    for (int i = 0; i < 8; ++i) {
      points.emplace_back(at + random.Uniform(-0.3, 0.3) * along +
                          random.Uniform(-0.3, 0.3) * across);
    }
    CellGaussian gaussian;
    ASSERT_TRUE(ComputeGaussian(MomentsOf(points), {}, gaussian));
    const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> eigen(ToEigen(gaussian.covariance));
    EXPECT_GE(eigen.eigenvalues()[0], 0.01 * eigen.eigenvalues()[2] * (1.0 - 1e-9));
    EXPECT_TRUE(ToEigen(gaussian.information).allFinite());
  }
}

// Rounding makes a covariance out of nothing, of either sign, whose inverse is astronomic.
TEST(CellStatisticsTest, CoincidentPointsHaveNoGaussian) {
  RandomNumbers random(36);
  for (const double reach : {0.25, 1.0, 100.0}) {
    for (int trial = 0; trial < 500; ++trial) {
      const Eigen::Vector3d at = random.InBox(reach);
      const int count = 6 + random.Index(30);
      const std::vector<Eigen::Vector3d> points(static_cast<size_t>(count), at);
      for (const double ratio : {0.01, 0.003}) {
        GaussianOptions options;
        options.eigenvalue_ratio = ratio;
        CellGaussian gaussian;
        EXPECT_FALSE(ComputeGaussian(MomentsOf(points), options, gaussian))
            << count << " points at " << at.transpose();
      }
    }
  }
}

TEST(CellStatisticsTest, CoincidentPointsWithASeedAreAsWideAsTheSeed) {
  GaussianOptions options;
  options.identity_seed = true;
  CellGaussian gaussian;
  const std::vector<Eigen::Vector3d> points(6, Eigen::Vector3d(0.1, 0.2, 0.3));
  ASSERT_TRUE(ComputeGaussian(MomentsOf(points), options, gaussian));
  EXPECT_LE((ToEigen(gaussian.covariance) - 0.2 * Eigen::Matrix3d::Identity()).norm(), 1e-13);
}

TEST(CellStatisticsTest, MomentsThatAreNotFiniteHaveNoGaussian) {
  CellMoments moments;
  moments.count = 10;
  moments.outer = {1.0, 0.0, 0.0, 1.0, 0.0, std::numeric_limits<double>::quiet_NaN()};
  CellGaussian gaussian;
  EXPECT_FALSE(ComputeGaussian(moments, {}, gaussian));
  moments.outer.zz = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(ComputeGaussian(moments, {}, gaussian));
}

}  // namespace
}  // namespace voxloc::ndt
