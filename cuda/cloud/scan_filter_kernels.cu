// SPDX-License-Identifier: Apache-2.0

#include "cuda/cloud/scan_filter_kernels.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/grid_stride.cuh"

namespace voxloc::cuda {
namespace {

// A voxel's four sums (x, y, z, intensity) are one thread's each.
constexpr uint32_t kThreadsPerVoxel = 4;
// Values prefetched while a voxel is summed: its additions depend on each other, its loads do not.
constexpr uint32_t kAhead = 16;

// Eigen's squaredNorm of three doubles: with packets of two, the first two are added first.
__device__ double SquaredNorm(double x, double y, double z) {
  return __dadd_rn(__dadd_rn(__dmul_rn(x, x), __dmul_rn(y, y)), __dmul_rn(z, z));
}

// The comparisons are written as in filters.cc, which matters for NaN.
__device__ bool WithinLimits(const ScanLimits& limits, double x, double y, double z) {
  const double squared = SquaredNorm(x, y, z);
  if (squared < limits.min_squared_m2 || squared > limits.max_squared_m2) return false;
  if (z < limits.min_height_m || z > limits.max_height_m) return false;
  if (!limits.has_box) return true;
  return x >= limits.box_min_m[0] && y >= limits.box_min_m[1] && z >= limits.box_min_m[2] &&
         x <= limits.box_max_m[0] && y <= limits.box_max_m[1] && z <= limits.box_max_m[2];
}

__global__ void __launch_bounds__(kStrideThreads)
    ClassifyKernel(CloudColumns cloud, uint32_t points, ScanLimits limits, uint8_t* keep,
                   ScanSummary* summary) {
  __shared__ ScanSummary of_block;
  if (threadIdx.x == 0) of_block = ScanSummary{};
  __syncthreads();
  ScanSummary mine{};
  for (uint64_t i = FirstIndex(); i < points; i += Stride()) {
    const float offset[3] = {cloud.x[i], cloud.y[i], cloud.z[i]};
    bool kept = false;
    if (!isfinite(offset[0]) || !isfinite(offset[1]) || !isfinite(offset[2])) {
      ++mine.not_finite;
    } else if (!WithinLimits(limits, __dadd_rn(limits.origin_m[0], static_cast<double>(offset[0])),
                             __dadd_rn(limits.origin_m[1], static_cast<double>(offset[1])),
                             __dadd_rn(limits.origin_m[2], static_cast<double>(offset[2])))) {
      ++mine.out_of_limits;
    } else {
      kept = true;
      ++mine.kept;
      for (int axis = 0; axis < 3; ++axis) {
        const uint32_t bits = OrderedBits(__float_as_uint(offset[axis]));
        mine.max[axis] = max(mine.max[axis], bits);
        mine.max_complement_of_min[axis] = max(mine.max_complement_of_min[axis], ~bits);
      }
    }
    keep[i] = kept ? 1 : 0;
  }
  // Whole numbers: their order does not matter.
  if (mine.not_finite != 0) atomicAdd(&of_block.not_finite, mine.not_finite);
  if (mine.out_of_limits != 0) atomicAdd(&of_block.out_of_limits, mine.out_of_limits);
  if (mine.kept != 0) {
    atomicAdd(&of_block.kept, mine.kept);
    for (int axis = 0; axis < 3; ++axis) {
      atomicMax(&of_block.max[axis], mine.max[axis]);
      atomicMax(&of_block.max_complement_of_min[axis], mine.max_complement_of_min[axis]);
    }
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  atomicAdd(&summary->not_finite, of_block.not_finite);
  atomicAdd(&summary->out_of_limits, of_block.out_of_limits);
  atomicAdd(&summary->kept, of_block.kept);
  for (int axis = 0; axis < 3; ++axis) {
    atomicMax(&summary->max[axis], of_block.max[axis]);
    atomicMax(&summary->max_complement_of_min[axis], of_block.max_complement_of_min[axis]);
  }
}

__global__ void __launch_bounds__(kStrideThreads)
    GatherKernel(CloudColumns cloud, const uint32_t* selected, uint32_t points, float4* kept) {
  for (uint64_t i = FirstIndex(); i < points; i += Stride()) {
    const uint32_t from = selected[i];
    kept[i] = make_float4(cloud.x[from], cloud.y[from], cloud.z[from],
                          cloud.intensity != nullptr ? cloud.intensity[from] : 0.0F);
  }
}

__device__ uint64_t IndexOnAxis(const VoxelLattice& lattice, int axis, float offset) {
  const double point = __dadd_rn(lattice.origin_m[axis], static_cast<double>(offset));
  const double index = floor(__ddiv_rn(point, lattice.leaf_m));
  return static_cast<uint64_t>(__dsub_rn(index, lattice.first_index[axis]));
}

__global__ void __launch_bounds__(kStrideThreads)
    KeyKernel(const float4* kept, uint32_t points, VoxelLattice lattice, uint64_t* keys,
              uint32_t* order) {
  for (uint64_t i = FirstIndex(); i < points; i += Stride()) {
    const float4 point = kept[i];
    uint64_t key = IndexOnAxis(lattice, 0, point.x);
    key = key << lattice.bits[1] | IndexOnAxis(lattice, 1, point.y);
    key = key << lattice.bits[2] | IndexOnAxis(lattice, 2, point.z);
    keys[i] = key;
    order[i] = static_cast<uint32_t>(i);
  }
}

// The sort is stable, so the first point of a voxel in sorted order is the one that met it first.
__global__ void __launch_bounds__(kStrideThreads)
    MarkFirstKernel(const uint64_t* keys, const uint32_t* order, uint32_t points, uint8_t* head,
                    uint32_t* first_met) {
  for (uint64_t i = FirstIndex(); i < points; i += Stride()) {
    const bool begins = i == 0 || keys[i] != keys[i - 1];
    head[i] = begins ? 1 : 0;
    first_met[order[i]] = begins ? 1U : 0U;
  }
}

__device__ float* Column(const CloudColumns& cloud, uint32_t column) {
  switch (column) {
    case 0:
      return cloud.x;
    case 1:
      return cloud.y;
    case 2:
      return cloud.z;
    default:
      return cloud.intensity;
  }
}

__global__ void __launch_bounds__(kStrideThreads)
    CentroidKernel(const float4* kept, uint32_t points, const uint32_t* order,
                   const uint32_t* start, const uint32_t* rank, const uint32_t* voxels_found,
                   CloudColumns cloud) {
  const float* const values = reinterpret_cast<const float*>(kept);
  const uint32_t column = threadIdx.x % kThreadsPerVoxel;
  float* const centroids = Column(cloud, column);
  if (centroids == nullptr) return;
  const uint32_t voxels = *voxels_found;
  for (uint64_t voxel = FirstIndex() / kThreadsPerVoxel; voxel < voxels;
       voxel += Stride() / kThreadsPerVoxel) {
    const uint32_t begin = start[voxel];
    const uint32_t end = voxel + 1 < voxels ? start[voxel + 1] : points;
    double sum = 0.0;
    for (uint32_t chunk = begin; chunk < end; chunk += kAhead) {
      float ahead[kAhead];
#pragma unroll
      for (uint32_t k = 0; k < kAhead; ++k) {
        // Adding the zero beyond the end has no effect: a sum that began at +0 is never -0.
        ahead[k] = chunk + k < end
                       ? values[static_cast<uint64_t>(order[chunk + k]) * kThreadsPerVoxel + column]
                       : 0.0F;
      }
#pragma unroll
      for (uint32_t k = 0; k < kAhead; ++k) sum = __dadd_rn(sum, static_cast<double>(ahead[k]));
    }
    const double mean = __ddiv_rn(sum, static_cast<double>(end - begin));
    centroids[rank[order[begin]]] = __double2float_rn(mean);
  }
}

__global__ void __launch_bounds__(kStrideThreads)
    SplitKernel(const float4* kept, uint32_t points, CloudColumns cloud) {
  for (uint64_t i = FirstIndex(); i < points; i += Stride()) {
    const float4 point = kept[i];
    cloud.x[i] = point.x;
    cloud.y[i] = point.y;
    cloud.z[i] = point.z;
    if (cloud.intensity != nullptr) cloud.intensity[i] = point.w;
  }
}

}  // namespace

cudaError_t ClassifyPoints(const CloudColumns& cloud, uint32_t points, const ScanLimits& limits,
                           uint8_t* keep, ScanSummary* summary, cudaStream_t stream) {
  VOXLOC_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(summary, 0, sizeof(ScanSummary), stream));
  ClassifyKernel<<<StrideBlocks(points), kStrideThreads, 0, stream>>>(cloud, points, limits, keep,
                                                                      summary);
  return cudaGetLastError();
}

cudaError_t KeepSelected(const CloudColumns& cloud, uint32_t points, const uint8_t* keep,
                         uint32_t kept_points, uint32_t* selected, uint32_t* selected_count,
                         float4* kept, const Scratch& scratch, cudaStream_t stream) {
  VOXLOC_RETURN_IF_CUDA_ERROR(
      SelectMarked(scratch, keep, points, selected, selected_count, stream));
  GatherKernel<<<StrideBlocks(kept_points), kStrideThreads, 0, stream>>>(cloud, selected,
                                                                         kept_points, kept);
  return cudaGetLastError();
}

cudaError_t ThinByVoxels(const float4* kept, uint32_t points, const VoxelLattice& lattice,
                         VoxelArrays arrays, const Scratch& scratch, const CloudColumns& cloud,
                         ScanSummary* summary, cudaStream_t stream) {
  const uint32_t blocks = StrideBlocks(points);
  KeyKernel<<<blocks, kStrideThreads, 0, stream>>>(kept, points, lattice, arrays.order.keys[0],
                                                   arrays.order.values[0]);
  VOXLOC_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  const int key_bits = lattice.bits[0] + lattice.bits[1] + lattice.bits[2];
  if (key_bits > 0) {
    VOXLOC_RETURN_IF_CUDA_ERROR(SortByKey(scratch, arrays.order, points, key_bits, stream));
  }
  const uint32_t* const order = arrays.order.values[0];
  MarkFirstKernel<<<blocks, kStrideThreads, 0, stream>>>(arrays.order.keys[0], order, points,
                                                         arrays.head, arrays.rank);
  VOXLOC_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  VOXLOC_RETURN_IF_CUDA_ERROR(ExclusiveSum(scratch, arrays.rank, points, stream));
  VOXLOC_RETURN_IF_CUDA_ERROR(
      SelectMarked(scratch, arrays.head, points, arrays.start, &summary->voxels, stream));
  CentroidKernel<<<StrideBlocks(static_cast<uint64_t>(points) * kThreadsPerVoxel), kStrideThreads,
                   0, stream>>>(kept, points, order, arrays.start, arrays.rank, &summary->voxels,
                                cloud);
  return cudaGetLastError();
}

cudaError_t SplitColumns(const float4* kept, uint32_t points, const CloudColumns& cloud,
                         cudaStream_t stream) {
  SplitKernel<<<StrideBlocks(points), kStrideThreads, 0, stream>>>(kept, points, cloud);
  return cudaGetLastError();
}

}  // namespace voxloc::cuda
