// SPDX-License-Identifier: Apache-2.0

#include "cuda/runtime/device_buffer.h"
#include "cuda/runtime/stream.h"
#include "tests/cuda/linear_algebra/in_kernel_algebra.h"

namespace voxloc::cuda {
namespace {

constexpr unsigned kThreads = 128;

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

template <typename Work>
__global__ void __launch_bounds__(kThreads)
    EachKernel(const typename Work::In* in, unsigned count, typename Work::Out* out) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  if (i < count) Work::Run(in[i], out[i]);
}

template <typename Work>
absl::StatusOr<std::vector<typename Work::Out>> Each(const std::shared_ptr<Device>& device,
                                                     absl::Span<const typename Work::In> in) {
  using In = typename Work::In;
  using Out = typename Work::Out;
  std::vector<Out> out(in.size());
  if (in.empty()) return out;
  VOXLOC_TRY(device->MakeCurrent());
  absl::StatusOr<Stream> stream = Stream::Create(device, Priority::kLow);
  if (!stream.ok()) return stream.status();
  DeviceBuffer<In> in_device(device);
  DeviceBuffer<Out> out_device(device);
  VOXLOC_TRY(in_device.Reserve(in.size()));
  VOXLOC_TRY(out_device.Reserve(in.size()));
  VOXLOC_CUDA_TRY(*device,
                  cudaMemcpyAsync(in_device.data(), in.data(), in.size() * sizeof(In),
                                  cudaMemcpyHostToDevice, stream->get()),
                  "copying problems");
  const auto count = static_cast<unsigned>(in.size());
  EachKernel<Work><<<(count + kThreads - 1) / kThreads, kThreads, 0, stream->get()>>>(
      in_device.data(), count, out_device.data());
  VOXLOC_CUDA_TRY(*device, cudaGetLastError(), "starting a kernel");
  VOXLOC_CUDA_TRY(*device,
                  cudaMemcpyAsync(out.data(), out_device.data(), out.size() * sizeof(Out),
                                  cudaMemcpyDeviceToHost, stream->get()),
                  "copying answers");
  VOXLOC_TRY(stream->Synchronize());
  return out;
}

}  // namespace

absl::StatusOr<std::vector<NewtonStep>> SolveNewtonStepsInKernel(
    const std::shared_ptr<Device>& device, absl::Span<const NewtonProblem> problems) {
  return Each<SolveNewton>(device, problems);
}

absl::StatusOr<std::vector<NewtonStep>> SolveByEigenvaluesInKernel(
    const std::shared_ptr<Device>& device, absl::Span<const NewtonProblem> problems) {
  return Each<SolveByRotations>(device, problems);
}

absl::StatusOr<std::vector<ndt::Eigen3<double>>> EigenDecomposeInKernel(
    const std::shared_ptr<Device>& device, absl::Span<const ndt::Symmetric3<double>> matrices) {
  return Each<Decompose>(device, matrices);
}

absl::StatusOr<std::vector<ndt::Symmetric3<double>>> InvertInKernel(
    const std::shared_ptr<Device>& device, absl::Span<const ndt::Symmetric3<double>> matrices) {
  return Each<Invert>(device, matrices);
}

absl::StatusOr<std::vector<GaussianAnswer>> ComputeGaussiansInKernel(
    const std::shared_ptr<Device>& device, absl::Span<const GaussianProblem> problems) {
  return Each<MakeGaussian>(device, problems);
}

}  // namespace voxloc::cuda
