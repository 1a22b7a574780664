// SPDX-License-Identifier: Apache-2.0
//
// Batched eigen decompositions against Eigen's.

#include "cuda/linear_algebra/symmetric_eigen6.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <thread>
#include <vector>

#include "tests/cuda/linear_algebra/algebra_fixture.h"

namespace voxloc::cuda {
namespace {

using ::testing::HasSubstr;

class SymmetricEigen6Test : public WithCusolver {
 protected:
  // All in terms of the largest eigenvalue's magnitude; of a zero matrix, absolutely.
  void ExpectDecomposed(const std::vector<Matrix6>& matrices) {
    const auto results = solver_->Decompose(matrices);
    ASSERT_TRUE(results.ok()) << results.status();
    ASSERT_EQ(results->size(), matrices.size());
    double largest_residual = 0.0;
    double largest_skew = 0.0;
    double largest_error = 0.0;
    for (size_t i = 0; i < matrices.size(); ++i) {
      const Eigen6& found = (*results)[i];
      const Matrix6& matrix = matrices[i];
      const Vector6 expected = Eigen::SelfAdjointEigenSolver<Matrix6>(matrix).eigenvalues();
      const double norm = expected.cwiseAbs().maxCoeff();
      const double scale = norm > 0.0 ? norm : 1.0;
      for (int k = 0; k < 5; ++k) ASSERT_LE(found.values[k], found.values[k + 1]);
      const double error = (found.values - expected).cwiseAbs().maxCoeff() / scale;
      const Matrix6 residual =
          matrix * found.vectors - found.vectors * found.values.asDiagonal().toDenseMatrix();
      const double relative_residual = residual.cwiseAbs().maxCoeff() / scale;
      const double skew =
          (found.vectors.transpose() * found.vectors - Matrix6::Identity()).cwiseAbs().maxCoeff();
      ASSERT_LE(error, 1e-13) << "matrix " << i << "\n" << matrix;
      ASSERT_LE(relative_residual, 1e-13) << "matrix " << i << "\n" << matrix;
      ASSERT_LE(skew, 1e-13) << "matrix " << i << "\n" << matrix;
      largest_error = std::max(largest_error, error);
      largest_residual = std::max(largest_residual, relative_residual);
      largest_skew = std::max(largest_skew, skew);
    }
    if (matrices.size() <= 50) return;
    std::cout << matrices.size() << " matrices: eigenvalues " << largest_error << ", residual "
              << largest_residual << ", orthogonality " << largest_skew << std::endl;
  }
};

TEST_F(SymmetricEigen6Test, DefiniteAndIndefiniteMatrices) {
  RandomNumbers random(31);
  std::vector<Matrix6> matrices;
  for (int trial = 0; trial < 4000; ++trial) {
    Vector6 values;
    for (double& value : values) {
      value = std::pow(10.0, random.Uniform(-3.0, 6.0));
      if (trial % 2 == 1 && random.Uniform(0.0, 1.0) < 0.5) value = -value;
    }
    matrices.push_back(WithEigenvalues<6>(values, random));
  }
  ExpectDecomposed(matrices);
}

TEST_F(SymmetricEigen6Test, SingularMatrices) {
  RandomNumbers random(32);
  std::vector<Matrix6> matrices = {Matrix6::Zero()};
  for (int rank = 1; rank < 6; ++rank) {
    for (int trial = 0; trial < 200; ++trial) {
      Matrix6 matrix = Matrix6::Zero();
      for (int k = 0; k < rank; ++k) {
        Vector6 v;
        for (double& value : v) value = random.Index(9) - 4;
        matrix -= v * v.transpose();
      }
      matrices.push_back(matrix);
    }
  }
  ExpectDecomposed(matrices);
}

TEST_F(SymmetricEigen6Test, RepeatedEigenvalues) {
  RandomNumbers random(33);
  std::vector<Matrix6> matrices = {Matrix6::Identity(), -3.0 * Matrix6::Identity()};
  for (int trial = 0; trial < 500; ++trial) {
    const double first = random.Uniform(-5.0, 5.0);
    const double second = random.Uniform(-5.0, 5.0);
    Vector6 values = Vector6::Constant(first);
    values.tail(1 + trial % 3).setConstant(second);
    matrices.push_back(WithEigenvalues<6>(values, random));
    matrices.emplace_back(values.asDiagonal());
  }
  ExpectDecomposed(matrices);
}

TEST_F(SymmetricEigen6Test, BatchesOfNoneOfOneAndBeyondOneCall) {
  EXPECT_TRUE(solver_->Decompose({}).value().empty());
  RandomNumbers random(34);
  std::vector<Matrix6> matrices;
  for (int i = 0; i < 70'000; ++i) {
    Matrix6 matrix;
    for (double& value : matrix.reshaped()) value = random.Normal();
    matrices.emplace_back(matrix + matrix.transpose());
  }
  ExpectDecomposed({matrices[0]});
  ExpectDecomposed(matrices);
}

TEST_F(SymmetricEigen6Test, OnlyTheLowerTriangleIsRead) {
  RandomNumbers random(35);
  Matrix6 matrix = WithEigenvalues<6>(Vector6::LinSpaced(1.0, 6.0), random);
  Matrix6 lower = matrix;
  lower.triangularView<Eigen::StrictlyUpper>().setConstant(99.0);
  const auto whole = solver_->Decompose({&matrix, 1});
  const auto half = solver_->Decompose({&lower, 1});
  ASSERT_TRUE(whole.ok() && half.ok());
  EXPECT_EQ((*whole)[0].values, (*half)[0].values);
  EXPECT_EQ((*whole)[0].vectors, (*half)[0].vectors);
}

TEST_F(SymmetricEigen6Test, AMatrixThatIsNotFiniteIsNamed) {
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    std::vector<Matrix6> matrices(5, Matrix6::Identity());
    matrices[3](4, 2) = value;
    const auto results = solver_->Decompose(matrices);
    EXPECT_EQ(results.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(results.status().message(), HasSubstr("matrix 3 "));
  }
  ExpectDecomposed({Matrix6::Identity()});
}

TEST_F(SymmetricEigen6Test, ThreadsShareOneSolver) {
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < 6; ++thread) {
    threads.emplace_back([this, thread] {
      RandomNumbers random(40 + thread);
      for (int round = 0; round < 10; ++round) {
        std::vector<Matrix6> matrices;
        for (int i = 0; i < 50; ++i) {
          matrices.push_back(WithEigenvalues<6>(Vector6::LinSpaced(-2.0, 7.0), random));
        }
        ExpectDecomposed(matrices);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(WithCusolver, WithoutMemoryItSaysSoAndGoesOn) {
  DeviceOptions options;
  options.memory_limit_bytes = size_t{16} << 20;
  auto device = Device::Open(options);
  ASSERT_TRUE(device.ok()) << device.status();
  auto solver = SymmetricEigenSolver6::Create(*device);
  ASSERT_TRUE(solver.ok()) << solver.status();
  const std::vector<Matrix6> many(60'000, Matrix6::Identity());
  const std::vector<Matrix6> few(10, Matrix6::Identity());
  EXPECT_EQ((*solver)->Decompose(many).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE((*solver)->Decompose(few).ok());
}

}  // namespace
}  // namespace voxloc::cuda
