// SPDX-License-Identifier: Apache-2.0
//
// The Gaussian of a cell as the kernels compute it, against Eigen.

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <optional>
#include <vector>

#include "tests/cuda/linear_algebra/algebra_fixture.h"
#include "tests/cuda/linear_algebra/in_kernel_algebra.h"

namespace voxloc::cuda {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

struct Cell {
  std::vector<Vector3d> points;  // from the cell's centre, m
  ndt::GaussianOptions options;
};

struct Gaussian {
  Vector3d mean;
  Matrix3d covariance;
  Matrix3d information;
};

Vector3d ToEigen(const ndt::Vector3<double>& v) { return {v.x, v.y, v.z}; }
Matrix3d ToEigen(const ndt::Symmetric3<double>& s) {
  Matrix3d m;
  m << s.xx, s.xy, s.xz, s.xy, s.yy, s.yz, s.xz, s.yz, s.zz;
  return m;
}

GaussianProblem ProblemOf(const Cell& cell) {
  GaussianProblem problem;
  problem.options = cell.options;
  for (const Vector3d& point : cell.points) {
    ndt::AddPoint({point.x(), point.y(), point.z()}, problem.moments);
  }
  return problem;
}

// From the points themselves, in two passes.
std::optional<Gaussian> ByEigen(const Cell& cell) {
  const auto count = static_cast<double>(cell.points.size());
  if (cell.points.size() < std::max(2U, cell.options.min_points)) return std::nullopt;
  Gaussian gaussian;
  gaussian.mean = Vector3d::Zero();
  for (const Vector3d& point : cell.points) gaussian.mean += point / count;
  Matrix3d scatter = Matrix3d::Zero();
  if (cell.options.identity_seed) scatter.setIdentity();
  for (const Vector3d& point : cell.points) {
    scatter += (point - gaussian.mean) * (point - gaussian.mean).transpose();
  }
  const Matrix3d covariance = scatter / (count - 1.0);
  if (!(covariance.trace() > ndt::kMinTotalVariance)) return std::nullopt;
  const Eigen::SelfAdjointEigenSolver<Matrix3d> eigen(covariance);
  const Vector3d values =
      eigen.eigenvalues().cwiseMax(cell.options.eigenvalue_ratio * eigen.eigenvalues()[2]);
  const Matrix3d& axes = eigen.eigenvectors();
  gaussian.covariance = axes * values.asDiagonal() * axes.transpose();
  gaussian.information = axes * values.cwiseInverse().asDiagonal() * axes.transpose();
  return gaussian;
}

// Spread, flat and thin clouds of points in a cell of 2 m, and some that make no Gaussian.
std::vector<Cell> Cells() {
  RandomNumbers random(71);
  std::vector<Cell> cells;
  for (int trial = 0; trial < 3000; ++trial) {
    Cell cell;
    cell.options.identity_seed = trial % 5 == 0;
    cell.options.eigenvalue_ratio = trial % 3 == 0 ? 0.001 : 0.01;
    const Matrix3d axes = random.Orthogonal<3>();
    const Vector3d centre = random.InBox(0.7);
    Vector3d spread(0.2, 0.15, 0.1);
    if (trial % 4 == 1) spread = {0.3, 0.2, 1e-4};
    if (trial % 4 == 2) spread = {0.3, 1e-4, 1e-5};
    if (trial % 4 == 3) spread.setConstant(0.2);
    const int points = 3 + random.Index(60);
    for (int i = 0; i < points; ++i) {
      cell.points.emplace_back(centre + axes * spread.cwiseProduct(random.NormalVector()));
    }
    cells.push_back(cell);
  }
  // All in one place.
  cells.push_back({std::vector<Vector3d>(10, Vector3d(0.3, -0.2, 0.1)), {}});
  cells.push_back({{}, {}});
  return cells;
}

TEST_F(OnDevice, InKernelGaussiansAreEigens) {
  const std::vector<Cell> cells = Cells();
  std::vector<GaussianProblem> problems;
  for (const Cell& cell : cells) problems.push_back(ProblemOf(cell));
  const auto answers = ComputeGaussiansInKernel(device_, problems);
  ASSERT_TRUE(answers.ok()) << answers.status();
  size_t gaussians = 0;
  double largest_covariance = 0.0;
  double largest_information = 0.0;
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::optional<Gaussian> expected = ByEigen(cells[i]);
    const GaussianAnswer& answer = (*answers)[i];
    ASSERT_EQ(answer.exists, expected.has_value()) << "cell " << i;
    if (!expected.has_value()) continue;
    ++gaussians;
    const double covariance_error =
        (ToEigen(answer.gaussian.covariance) - expected->covariance).norm() /
        expected->covariance.norm();
    const double information_error =
        (ToEigen(answer.gaussian.information) - expected->information).norm() /
        expected->information.norm();
    ASSERT_LE((ToEigen(answer.gaussian.mean_from_centre) - expected->mean).norm(), 1e-14);
    ASSERT_LE(covariance_error, 1e-12) << "cell " << i;
    ASSERT_LE(information_error, 1e-9) << "cell " << i;
    largest_covariance = std::max(largest_covariance, covariance_error);
    largest_information = std::max(largest_information, information_error);
  }
  EXPECT_GT(gaussians, cells.size() / 2);
  std::cout << gaussians << " Gaussians of " << cells.size() << " cells: covariance "
            << largest_covariance << ", information " << largest_information << std::endl;
}

TEST_F(OnDevice, InKernelGaussiansAreTheHosts) {
  std::vector<GaussianProblem> problems;
  for (const Cell& cell : Cells()) problems.push_back(ProblemOf(cell));
  const auto answers = ComputeGaussiansInKernel(device_, problems);
  ASSERT_TRUE(answers.ok()) << answers.status();
  for (size_t i = 0; i < problems.size(); ++i) {
    ndt::CellGaussian expected;
    const bool exists = ndt::ComputeGaussian(problems[i].moments, problems[i].options, expected);
    const GaussianAnswer& answer = (*answers)[i];
    ASSERT_EQ(answer.exists, exists) << "cell " << i;
    if (!exists) continue;
    ASSERT_EQ(ToEigen(answer.gaussian.mean_from_centre), ToEigen(expected.mean_from_centre));
    ASSERT_LE((ToEigen(answer.gaussian.information) - ToEigen(expected.information)).norm(),
              1e-9 * ToEigen(expected.information).norm());
  }
}

}  // namespace
}  // namespace voxloc::cuda
