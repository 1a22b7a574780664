// SPDX-License-Identifier: Apache-2.0
//
// The small solvers of core/ndt, run on the device: one thread a problem, in double, as the kernels
// of the engine run them. Thread-safe; each call works on a stream of its own and returns when its
// work is done.

#ifndef VOXLOC_TESTS_CUDA_LINEAR_ALGEBRA_IN_KERNEL_ALGEBRA_H_
#define VOXLOC_TESTS_CUDA_LINEAR_ALGEBRA_IN_KERNEL_ALGEBRA_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/ndt/cell_gaussian.h"
#include "core/ndt/newton.h"
#include "core/ndt/symmetric3.h"
#include "cuda/runtime/device.h"

namespace voxloc::cuda {

struct NewtonProblem {
  ndt::Matrix6x6 hessian;
  double gradient[6];
};
struct NewtonStep {
  double step[6];
};
[[nodiscard]] absl::StatusOr<std::vector<NewtonStep>> SolveNewtonStepsInKernel(
    const std::shared_ptr<Device>& device, absl::Span<const NewtonProblem> problems);

// By rotations alone, also where the factorisation would do.
[[nodiscard]] absl::StatusOr<std::vector<NewtonStep>> SolveByEigenvaluesInKernel(
    const std::shared_ptr<Device>& device, absl::Span<const NewtonProblem> problems);

[[nodiscard]] absl::StatusOr<std::vector<ndt::Eigen3<double>>> EigenDecomposeInKernel(
    const std::shared_ptr<Device>& device, absl::Span<const ndt::Symmetric3<double>> matrices);

[[nodiscard]] absl::StatusOr<std::vector<ndt::Symmetric3<double>>> InvertInKernel(
    const std::shared_ptr<Device>& device, absl::Span<const ndt::Symmetric3<double>> matrices);

struct GaussianProblem {
  ndt::CellMoments moments;
  ndt::GaussianOptions options;
};
struct GaussianAnswer {
  bool exists;
  ndt::CellGaussian gaussian;  // zero where there is none
};
[[nodiscard]] absl::StatusOr<std::vector<GaussianAnswer>> ComputeGaussiansInKernel(
    const std::shared_ptr<Device>& device, absl::Span<const GaussianProblem> problems);

}  // namespace voxloc::cuda

#endif  // VOXLOC_TESTS_CUDA_LINEAR_ALGEBRA_IN_KERNEL_ALGEBRA_H_
