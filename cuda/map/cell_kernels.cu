// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cub/block/block_scan.cuh>

#include "cuda/map/cell_kernels.h"
#include "cuda/runtime/device.h"

namespace voxloc::cuda {
namespace {

constexpr uint32_t kThreads = 128;
constexpr uint32_t kPlacesPerThread = kBlockCells / kThreads;
constexpr uint32_t kMaxGrid = 1U << 20;
// In a scan of both at once: cells of the runs below, occupied places above.
constexpr int kOccupiedShift = 40;
using SumBefore = cub::BlockScan<uint64_t, kThreads, cub::BLOCK_SCAN_WARP_SCANS>;

// A cell of the map, if its points make one.
struct ComposedCell {
  uint32_t source_block;
  int32_t block[3];
  int32_t key[3];
  uint64_t count;
  double mean[3];
  double index[3];
  ndt::CellGaussian gaussian;
};

__device__ int32_t CellIndexOf(const CellRules& rules, double coordinate) {
  return __double2int_rd(__dmul_rn(coordinate, rules.inverse_cell_size));
}

// CellCentre plus the mean's offset from it, with nothing fused.
__device__ double FromCentre(const CellRules& rules, int32_t key, double offset) {
  return __dadd_rn(__dmul_rn(static_cast<double>(key) + 0.5, rules.cell_size_m), offset);
}

__device__ double FloatIndex(double origin, float sum, uint64_t count) {
  return __dadd_rn(origin, static_cast<double>(__fdiv_rn(sum, __ull2float_rn(count))));
}

// False where the moments make no Gaussian. `source` names the float sums, where they count.
__device__ bool Compose(const CellRules& rules, const SourceBlock& block, uint32_t place,
                        const ndt::CellMoments& moments, const SourceRun& run, uint32_t in_run,
                        ComposedCell& cell) {
  if (!ndt::ComputeGaussian(moments, rules.gaussian, cell.gaussian)) return false;
  const int32_t blocks[3] = {block.key.x, block.key.y, block.key.z};
  const ndt::Vector3<double>& offset = cell.gaussian.mean_from_centre;
  const double offsets[3] = {offset.x, offset.y, offset.z};
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) {
    cell.block[axis] = blocks[axis];
    cell.key[axis] = blocks[axis] * kBlockSize +
                     static_cast<int32_t>((place >> (axis * kBlockBits)) & (kBlockSize - 1U));
    cell.mean[axis] = FromCentre(rules, cell.key[axis], offsets[axis]);
    cell.index[axis] = cell.mean[axis];
  }
  cell.count = moments.count;
  if (rules.float_index) {
    const FloatSum sum = run.float_sums[in_run];
    cell.index[0] = FloatIndex(run.origin_m[0], sum.x, moments.count);
    cell.index[1] = FloatIndex(run.origin_m[1], sum.y, moments.count);
    cell.index[2] = FloatIndex(run.origin_m[2], sum.z, moments.count);
  }
  return true;
}

// Lists of Gaussians begin with these.
struct GaussianOutput {
  CellRules rules;
  IndexKeyLayout layout;
  GaussianArrays arrays;
  uint64_t no_key;

  __device__ void Clear(uint32_t entry) const {
    arrays.keys[entry] = no_key;
    arrays.numbers[entry] = entry;
  }

  __device__ void Write(uint32_t entry, const ComposedCell& cell) const {
    IndexedGaussian indexed{};
    int32_t block[3];
    uint64_t key = 0;
    uint32_t place = 0;
    bool fits = true;
#pragma unroll
    for (int axis = 2; axis >= 0; --axis) {
      const int32_t at = CellIndexOf(rules, cell.index[axis]);
      const double corner = __dmul_rn(static_cast<double>(at), rules.cell_size_m);
      indexed.index[axis] = static_cast<float>(__dsub_rn(cell.index[axis], corner));
      indexed.mean[axis] = static_cast<float>(__dsub_rn(cell.mean[axis], corner));
      block[axis] = at >> kBlockBits;
      const auto from_first =
          static_cast<uint32_t>(block[axis]) - static_cast<uint32_t>(layout.first[axis]);
      fits = fits && from_first < layout.size[axis];
      key = key << layout.bits[axis] | from_first;
      place = place << kBlockBits | (static_cast<uint32_t>(at) & (kBlockSize - 1U));
    }
    arrays.keys[entry] = fits ? key << (3 * kBlockBits) | place : no_key;
    arrays.numbers[entry] = entry;
    const ndt::Symmetric3<double>& b = cell.gaussian.information;
    const double information[6] = {b.xx, b.xy, b.xz, b.yy, b.yz, b.zz};
#pragma unroll
    for (int i = 0; i < 6; ++i) indexed.information[i] = static_cast<float>(information[i]);
    arrays.gaussians[entry] = indexed;
    atomicAdd(arrays.gaussians_per_block + cell.source_block, 1U);
    if (block[0] == cell.block[0] && block[1] == cell.block[1] && block[2] == cell.block[2]) return;
    const uint32_t at = atomicAdd(arrays.spill_count, 1U);
    if (at < arrays.spill_capacity) {
      arrays.spills[at] = {cell.source_block, {block[0], block[1], block[2]}};
    }
  }
};

struct CellOutput {
  CellBox box;
  PlainCell* cells;
  uint8_t* keep;

  __device__ void Clear(uint32_t entry) const { keep[entry] = 0; }

  __device__ void Write(uint32_t entry, const ComposedCell& cell) const {
    PlainCell plain{};
    bool outside = false;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
      outside = outside || cell.mean[axis] < box.min[axis] || cell.mean[axis] > box.max[axis];
      plain.mean[axis] = cell.mean[axis];
      plain.index[axis] = cell.index[axis];
    }
    keep[entry] = outside ? 0 : 1;
    if (outside) return;
    plain.key = {cell.key[0], cell.key[1], cell.key[2]};
    plain.count = cell.count;
    plain.covariance = cell.gaussian.covariance;
    plain.information = cell.gaussian.information;
    cells[entry] = plain;
  }
};

// What the threads of one block of cells share.
struct BlockPlan {
  uint32_t begin[kBlockCells + 1];  // of each place's cells among the block's entries
  uint32_t cursor[kBlockCells];
  uint16_t occupied[kBlockCells];  // the places that have cells
  uint32_t occupied_count;
  SumBefore::TempStorage sums;
};

// Brings the cells of all runs into the order of places, and within a place of tiles: `sources`
// gets the run and the cell in it of each. Ends with the threads in step.
__device__ void OrderSources(const SourceTable& table, const SourceBlock& block, uint2* sources,
                             BlockPlan& plan) {
  const uint32_t thread = threadIdx.x;
  for (uint32_t place = thread; place < kBlockCells; place += kThreads) plan.cursor[place] = 0;
  __syncthreads();
  for (uint32_t r = block.first_run; r < block.end_run; ++r) {
    const SourceRun& run = table.runs[r];
    for (uint32_t i = thread; i < run.cells; i += kThreads) {
      atomicAdd(&plan.cursor[run.places[i]], 1U);
    }
  }
  __syncthreads();

  // Exclusive sums over the places, a few of them a thread.
  uint64_t counts[kPlacesPerThread];
#pragma unroll
  for (uint32_t k = 0; k < kPlacesPerThread; ++k) {
    const uint32_t count = plan.cursor[thread * kPlacesPerThread + k];
    counts[k] = count + (count > 0 ? uint64_t{1} << kOccupiedShift : 0);
  }
  uint64_t before[kPlacesPerThread];
  uint64_t total = 0;
  SumBefore(plan.sums).ExclusiveSum(counts, before, total);
  constexpr uint64_t kCellsMask = (uint64_t{1} << kOccupiedShift) - 1;
#pragma unroll
  for (uint32_t k = 0; k < kPlacesPerThread; ++k) {
    const uint32_t place = thread * kPlacesPerThread + k;
    const auto first = static_cast<uint32_t>(before[k] & kCellsMask);
    plan.begin[place] = first;
    plan.cursor[place] = first;
    if (counts[k] != 0) plan.occupied[before[k] >> kOccupiedShift] = static_cast<uint16_t>(place);
  }
  if (thread == 0) {
    plan.begin[kBlockCells] = static_cast<uint32_t>(total & kCellsMask);
    plan.occupied_count = static_cast<uint32_t>(total >> kOccupiedShift);
  }
  __syncthreads();

  // A tile has a place at most once: no two threads use the same cursor at a time.
  for (uint32_t r = block.first_run; r < block.end_run; ++r) {
    const SourceRun& run = table.runs[r];
    for (uint32_t i = thread; i < run.cells; i += kThreads) {
      sources[plan.cursor[run.places[i]]++] = make_uint2(r, i);
    }
    __syncthreads();
  }
}

// One thread block for each block of cells.
template <typename Output>
__global__ void __launch_bounds__(kThreads)
    CellsKernel(SourceTable table, CellRules rules, uint2* all_sources, Output output) {
  __shared__ BlockPlan plan;
  for (uint32_t b = blockIdx.x; b < table.block_count; b += gridDim.x) {
    const SourceBlock block = table.blocks[b];
    uint2* const sources = all_sources + block.first_entry;
    OrderSources(table, block, sources, plan);
    const uint32_t room = plan.begin[kBlockCells];
    const uint32_t cells = rules.merge_tiles ? plan.occupied_count : room;
    for (uint32_t k = threadIdx.x; k < room; k += kThreads) {
      const uint32_t entry = block.first_entry + k;
      bool composed = false;
      ComposedCell cell;
      if (k < cells) {
        const uint32_t first = rules.merge_tiles ? plan.begin[plan.occupied[k]] : k;
        const uint32_t end = rules.merge_tiles ? plan.begin[plan.occupied[k] + 1] : k + 1;
        const uint2 source = sources[first];
        const SourceRun& run = table.runs[source.x];
        ndt::CellMoments moments = run.moments[source.y];
        for (uint32_t s = first + 1; s < end; ++s) {
          ndt::AddMoments(table.runs[sources[s].x].moments[sources[s].y], moments);
        }
        cell.source_block = b;
        composed = Compose(rules, block, run.places[source.y], moments, run, source.y, cell);
      }
      if (composed) {
        output.Write(entry, cell);
      } else {
        output.Clear(entry);
      }
    }
    __syncthreads();
  }
}

template <typename Output>
cudaError_t LaunchCells(const SourceTable& table, const CellRules& rules, uint2* sources,
                        const Output& output, cudaStream_t stream) {
  if (table.block_count == 0) return cudaSuccess;
  CellsKernel<Output><<<std::min(table.block_count, kMaxGrid), kThreads, 0, stream>>>(
      table, rules, sources, output);
  return cudaGetLastError();
}

__global__ void __launch_bounds__(kThreads)
    GatherKernel(const PlainCell* cells, const uint32_t* selected, uint32_t count,
                 PlainCell* gathered) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i < count) gathered[i] = cells[selected[i]];
}

}  // namespace

cudaError_t ComputeGaussians(const SourceTable& table, const CellRules& rules,
                             const IndexKeyLayout& layout, const GaussianArrays& arrays,
                             cudaStream_t stream) {
  VOXLOC_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(arrays.spill_count, 0, sizeof(uint32_t), stream));
  VOXLOC_RETURN_IF_CUDA_ERROR(
      cudaMemsetAsync(arrays.gaussians_per_block, 0, table.block_count * sizeof(uint32_t), stream));
  const GaussianOutput output = {rules, layout, arrays, uint64_t{1} << layout.KeyBits()};
  return LaunchCells(table, rules, arrays.sources, output, stream);
}

cudaError_t ComputeCells(const SourceTable& table, const CellRules& rules, const CellBox& box,
                         uint2* sources, PlainCell* cells, uint8_t* keep, cudaStream_t stream) {
  return LaunchCells(table, rules, sources, CellOutput{box, cells, keep}, stream);
}

cudaError_t GatherCells(const PlainCell* cells, const uint32_t* selected, uint32_t count,
                        PlainCell* gathered, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  GatherKernel<<<(count + kThreads - 1) / kThreads, kThreads, 0, stream>>>(cells, selected, count,
                                                                           gathered);
  return cudaGetLastError();
}

}  // namespace voxloc::cuda
