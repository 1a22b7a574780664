// SPDX-License-Identifier: Apache-2.0

#include "server/engine_factory.h"

#include "core/engine/cpu/cpu_engine.h"

namespace voxloc::server {

absl::StatusOr<std::unique_ptr<Engine>> MakeEngine(const Config& config) {
  if (config.engine == "cuda") {
    return absl::FailedPreconditionError(
        "engine is 'cuda', but this build has no CUDA engine; use --engine=cpu or --engine=auto");
  }
  CpuEngineOptions options;
  options.threads = config.threads;
  return MakeCpuEngine(options);
}

}  // namespace voxloc::server
