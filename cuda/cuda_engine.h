// SPDX-License-Identifier: Apache-2.0
//
// The engine for one NVIDIA GPU. An alignment, from the guess to the last stage of its profile,
// runs inside one kernel launch, and a batch of any size is one launch too.
//
// Thread-safe. Each call uses a stream of its own, never the default stream, and returns when its
// work is done: its arguments may be changed or freed then. Tracking runs on streams of high
// priority, map building and long batches on low ones. The same job gives the same bits, whatever
// the batch, the concurrent work and the number of blocks that work on it.

#ifndef VOXLOC_CUDA_CUDA_ENGINE_H_
#define VOXLOC_CUDA_CUDA_ENGINE_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/engine/engine.h"

namespace voxloc {

struct CudaEngineOptions {
  int device = 0;  // CUDA ordinal among the devices visible to this process
  // Limit of the engine's device memory; 0: no limit.
  size_t memory_limit_bytes = 0;
  // Thread-block clusters, which devices of compute capability 9.0 and more have. Off: several
  // blocks work on a job as on older devices. Results do not depend on it.
  bool use_clusters = true;
};

// Devices that can be used; 0 where there is no driver or no device. `no_gpu_reason` may be null.
[[nodiscard]] int CudaDeviceCount(std::string* no_gpu_reason = nullptr);

// NotFound: no such device. FailedPrecondition: a device that this build has no code for.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Engine>> MakeCudaEngine(
    const CudaEngineOptions& options = {});

}  // namespace voxloc

#endif  // VOXLOC_CUDA_CUDA_ENGINE_H_
