// SPDX-License-Identifier: Apache-2.0
//
// The kernel that scores a scan at many poses, from host code. A launch only queues work on the
// stream; the arrays are device memory, or page-locked host memory that the device sees.

#ifndef VOXLOC_CUDA_SCORE_SCORE_KERNEL_H_
#define VOXLOC_CUDA_SCORE_SCORE_KERNEL_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "cuda/align/device_job.h"
#include "cuda/runtime/device.h"

namespace voxloc::cuda {

// map_T_base: position, m, and unit quaternion.
struct DevicePose {
  double translation[3];
  double x;
  double y;
  double z;
  double w;
};

// Sums over the scan at one pose, without the constants of the score.
struct DeviceScore {
  double exponentials;
  double best;
  uint32_t matched_points;
  uint32_t pairs;
};

struct ScoreArguments {
  StageTerms stage;
  DeviceScan scan;
  const float* points;
  const DevicePose* poses;
  uint32_t pose_count;
  DeviceScore* scores;
  float* point_scores;  // poses times points; null: not wanted
};

[[nodiscard]] absl::Status LaunchScore(Device& device, const ScoreArguments& arguments,
                                       cudaStream_t stream);

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_SCORE_SCORE_KERNEL_H_
