// SPDX-License-Identifier: Apache-2.0
//
// From the map of a job to one that this device can read.

#ifndef VOXLOC_CUDA_ALIGN_MAP_ACCESS_H_
#define VOXLOC_CUDA_ALIGN_MAP_ACCESS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/engine/job_check.h"
#include "core/engine/profile.h"
#include "cuda/map/cuda_map.h"
#include "cuda/runtime/device.h"

namespace voxloc::cuda {

// FailedPrecondition: no map, a map of another engine, or one without a stage's cells.
[[nodiscard]] inline absl::StatusOr<const CudaMap*> CheckMap(const Device& device,
                                                             const ResidentMap* map,
                                                             absl::Span<const Stage> stages) {
  const auto* cuda_map = dynamic_cast<const CudaMap*>(map);
  if (cuda_map == nullptr || &cuda_map->device() != &device) {
    return absl::FailedPreconditionError("the map does not belong to this CUDA engine");
  }
  if (absl::Status status = CheckCells(*cuda_map, stages); !status.ok()) return status;
  return cuda_map;
}

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_MAP_ACCESS_H_
