// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/linear_algebra/in_kernel_algebra.h"
#include "tests/cuda/run_in_kernel.cuh"

namespace voxloc::cuda {
namespace {

struct SolveNewton {
  using In = NewtonProblem;
  using Out = NewtonStep;
  __device__ static void Run(const In& in, Out& out) {
    ndt::SolveNewtonStep(in.hessian, in.gradient, out.step);
  }
};

struct SolveByRotations {
  using In = NewtonProblem;
  using Out = NewtonStep;
  __device__ static void Run(const In& in, Out& out) {
    ndt::SolveByEigenvalues(in.hessian, in.gradient, out.step);
  }
};

struct Decompose {
  using In = ndt::Symmetric3<double>;
  using Out = ndt::Eigen3<double>;
  __device__ static void Run(const In& in, Out& out) { out = ndt::EigenDecompose(in); }
};

struct Invert {
  using In = ndt::Symmetric3<double>;
  using Out = ndt::Symmetric3<double>;
  __device__ static void Run(const In& in, Out& out) { out = ndt::Inverse(in); }
};

struct MakeGaussian {
  using In = GaussianProblem;
  using Out = GaussianAnswer;
  __device__ static void Run(const In& in, Out& out) {
    out.gaussian = {};
    out.exists = ndt::ComputeGaussian(in.moments, in.options, out.gaussian);
  }
};

}  // namespace

absl::StatusOr<std::vector<NewtonStep>> SolveNewtonStepsInKernel(
    const std::shared_ptr<Device>& device, absl::Span<const NewtonProblem> problems) {
  return RunInKernel<SolveNewton>(device, problems);
}

absl::StatusOr<std::vector<NewtonStep>> SolveByEigenvaluesInKernel(
    const std::shared_ptr<Device>& device, absl::Span<const NewtonProblem> problems) {
  return RunInKernel<SolveByRotations>(device, problems);
}

absl::StatusOr<std::vector<ndt::Eigen3<double>>> EigenDecomposeInKernel(
    const std::shared_ptr<Device>& device, absl::Span<const ndt::Symmetric3<double>> matrices) {
  return RunInKernel<Decompose>(device, matrices);
}

absl::StatusOr<std::vector<ndt::Symmetric3<double>>> InvertInKernel(
    const std::shared_ptr<Device>& device, absl::Span<const ndt::Symmetric3<double>> matrices) {
  return RunInKernel<Invert>(device, matrices);
}

absl::StatusOr<std::vector<GaussianAnswer>> ComputeGaussiansInKernel(
    const std::shared_ptr<Device>& device, absl::Span<const GaussianProblem> problems) {
  return RunInKernel<MakeGaussian>(device, problems);
}

}  // namespace voxloc::cuda
