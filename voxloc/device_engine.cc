// SPDX-License-Identifier: Apache-2.0

#include "voxloc/device_engine.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/engine/cpu/cpu_engine.h"
#include "core/status/try.h"
#if defined(VOXLOC_HAVE_CUDA)
#include "core/engine/self_test/self_test.h"
#include "cuda/cuda_engine.h"
#endif

namespace voxloc {
namespace {

#if defined(VOXLOC_HAVE_CUDA)
absl::StatusOr<std::unique_ptr<Engine>> MakeGpuEngine(int device, Engine& cpu) {
  std::string reason;
  const int devices = CudaDeviceCount(&reason);
  if (device >= devices) {
    return absl::FailedPreconditionError(
        absl::StrCat("device cuda:", device, " is not there; this machine has ", devices,
                     " GPUs that can be used", reason.empty() ? "" : ": ", reason));
  }
  CudaEngineOptions options;
  options.device = device;
  VOXLOC_ASSIGN_OR_RETURN(std::unique_ptr<Engine> gpu, MakeCudaEngine(options));
  VOXLOC_TRY(CheckAgreement(cpu, *gpu));
  return gpu;
}
#else
absl::StatusOr<std::unique_ptr<Engine>> MakeGpuEngine(int /*device*/, Engine& /*cpu*/) {
  return absl::FailedPreconditionError(
      "this build has no CUDA engine; build with -DVOXLOC_CUDA=ON, or use the device cpu");
}
#endif

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> MakeDeviceEngine(const std::string& device,
                                                         size_t threads) {
  absl::string_view name = device;
  int number = 0;
  const bool is_gpu = absl::ConsumePrefix(&name, "cuda") &&
                      (name.empty() || (absl::ConsumePrefix(&name, ":") &&
                                        absl::SimpleAtoi(name, &number) && number >= 0));
  if (!is_gpu && device != "cpu") {
    return absl::InvalidArgumentError(
        absl::StrCat("device must be cpu, cuda or cuda:NUMBER (got '", device, "')"));
  }
  CpuEngineOptions options;
  options.threads = threads;
  std::unique_ptr<Engine> cpu = MakeCpuEngine(options);
  if (is_gpu) return MakeGpuEngine(number, *cpu);
  return cpu;
}

}  // namespace voxloc
