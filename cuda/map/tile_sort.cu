// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "cuda/cloud/scan_filter_kernels.h"
#include "cuda/map/tile_kernels.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/device_sort.h"
#include "cuda/runtime/grid_stride.cuh"

namespace voxloc::cuda {
namespace {

constexpr int kPlaceBits = 3 * kBlockBits;

__device__ bool IsFinitePoint(float x, float y, float z) {
  return isfinite(x) && isfinite(y) && isfinite(z);
}

__global__ void __launch_bounds__(kStrideThreads)
    SummarizeKernel(PointColumns points, PointSummary* summary) {
  __shared__ PointSummary gaussians_per_block;
  if (threadIdx.x == 0) gaussians_per_block = PointSummary{};
  __syncthreads();
  PointSummary mine{};
  for (uint64_t i = FirstIndex(); i < points.count; i += Stride()) {
    const float offset[3] = {points.x[i], points.y[i], points.z[i]};
    if (!IsFinitePoint(offset[0], offset[1], offset[2])) continue;
    ++mine.finite;
    for (int axis = 0; axis < 3; ++axis) {
      const uint32_t bits = OrderedBits(__float_as_uint(offset[axis]));
      mine.max[axis] = max(mine.max[axis], bits);
      mine.max_complement_of_min[axis] = max(mine.max_complement_of_min[axis], ~bits);
    }
  }
  // Whole numbers: their order does not matter. First over the warp, for the sake of the atomics.
  for (int distance = 16; distance > 0; distance /= 2) {
    mine.finite += __shfl_xor_sync(0xffffffffU, mine.finite, distance);
    for (int axis = 0; axis < 3; ++axis) {
      mine.max[axis] = max(mine.max[axis], __shfl_xor_sync(0xffffffffU, mine.max[axis], distance));
      mine.max_complement_of_min[axis] =
          max(mine.max_complement_of_min[axis],
              __shfl_xor_sync(0xffffffffU, mine.max_complement_of_min[axis], distance));
    }
  }
  if (threadIdx.x % 32 == 0 && mine.finite != 0) {
    atomicAdd(&gaussians_per_block.finite, mine.finite);
    for (int axis = 0; axis < 3; ++axis) {
      atomicMax(&gaussians_per_block.max[axis], mine.max[axis]);
      atomicMax(&gaussians_per_block.max_complement_of_min[axis], mine.max_complement_of_min[axis]);
    }
  }
  __syncthreads();
  if (threadIdx.x != 0 || gaussians_per_block.finite == 0) return;
  atomicAdd(&summary->finite, gaussians_per_block.finite);
  for (int axis = 0; axis < 3; ++axis) {
    atomicMax(&summary->max[axis], gaussians_per_block.max[axis]);
    atomicMax(&summary->max_complement_of_min[axis],
              gaussians_per_block.max_complement_of_min[axis]);
  }
}

// BuildTileMoments' index, operation by operation.
__device__ int32_t IndexOnAxis(const CellKeyLayout& layout, int axis, float offset) {
  const double coordinate = __dadd_rn(layout.origin_m[axis], static_cast<double>(offset));
  return __double2int_rd(__dmul_rn(coordinate, layout.inverse_cell_size));
}

template <typename Key>
__global__ void __launch_bounds__(kStrideThreads)
    KeyKernel(PointColumns points, CellKeyLayout layout, Key not_finite, Key* keys,
              uint32_t* order) {
  constexpr int32_t kMask = kBlockSize - 1;
  for (uint64_t i = FirstIndex(); i < points.count; i += Stride()) {
    const float offset[3] = {points.x[i], points.y[i], points.z[i]};
    Key key = not_finite;
    if (IsFinitePoint(offset[0], offset[1], offset[2])) {
      key = 0;
      uint32_t place = 0;
#pragma unroll
      for (int axis = 2; axis >= 0; --axis) {
        const int32_t index = IndexOnAxis(layout, axis, offset[axis]);
        key = key << layout.bits[axis] |
              static_cast<Key>((index >> kBlockBits) - layout.first_block[axis]);
        place = place << kBlockBits | static_cast<uint32_t>(index & kMask);
      }
      key = key << kPlaceBits | static_cast<Key>(place);
    }
    keys[i] = key;
    order[i] = static_cast<uint32_t>(i);
  }
}

template <typename Key>
__global__ void __launch_bounds__(kStrideThreads)
    MarkCellsKernel(const Key* keys, uint32_t finite, uint8_t* head) {
  for (uint64_t i = FirstIndex(); i < finite; i += Stride()) {
    head[i] = i == 0 || keys[i] != keys[i - 1] ? 1 : 0;
  }
}

template <typename Key>
__global__ void __launch_bounds__(kStrideThreads)
    MarkBlocksKernel(const Key* keys, const uint32_t* cell_begin, const uint32_t* cells,
                     uint32_t finite, uint8_t* head) {
  const uint32_t count = *cells;
  for (uint64_t i = FirstIndex(); i < finite; i += Stride()) {
    const bool begins = i < count && (i == 0 || keys[cell_begin[i]] >> kPlaceBits !=
                                                    keys[cell_begin[i - 1]] >> kPlaceBits);
    head[i] = begins ? 1 : 0;
  }
}

template <typename Key>
__global__ void __launch_bounds__(kStrideThreads)
    ListBlocksKernel(SortedPoints sorted, const uint32_t* block_begin, uint32_t count,
                     TileMoments::Block* blocks) {
  const Key* const keys = static_cast<const Key*>(sorted.keys);
  for (uint64_t i = FirstIndex(); i < count; i += Stride()) {
    const uint32_t begin = block_begin[i];
    Key key = keys[sorted.cell_begin[begin]] >> kPlaceBits;
    int32_t coordinate[3];
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
      const Key mask = (Key{1} << sorted.layout.bits[axis]) - 1;
      coordinate[axis] = sorted.layout.first_block[axis] + static_cast<int32_t>(key & mask);
      key >>= sorted.layout.bits[axis];
    }
    TileMoments::Block block;
    block.key.x = coordinate[0];
    block.key.y = coordinate[1];
    block.key.z = coordinate[2];
    block.begin = begin;
    block.end = i + 1 < count ? block_begin[i + 1] : sorted.cells;
    blocks[i] = block;
  }
}

template <typename Key>
cudaError_t Sort(const PointColumns& points, uint32_t finite, const CellKeyLayout& layout,
                 const CellArrays& arrays, const Scratch& scratch, SortedPoints* sorted,
                 cudaStream_t stream) {
  const int bits = layout.KeyBits();
  const bool all_finite = finite == points.count;
  SortBuffers<Key> buffers = {
      {static_cast<Key*>(arrays.keys[0]), static_cast<Key*>(arrays.keys[1])},
      {arrays.order[0], arrays.order[1]}};
  const Key not_finite = all_finite ? Key{0} : static_cast<Key>(Key{1} << bits);
  KeyKernel<Key><<<StrideBlocks(points.count), kStrideThreads, 0, stream>>>(
      points, layout, not_finite, buffers.keys[0], buffers.values[0]);
  VOXLOC_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  VOXLOC_RETURN_IF_CUDA_ERROR(
      SortByKey(scratch, buffers, points.count, all_finite ? bits : bits + 1, stream));

  const Key* const keys = buffers.keys[0];
  MarkCellsKernel<Key>
      <<<StrideBlocks(finite), kStrideThreads, 0, stream>>>(keys, finite, arrays.head);
  VOXLOC_RETURN_IF_CUDA_ERROR(
      SelectMarked(scratch, arrays.head, finite, arrays.cell_begin, arrays.counts, stream));
  MarkBlocksKernel<Key><<<StrideBlocks(finite), kStrideThreads, 0, stream>>>(
      keys, arrays.cell_begin, arrays.counts, finite, arrays.head);
  VOXLOC_RETURN_IF_CUDA_ERROR(
      SelectMarked(scratch, arrays.head, finite, arrays.block_begin, arrays.counts + 1, stream));
  *sorted = {points, layout, arrays.wide_keys, keys, buffers.values[0], finite, arrays.cell_begin,
             0};
  return cudaGetLastError();
}

}  // namespace

cudaError_t SummarizePoints(const PointColumns& points, PointSummary* summary,
                            cudaStream_t stream) {
  VOXLOC_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(summary, 0, sizeof(PointSummary), stream));
  SummarizeKernel<<<StrideBlocks(points.count), kStrideThreads, 0, stream>>>(points, summary);
  return cudaGetLastError();
}

cudaError_t SortIntoCells(const PointColumns& points, uint32_t finite, const CellKeyLayout& layout,
                          const CellArrays& arrays, const Scratch& scratch, SortedPoints* sorted,
                          cudaStream_t stream) {
  const auto sort = arrays.wide_keys ? Sort<uint64_t> : Sort<uint32_t>;
  return sort(points, finite, layout, arrays, scratch, sorted, stream);
}

cudaError_t ListBlocks(const SortedPoints& sorted, const uint32_t* block_begin, uint32_t count,
                       TileMoments::Block* blocks, cudaStream_t stream) {
  const auto kernel = sorted.wide_keys ? ListBlocksKernel<uint64_t> : ListBlocksKernel<uint32_t>;
  kernel<<<StrideBlocks(count), kStrideThreads, 0, stream>>>(sorted, block_begin, count, blocks);
  return cudaGetLastError();
}

}  // namespace voxloc::cuda
