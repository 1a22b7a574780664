// SPDX-License-Identifier: Apache-2.0
//
// Eigenvalues and eigenvectors of many symmetric 6x6 matrices at once, in double, by cuSOLVER: the
// information matrices of a batch of alignments, and the reference for the solvers in the kernels.
//
// Thread-safe; calls take turns. Each works on the object's own stream, of high priority, and
// returns when its work is done. Device memory grows with the largest batch and is kept; cuSOLVER
// holds some more of its own, which the device's memory limit does not count.

#ifndef VOXLOC_CUDA_LINEAR_ALGEBRA_SYMMETRIC_EIGEN6_H_
#define VOXLOC_CUDA_LINEAR_ALGEBRA_SYMMETRIC_EIGEN6_H_

#include <Eigen/Core>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/geometry/covariance.h"
#include "cuda/runtime/device.h"

namespace voxloc::cuda {

struct Eigen6 {
  Eigen::Matrix<double, 6, 1> values;  // ascending
  Matrix6 vectors;                     // column i: the unit eigenvector of values[i]
};

class SymmetricEigenSolver6 {
 public:
  // Shares the device. FailedPrecondition: cuSOLVER is not there (see cusolver_library.h).
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<SymmetricEigenSolver6>> Create(
      std::shared_ptr<Device> device);
  ~SymmetricEigenSolver6();
  SymmetricEigenSolver6(const SymmetricEigenSolver6&) = delete;
  SymmetricEigenSolver6& operator=(const SymmetricEigenSolver6&) = delete;

  // One result a matrix, in their order. Lower triangles are read, the rest is taken to mirror
  // them. InvalidArgument names the first matrix that is not finite; ResourceExhausted: no memory,
  // and later calls work; Unavailable: the device has failed.
  [[nodiscard]] absl::StatusOr<std::vector<Eigen6>> Decompose(absl::Span<const Matrix6> matrices);

 private:
  class Solver;

  explicit SymmetricEigenSolver6(std::unique_ptr<Solver> solver);

  const std::unique_ptr<Solver> solver_;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_LINEAR_ALGEBRA_SYMMETRIC_EIGEN6_H_
