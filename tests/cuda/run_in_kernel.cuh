// SPDX-License-Identifier: Apache-2.0
//
// Runs a device function on each of many inputs, one thread an input.

#ifndef VOXLOC_TESTS_CUDA_RUN_IN_KERNEL_CUH_
#define VOXLOC_TESTS_CUDA_RUN_IN_KERNEL_CUH_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cuda/runtime/buffer.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/stream.h"

namespace voxloc::cuda {

constexpr unsigned kEachThreads = 128;

template <typename Work>
__global__ void __launch_bounds__(kEachThreads)
    EachKernel(const typename Work::In* in, unsigned count, typename Work::Out* out) {
  const unsigned i = blockIdx.x * kEachThreads + threadIdx.x;
  if (i < count) Work::Run(in[i], out[i]);
}

// Work has the types In and Out, and a static device function Run(const In&, Out&). Returns when
// all is done; the outputs are in the order of the inputs.
template <typename Work>
absl::StatusOr<std::vector<typename Work::Out>> RunInKernel(
    const std::shared_ptr<Device>& device, absl::Span<const typename Work::In> in) {
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
  EachKernel<Work><<<(count + kEachThreads - 1) / kEachThreads, kEachThreads, 0, stream->get()>>>(
      in_device.data(), count, out_device.data());
  VOXLOC_CUDA_TRY(*device, cudaGetLastError(), "starting a kernel");
  VOXLOC_CUDA_TRY(*device,
                  cudaMemcpyAsync(out.data(), out_device.data(), out.size() * sizeof(Out),
                                  cudaMemcpyDeviceToHost, stream->get()),
                  "copying answers");
  VOXLOC_TRY(stream->Synchronize());
  return out;
}

}  // namespace voxloc::cuda

#endif  // VOXLOC_TESTS_CUDA_RUN_IN_KERNEL_CUH_
