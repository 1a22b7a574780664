// SPDX-License-Identifier: Apache-2.0

#include "core/engine/cpu/cpu_engine.h"
#include "server/engines/engine_choice.h"
#if defined(VOXLOC_HAVE_CUDA)
#include "core/engine/replica/replicated_engine.h"
#include "cuda/cuda_engine.h"
#endif

namespace voxloc::server {
namespace {

// The engines of this build; `config` must outlive it.
EngineSource SourceFor(const Config& config) {
  EngineSource source;
  source.make_cpu = [&config] {
    CpuEngineOptions options;
    options.threads = config.threads;
    return MakeCpuEngine(options);
  };
#if defined(VOXLOC_HAVE_CUDA)
  source.count_gpus = CudaDeviceCount;
  source.make_gpu = [&config](uint32_t device) {
    CudaEngineOptions options;
    options.device = static_cast<int>(device);
    options.memory_limit_bytes = config.gpu_memory_limit_bytes;
    return MakeCudaEngine(options);
  };
  source.make_replicated = MakeReplicatedEngine;
#endif
  return source;
}

}  // namespace

absl::Status CheckEngine(const Config& config) {
  return CpuReason(config, SourceFor(config)).status();
}

absl::StatusOr<EngineChoice> MakeEngine(const Config& config) {
  return ChooseEngine(config, SourceFor(config));
}

}  // namespace voxloc::server
