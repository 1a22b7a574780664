// SPDX-License-Identifier: Apache-2.0
//
// What the tests of linear algebra share: a device, and matrices to decompose.

#ifndef VOXLOC_TESTS_CUDA_LINEAR_ALGEBRA_ALGEBRA_FIXTURE_H_
#define VOXLOC_TESTS_CUDA_LINEAR_ALGEBRA_ALGEBRA_FIXTURE_H_

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <memory>
#include <utility>

#include "core/geometry/covariance.h"
#include "cuda/linear_algebra/symmetric_eigen6.h"
#include "tests/cuda/on_device.h"
#include "tests/support/random_numbers.h"

namespace voxloc::cuda {

using Vector6 = Eigen::Matrix<double, 6, 1>;

// With cuSOLVER, which a machine with a device may lack.
class WithCusolver : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    if (device_ == nullptr) return;
    auto solver = SymmetricEigenSolver6::Create(device_);
    if (absl::IsFailedPrecondition(solver.status())) GTEST_SKIP() << solver.status();
    ASSERT_TRUE(solver.ok()) << solver.status();
    solver_ = *std::move(solver);
  }

  std::unique_ptr<SymmetricEigenSolver6> solver_;
};

// A symmetric matrix of these eigenvalues along axes of no preferred direction.
template <int kSize>
Eigen::Matrix<double, kSize, kSize> WithEigenvalues(const Eigen::Matrix<double, kSize, 1>& values,
                                                    RandomNumbers& random) {
  const Eigen::Matrix<double, kSize, kSize> axes = random.Orthogonal<kSize>();
  const Eigen::Matrix<double, kSize, kSize> matrix = axes * values.asDiagonal() * axes.transpose();
  return 0.5 * (matrix + matrix.transpose());
}

}  // namespace voxloc::cuda

#endif  // VOXLOC_TESTS_CUDA_LINEAR_ALGEBRA_ALGEBRA_FIXTURE_H_
