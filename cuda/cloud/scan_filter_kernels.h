// SPDX-License-Identifier: Apache-2.0
//
// The steps of ScanFilter on the device. Each queues its work on `stream` and returns; what the
// pointers name must stay until the work is done. All pointers are to device memory. Functions of
// no state: thread-safe.
//
// Arithmetic that decides is that of core/cloud, operation by operation, with nothing fused.

#ifndef VOXLOC_CUDA_CLOUD_SCAN_FILTER_KERNELS_H_
#define VOXLOC_CUDA_CLOUD_SCAN_FILTER_KERNELS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/runtime/device_sort.h"

namespace voxloc::cuda {

// A cloud in columns; `intensity` is null where there is none.
struct CloudColumns {
  float* x = nullptr;
  float* y = nullptr;
  float* z = nullptr;
  float* intensity = nullptr;
};

// FilterOptions as the kernel needs them.
struct ScanLimits {
  double origin_m[3];
  double min_squared_m2;
  double max_squared_m2;
  double min_height_m;
  double max_height_m;
  bool has_box;
  double box_min_m[3];
  double box_max_m[3];
};

// A float as an unsigned number of the same order, and back.
__host__ __device__ inline uint32_t OrderedBits(uint32_t float_bits) {
  return (float_bits & 0x80000000U) != 0U ? ~float_bits : float_bits | 0x80000000U;
}
__host__ __device__ inline uint32_t FloatBits(uint32_t ordered_bits) {
  return (ordered_bits & 0x80000000U) != 0U ? ordered_bits & 0x7fffffffU : ~ordered_bits;
}

// The bounds of points' offsets as OrderedBits, the lower ones complemented so that both are
// maxima. All zero: of no point.
struct OffsetBounds {
  uint32_t max_complement_of_min[3];
  uint32_t max[3];
};

// What became of the points; the bounds are of those kept. All zero at first.
struct ScanSummary : OffsetBounds {
  uint32_t not_finite;
  uint32_t out_of_limits;
  uint32_t kept;
  uint32_t voxels;
};

// The grid of CPU's VoxelDownsample: point / leaf, rounded down, less the lowest voxel's index.
// Indices along an axis fit into `bits` of it.
struct VoxelLattice {
  double origin_m[3];
  double leaf_m;
  double first_index[3];
  int bits[3];
};

// Work arrays for `points` points.
struct VoxelArrays {
  SortBuffers<uint64_t> order;  // points by voxel
  uint32_t* rank;               // by point: 1 where a voxel is first met; then how many were before
  uint8_t* head;                // by place in sorted order: 1 where a voxel's points begin
  uint32_t* start;              // by voxel in sorted order: the place of its first point
};

// Marks in `keep` the points that are finite and within the limits, and counts.
cudaError_t ClassifyPoints(const CloudColumns& cloud, uint32_t points, const ScanLimits& limits,
                           uint8_t* keep, ScanSummary* summary, cudaStream_t stream);

// Writes the marked points to `kept`, in their order (x, y, z, intensity); `selected` is room for
// their indices.
cudaError_t KeepSelected(const CloudColumns& cloud, uint32_t points, const uint8_t* keep,
                         uint32_t kept_points, uint32_t* selected, uint32_t* selected_count,
                         float4* kept, const Scratch& scratch, cudaStream_t stream);

// Writes the centroids of occupied voxels to `cloud`, in the order in which the points meet them,
// and their number to summary->voxels. `points` is at least 1.
cudaError_t ThinByVoxels(const float4* kept, uint32_t points, const VoxelLattice& lattice,
                         VoxelArrays arrays, const Scratch& scratch, const CloudColumns& cloud,
                         ScanSummary* summary, cudaStream_t stream);

// The points in columns again.
cudaError_t SplitColumns(const float4* kept, uint32_t points, const CloudColumns& cloud,
                         cudaStream_t stream);

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_CLOUD_SCAN_FILTER_KERNELS_H_
