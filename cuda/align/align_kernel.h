// SPDX-License-Identifier: Apache-2.0
//
// Host interface of the kernels that align a batch and gather its scans. Launches only queue work
// on the stream; all arrays are device memory, or page-locked host memory mapped to the device, and
// must stay valid until it is done.

#ifndef VOXLOC_CUDA_ALIGN_ALIGN_KERNEL_H_
#define VOXLOC_CUDA_ALIGN_ALIGN_KERNEL_H_

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cuda/align/device_job.h"
#include "cuda/align/launch_shape.h"
#include "cuda/runtime/device.h"

namespace voxloc::cuda {

struct AlignArguments {
  const AlignProgram* programs;
  const DeviceScan* scans;
  const float* points;  // of all scans
  const DeviceJob* jobs;
  uint32_t job_count;
  // One a job: nonzero once the host has cancelled it (StopFlags). Null: no job can be
  // cancelled.
  const volatile uint32_t* stops;
  const DevicePass* passes;
  const uint32_t* places;  // of packed points, of the groups of all passes
  const uint32_t* ends;
  DeviceResult* results;   // one a job
  DeviceIteration* trace;  // null: no job wants one
  float* point_scores;     // null: no job wants them
  DeviceGroupSums* group_sums;
  // Of jobs that groups of `group` blocks work on: kGroupColumns each, and a counter each, 0.
  uint32_t group;
  double* exchanged_columns;
  uint32_t* counted_columns;
};

// What the kernel can use on a device.
struct AlignLimits {
  // Blocks that may work on one job: a power of two up to 16.
  int max_cluster = 1;
  Exchange exchange = Exchange::kCluster;
  // Jobs that run at the same time with a small block each.
  int resident_blocks = 1;
  // Number of small blocks with the resources of one block of each size.
  std::array<int, kBlockSizes> small_blocks_of{1, 1, 1, 1, 1, 1};
};
// `use_clusters`: false, as on a device without them.
[[nodiscard]] absl::StatusOr<AlignLimits> QueryAlignLimits(Device& device, bool use_clusters);

// One launch. The cluster is at most the largest one.
[[nodiscard]] absl::Status LaunchAlign(Device& device, const AlignArguments& arguments,
                                       const LaunchShape& shape, cudaStream_t stream);

// Floats in page-locked host memory, and their destination in an array on the device.
struct GatherPiece {
  const float* from;  // aligned to 16 bytes
  uint64_t to;        // a multiple of 4
  uint64_t floats;    // a multiple of 4
};
// Brings `count` pieces, listed on the device, into the array by one launch: the device reads them
// over the bus, and the host copies nothing.
[[nodiscard]] absl::Status LaunchGather(Device& device, const GatherPiece* pieces, size_t count,
                                        float* array, cudaStream_t stream);

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_ALIGN_KERNEL_H_
