// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "cuda/map/tile_kernels.h"

namespace voxloc::cuda {
namespace {

constexpr uint32_t kWarp = 32;
constexpr uint32_t kAllLanes = 0xffffffffU;
constexpr uint32_t kThreads = 256;
// Cells of no more points are summed by so many lanes, and those of more than the other number by a
// whole thread block instead of a warp. The order of a short cell's sum is that of a whole warp.
constexpr uint32_t kShortCell = 8;
constexpr uint32_t kLongCell = 4096;
constexpr uint32_t kCellsPerBlock = kThreads / kShortCell;
constexpr uint32_t kLongThreads = 512;
constexpr uint32_t kMaxLongBlocks = 1024;
constexpr uint32_t kFloatThreads = 128;
// Points on their way while a float32 sum goes on: its additions depend on each other.
constexpr uint32_t kStaged = 4 * kWarp;
constexpr int kPlaceBits = 3 * kBlockBits;
constexpr uint32_t kPlaceMask = kBlockCells - 1;

struct CellRange {
  uint32_t begin;
  uint32_t end;
};

__device__ CellRange RangeOf(const SortedPoints& sorted, uint32_t cell) {
  return {sorted.cell_begin[cell],
          cell + 1 < sorted.cells ? sorted.cell_begin[cell + 1] : sorted.finite};
}

__device__ uint64_t KeyAt(const SortedPoints& sorted, uint32_t i) {
  return sorted.wide_keys ? static_cast<const uint64_t*>(sorted.keys)[i]
                          : static_cast<const uint32_t*>(sorted.keys)[i];
}

// The cell's centre relative to the tile's origin, as BuildTileMoments computes it.
__device__ ndt::Vector3<double> CentreFromOrigin(const CellKeyLayout& layout, uint64_t key) {
  uint64_t block = key >> kPlaceBits;
  double centre[3];
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) {
    const uint64_t mask = (uint64_t{1} << layout.bits[axis]) - 1;
    const int32_t first_cell =
        (layout.first_block[axis] + static_cast<int32_t>(block & mask)) * kBlockSize;
    block >>= layout.bits[axis];
    const auto place = static_cast<uint32_t>(key >> (axis * kBlockBits)) & (kBlockSize - 1U);
    const double base =
        __dsub_rn(__dmul_rn(static_cast<double>(first_cell) + 0.5, layout.cell_size_m),
                  layout.origin_m[axis]);
    centre[axis] = __dadd_rn(base, __dmul_rn(layout.cell_size_m, static_cast<double>(place)));
  }
  return {centre[0], centre[1], centre[2]};
}

// The moments of every `step`-th point of the range.
__device__ ndt::CellMoments SumOf(const SortedPoints& sorted, const CellRange& range,
                                  const ndt::Vector3<double>& centre, uint32_t first,
                                  uint32_t step) {
  ndt::CellMoments moments;
#pragma unroll 4
  for (uint32_t i = range.begin + first; i < range.end; i += step) {
    const uint32_t from = sorted.order[i];
    ndt::AddPoint({static_cast<double>(sorted.points.x[from]) - centre.x,
                   static_cast<double>(sorted.points.y[from]) - centre.y,
                   static_cast<double>(sorted.points.z[from]) - centre.z},
                  moments);
  }
  return moments;
}

// Over groups of so many neighbouring lanes.
template <uint32_t kLanes>
__device__ double SumOverLanes(double value) {
#pragma unroll
  for (uint32_t distance = kLanes / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, static_cast<int>(distance));
  }
  return value;
}

// All but the count.
template <uint32_t kLanes>
__device__ void SumOverLanes(ndt::CellMoments& moments) {
  moments.sum.x = SumOverLanes<kLanes>(moments.sum.x);
  moments.sum.y = SumOverLanes<kLanes>(moments.sum.y);
  moments.sum.z = SumOverLanes<kLanes>(moments.sum.z);
  moments.outer.xx = SumOverLanes<kLanes>(moments.outer.xx);
  moments.outer.xy = SumOverLanes<kLanes>(moments.outer.xy);
  moments.outer.xz = SumOverLanes<kLanes>(moments.outer.xz);
  moments.outer.yy = SumOverLanes<kLanes>(moments.outer.yy);
  moments.outer.yz = SumOverLanes<kLanes>(moments.outer.yz);
  moments.outer.zz = SumOverLanes<kLanes>(moments.outer.zz);
}

// The cells of a warp, one for each group of kShortCell lanes, which adds up the cell's points if
// they are no more than its lanes. All lanes of the warp add up each of the other cells.
__global__ void __launch_bounds__(kThreads)
    MomentsKernel(SortedPoints sorted, uint16_t* places, ndt::CellMoments* moments) {
  const uint32_t lane = threadIdx.x % kWarp;
  const uint32_t lane_of_cell = lane % kShortCell;
  const uint32_t cell = blockIdx.x * kCellsPerBlock + threadIdx.x / kShortCell;
  const bool exists = cell < sorted.cells;
  const CellRange range = exists ? RangeOf(sorted, cell) : CellRange{0, 0};
  const uint32_t points = range.end - range.begin;
  const uint64_t key = exists ? KeyAt(sorted, range.begin) : 0;
  if (exists && lane_of_cell == 0) places[cell] = static_cast<uint16_t>(key & kPlaceMask);

  const bool is_short = points <= kShortCell;
  const CellRange of_group = {range.begin, is_short ? range.end : range.begin};
  ndt::CellMoments sum =
      SumOf(sorted, of_group, CentreFromOrigin(sorted.layout, key), lane_of_cell, kShortCell);
  SumOverLanes<kShortCell>(sum);
  if (exists && is_short && lane_of_cell == 0) {
    sum.count = points;
    moments[cell] = sum;
  }
  uint32_t others = __ballot_sync(kAllLanes, lane_of_cell == 0 && !is_short && points <= kLongCell);
  for (; others != 0; others &= others - 1) {
    const int from = __ffs(static_cast<int>(others)) - 1;
    const CellRange whole = {__shfl_sync(kAllLanes, range.begin, from),
                             __shfl_sync(kAllLanes, range.end, from)};
    const uint64_t key_of_cell = KeyAt(sorted, whole.begin);
    ndt::CellMoments of_cell =
        SumOf(sorted, whole, CentreFromOrigin(sorted.layout, key_of_cell), lane, kWarp);
    SumOverLanes<kWarp>(of_cell);
    if (static_cast<int>(lane) != from) continue;
    of_cell.count = points;
    moments[cell] = of_cell;
  }
}

// Of one cell, by a whole thread block.
__device__ void SumLongCell(const SortedPoints& sorted, uint32_t cell, ndt::CellMoments* moments) {
  constexpr uint32_t kWarps = kLongThreads / kWarp;
  static_assert(kWarps <= kWarp, "one warp sums the sums of all");
  __shared__ double sums[kWarps][9];
  const uint32_t lane = threadIdx.x % kWarp;
  const uint32_t warp = threadIdx.x / kWarp;
  const CellRange range = RangeOf(sorted, cell);
  const uint64_t key = KeyAt(sorted, range.begin);
  ndt::CellMoments sum =
      SumOf(sorted, range, CentreFromOrigin(sorted.layout, key), threadIdx.x, kLongThreads);
  SumOverLanes<kWarp>(sum);
  if (lane == 0) {
    const double entries[9] = {sum.sum.x,    sum.sum.y,    sum.sum.z,    sum.outer.xx, sum.outer.xy,
                               sum.outer.xz, sum.outer.yy, sum.outer.yz, sum.outer.zz};
#pragma unroll
    for (int i = 0; i < 9; ++i) sums[warp][i] = entries[i];
  }
  __syncthreads();
  if (warp == 0) {
    ndt::CellMoments total;
    if (lane < kWarps) {
      const double(&s)[9] = sums[lane];
      total.sum = {s[0], s[1], s[2]};
      total.outer = {s[3], s[4], s[5], s[6], s[7], s[8]};
    }
    SumOverLanes<kWarp>(total);
    total.count = range.end - range.begin;
    if (lane == 0) moments[cell] = total;
  }
  __syncthreads();
}

// The long cells. Each thread of a block looks at some, and the block adds up those that it finds.
__global__ void __launch_bounds__(kLongThreads)
    LongMomentsKernel(SortedPoints sorted, ndt::CellMoments* moments) {
  __shared__ uint32_t found[kLongThreads];
  __shared__ uint32_t count;
  const uint32_t cells_of_round = kLongThreads * gridDim.x;
  for (uint32_t first = blockIdx.x; first < sorted.cells; first += cells_of_round) {
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    const uint32_t cell = first + threadIdx.x * gridDim.x;
    if (cell < sorted.cells) {
      const CellRange range = RangeOf(sorted, cell);
      // In any order: every cell is summed by itself.
      if (range.end - range.begin > kLongCell) found[atomicAdd(&count, 1)] = cell;
    }
    __syncthreads();
    for (uint32_t k = 0; k < count; ++k) SumLongCell(sorted, found[k], moments);
    __syncthreads();
  }
}

// One warp a cell. All lanes fetch points, three add: one for each axis.
__global__ void __launch_bounds__(kFloatThreads)
    FloatSumsKernel(SortedPoints sorted, FloatSum* sums) {
  __shared__ float staged[kFloatThreads / kWarp][3][kStaged];
  const uint32_t warp = threadIdx.x / kWarp;
  const uint32_t lane = threadIdx.x % kWarp;
  const uint32_t cell = blockIdx.x * (kFloatThreads / kWarp) + warp;
  if (cell >= sorted.cells) return;
  const CellRange range = RangeOf(sorted, cell);
  float sum = 0.0F;
  for (uint32_t first = range.begin; first < range.end; first += kStaged) {
    const uint32_t count = min(kStaged, range.end - first);
    __syncwarp();
#pragma unroll
    for (uint32_t k = 0; k < kStaged; k += kWarp) {
      if (k + lane >= count) continue;
      const uint32_t from = sorted.order[first + k + lane];
      staged[warp][0][k + lane] = sorted.points.x[from];
      staged[warp][1][k + lane] = sorted.points.y[from];
      staged[warp][2][k + lane] = sorted.points.z[from];
    }
    __syncwarp();
    if (lane < 3) {
#pragma unroll 8
      for (uint32_t k = 0; k < count; ++k) sum = __fadd_rn(sum, staged[warp][lane][k]);
    }
  }
  if (lane < 3) reinterpret_cast<float*>(sums + cell)[lane] = sum;
}
static_assert(sizeof(FloatSum) == 3 * sizeof(float), "x, y, z and nothing else");

}  // namespace

cudaError_t SumMoments(const SortedPoints& sorted, uint16_t* places, ndt::CellMoments* moments,
                       cudaStream_t stream) {
  MomentsKernel<<<(sorted.cells + kCellsPerBlock - 1) / kCellsPerBlock, kThreads, 0, stream>>>(
      sorted, places, moments);
  if (sorted.finite > kLongCell) {
    LongMomentsKernel<<<std::min(sorted.cells, kMaxLongBlocks), kLongThreads, 0, stream>>>(sorted,
                                                                                           moments);
  }
  return cudaGetLastError();
}

cudaError_t SumFloats(const SortedPoints& sorted, FloatSum* sums, cudaStream_t stream) {
  constexpr uint32_t kWarpsPerBlock = kFloatThreads / kWarp;
  FloatSumsKernel<<<(sorted.cells + kWarpsPerBlock - 1) / kWarpsPerBlock, kFloatThreads, 0,
                    stream>>>(sorted, sums);
  return cudaGetLastError();
}

}  // namespace voxloc::cuda
