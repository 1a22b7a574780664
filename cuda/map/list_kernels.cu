// SPDX-License-Identifier: Apache-2.0

#include <cuda_fp16.h>

#include <algorithm>
#include <cub/block/block_scan.cuh>

#include "cuda/map/cell_kernels.h"

namespace voxloc::cuda {
namespace {

// One thread for each lattice cell of a block.
constexpr uint32_t kThreads = kBlockCells;
constexpr uint32_t kWarp = 32;
constexpr uint32_t kWarps = kThreads / kWarp;
using SumBefore = cub::BlockScan<uint32_t, kThreads, cub::BLOCK_SCAN_WARP_SCANS>;
constexpr int kNeighbors = 27;
constexpr int kCentre = 13;
// A block and the cells around it.
constexpr int kHaloSize = kBlockSize + 2;
constexpr uint32_t kHaloCells = kHaloSize * kHaloSize * kHaloSize;
static_assert(kHaloCells <= 2 * kThreads, "two halo cells a thread");
constexpr int kPlaceBits = 3 * kBlockBits;
constexpr uint64_t kPlaceMask = kBlockCells - 1;
// Candidates are kept up to this much beyond the cell size, so that rounding drops none.
constexpr float kReachMargin = 1.0001F;
constexpr uint32_t kMaxGrid = 1U << 20;

struct Halo {
  uint32_t run_begin[kNeighbors];
  uint32_t run_end[kNeighbors];
  uint32_t begin[kHaloCells];
  uint32_t end[kHaloCells];
  uint32_t first_record[kHaloCells];  // in the chunk
  // A bit for each cell with a Gaussian, of rows along x.
  uint32_t occupied[kHaloSize * kHaloSize];
  float first_index[3][kHaloCells];  // of the first Gaussian of each cell; few cells have more
  SumBefore::TempStorage sums;
};

// The first place of a key that is not below `key`, by all lanes of a warp: each step leaves a
// 33rd.
__device__ uint32_t LowerBound(const uint64_t* keys, uint32_t count, uint64_t key) {
  const uint32_t lane = threadIdx.x % kWarp;
  uint32_t begin = 0;
  uint32_t end = count;
  while (begin < end) {
    const uint32_t part = (end - begin) / (kWarp + 1);
    // With few left, one lane each.
    const uint32_t at = part == 0 ? begin + lane : begin + (lane + 1) * part;
    const bool below = at < end && keys[at] < key;
    const auto lanes_below = static_cast<uint32_t>(__popc(__ballot_sync(0xffffffffU, below)));
    if (part == 0) return begin + lanes_below;
    const uint32_t first = begin;
    if (lanes_below > 0) begin = first + lanes_below * part + 1;
    if (lanes_below < kWarp) end = first + (lanes_below + 1) * part;
  }
  return begin;
}

// Finds the sorted runs of the 27 blocks and of the halo's cells in them.
__device__ void FindHalo(const SortedGaussians& sorted, const CellKey& target, Halo& halo) {
  for (uint32_t h = threadIdx.x; h < kHaloCells; h += kThreads) {
    halo.begin[h] = 0;
    halo.end[h] = 0;
    if (h < kHaloSize * kHaloSize) halo.occupied[h] = 0;
  }
  for (int n = static_cast<int>(threadIdx.x / kWarp); n < kNeighbors; n += kWarps) {
    const int32_t block[3] = {target.x + n % 3 - 1, target.y + n / 3 % 3 - 1, target.z + n / 9 - 1};
    uint64_t key = 0;
    bool inside = true;
#pragma unroll
    for (int axis = 2; axis >= 0; --axis) {
      const auto from_first =
          static_cast<uint32_t>(block[axis]) - static_cast<uint32_t>(sorted.layout.first[axis]);
      inside = inside && from_first < sorted.layout.size[axis];
      key = key << sorted.layout.bits[axis] | from_first;
    }
    uint32_t begin = 0;
    uint32_t end = 0;
    if (inside) {
      begin = LowerBound(sorted.keys, sorted.count, key << kPlaceBits);
      end = LowerBound(sorted.keys, sorted.count, (key + 1) << kPlaceBits);
    }
    if (threadIdx.x % kWarp == 0) {
      halo.run_begin[n] = begin;
      halo.run_end[n] = end;
    }
  }
  __syncthreads();
  for (int n = static_cast<int>(threadIdx.x / kWarp); n < kNeighbors; n += kWarps) {
    const uint32_t begin = halo.run_begin[n];
    const uint32_t end = halo.run_end[n];
    const int corner[3] = {(n % 3 - 1) * kBlockSize + 1, (n / 3 % 3 - 1) * kBlockSize + 1,
                           (n / 9 - 1) * kBlockSize + 1};
    for (uint32_t j = begin + threadIdx.x % kWarp; j < end; j += kWarp) {
      const uint64_t key = sorted.keys[j];
      const auto place = static_cast<int>(key & kPlaceMask);
      const int x = corner[0] + (place & (kBlockSize - 1));
      const int y = corner[1] + ((place >> kBlockBits) & (kBlockSize - 1));
      const int z = corner[2] + (place >> (2 * kBlockBits));
      if (x < 0 || x >= kHaloSize || y < 0 || y >= kHaloSize || z < 0 || z >= kHaloSize) continue;
      const int h = x + kHaloSize * (y + kHaloSize * z);
      if (j == begin || sorted.keys[j - 1] != key) {
        halo.begin[h] = j;
        atomicOr(&halo.occupied[y + kHaloSize * z], 1U << x);
        const IndexedGaussian& first = sorted.gaussians[sorted.numbers[j]];
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) halo.first_index[axis][h] = first.index[axis];
      }
      if (j + 1 == end || sorted.keys[j + 1] != key) halo.end[h] = j + 1;
    }
  }
  __syncthreads();
}

// Where a Gaussian of a halo cell is found, metres from the low corner of the cell.
struct IndexPosition {
  float coordinate[3];
};
__device__ IndexPosition IndexOf(const SortedGaussians& sorted, const Halo& halo, int h,
                                 uint32_t j) {
  if (j == halo.begin[h]) {
    return {{halo.first_index[0][h], halo.first_index[1][h], halo.first_index[2][h]}};
  }
  const float(&index)[3] = sorted.gaussians[sorted.numbers[j]].index;
  return {{index[0], index[1], index[2]}};
}

// Whether a point in a cell can be matched with a Gaussian whose index cell lies (dx, dy, dz) from
// it. Searches that ask for neighbours instead of distances reach the six that share a face.
__device__ bool CanMatch(const SortedGaussians& sorted, const IndexPosition& at, int dx, int dy,
                         int dz) {
  if (abs(dx) + abs(dy) + abs(dz) <= 1) return true;
  const int d[3] = {dx, dy, dz};
  const float size_m = sorted.cell_size_m;
  float squared = 0.0F;
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) {
    const float from_corner = at.coordinate[axis] + static_cast<float>(d[axis]) * size_m;
    const float gap = fmaxf(fmaxf(-from_corner, from_corner - size_m), 0.0F);
    squared += gap * gap;
  }
  const float reach_m = kReachMargin * size_m;
  return squared < reach_m * reach_m;
}

// How far a halo coordinate lies outside the block: -1, 0 or 1.
__device__ int Outside(int coordinate) {
  return coordinate == 0 ? -1 : coordinate == kHaloSize - 1 ? 1 : 0;
}

// Whether any cell of the block has the Gaussian of this halo cell in its list. If one has, the
// cell nearest to it has, so that one is asked.
__device__ bool IsUsed(const SortedGaussians& sorted, const IndexPosition& at, int x, int y,
                       int z) {
  return CanMatch(sorted, at, Outside(x), Outside(y), Outside(z));
}

// Calls visit(at, record, dx, dy, dz) for each Gaussian in the list of the cell, in order. `record`
// is its place among the chunk's records.
template <typename Visit>
__device__ void WalkList(const SortedGaussians& sorted, const Halo& halo, uint32_t place,
                         const Visit& visit) {
  const int x = 1 + static_cast<int>(place & (kBlockSize - 1));
  const int y = 1 + static_cast<int>((place >> kBlockBits) & (kBlockSize - 1));
  const int z = 1 + static_cast<int>(place >> (2 * kBlockBits));
  uint32_t near = 0;  // a bit for each of the 27 cells with a Gaussian
#pragma unroll
  for (int row = 0; row < kNeighbors / 3; ++row) {
    const uint32_t cells = halo.occupied[(y + row % 3 - 1) + kHaloSize * (z + row / 3 - 1)];
    near |= (cells >> (x - 1) & 7U) << (3 * row);
  }
  for (; near != 0; near &= near - 1) {
    const int n = __ffs(static_cast<int>(near)) - 1;
    const int dx = n % 3 - 1;
    const int dy = n / 3 % 3 - 1;
    const int dz = n / 9 - 1;
    const int h = (x + dx) + kHaloSize * ((y + dy) + kHaloSize * (z + dz));
    const uint32_t end = halo.end[h];
    uint32_t record = halo.first_record[h];
    for (uint32_t j = halo.begin[h]; j < end; ++j) {
      const IndexPosition at = IndexOf(sorted, halo, h, j);
      if (!IsUsed(sorted, at, x + dx, y + dy, z + dz)) continue;
      if (CanMatch(sorted, at, dx, dy, dz)) visit(at, record, dx, dy, dz);
      ++record;
    }
  }
}

// Calls visit(j, rank) for each Gaussian of a halo cell that the chunk needs.
template <typename Visit>
__device__ void WalkHaloCell(const SortedGaussians& sorted, const Halo& halo, uint32_t h,
                             const Visit& visit) {
  const auto x = static_cast<int>(h % kHaloSize);
  const auto y = static_cast<int>(h / kHaloSize % kHaloSize);
  const auto z = static_cast<int>(h / (kHaloSize * kHaloSize));
  uint32_t rank = 0;
  for (uint32_t j = halo.begin[h]; j < halo.end[h]; ++j) {
    if (IsUsed(sorted, IndexOf(sorted, halo, static_cast<int>(h), j), x, y, z)) visit(j, rank++);
  }
}

// Fills halo.first_record and returns the number of the chunk's records.
__device__ uint32_t CountRecords(const SortedGaussians& sorted, Halo& halo) {
  uint32_t counts[2] = {0, 0};
#pragma unroll
  for (uint32_t k = 0; k < 2; ++k) {
    const uint32_t h = 2 * threadIdx.x + k;
    if (h >= kHaloCells) continue;
    WalkHaloCell(sorted, halo, h, [&](uint32_t, uint32_t) { ++counts[k]; });
  }
  uint32_t before = 0;
  uint32_t total = 0;
  SumBefore(halo.sums).ExclusiveSum(counts[0] + counts[1], before, total);
  if (2 * threadIdx.x < kHaloCells) halo.first_record[2 * threadIdx.x] = before;
  if (2 * threadIdx.x + 1 < kHaloCells) {
    halo.first_record[2 * threadIdx.x + 1] = before + counts[0];
  }
  __syncthreads();
  return total;
}

// The length of this thread's list, with what fills it up.
__device__ uint32_t FilledListLength(const SortedGaussians& sorted, const Halo& halo) {
  uint32_t length = 0;
  WalkList(sorted, halo, threadIdx.x,
           [&](const IndexPosition&, uint32_t, int, int, int) { ++length; });
  return (length + kListStep - 1) / kListStep * kListStep;
}

// A coordinate of a Candidate: of the index position, in units of the cell size from the low corner
// of its lattice cell, which lies `shift` cells from the list's. Half precision has it exactly.
__device__ uint16_t HalfInCell(float index_cells, int shift) {
  return __half_as_ushort(__float2half_rn(CoarsePlace(index_cells) + static_cast<float>(shift)));
}

__global__ void __launch_bounds__(kThreads)
    MeasureKernel(SortedGaussians sorted, const CellKey* targets, uint32_t count,
                  TargetSize* sizes) {
  __shared__ Halo halo;
  for (uint32_t t = blockIdx.x; t < count; t += gridDim.x) {
    FindHalo(sorted, targets[t], halo);
    const uint32_t records = CountRecords(sorted, halo);
    uint32_t before = 0;
    uint32_t candidates = 0;
    SumBefore(halo.sums).ExclusiveSum(FilledListLength(sorted, halo), before, candidates);
    if (threadIdx.x == 0) {
      sizes[t] = {candidates, records, halo.run_end[kCentre] - halo.run_begin[kCentre]};
    }
    __syncthreads();
  }
}

__global__ void __launch_bounds__(kThreads)
    FillKernel(SortedGaussians sorted, const CellKey* targets, uint32_t count,
               std::byte* const* chunks) {
  __shared__ Halo halo;
  for (uint32_t t = blockIdx.x; t < count; t += gridDim.x) {
    std::byte* const chunk = chunks[t];
    if (chunk == nullptr) continue;  // the same for the whole thread block
    FindHalo(sorted, targets[t], halo);
    const uint32_t record_count = CountRecords(sorted, halo);
    uint32_t before = 0;
    uint32_t candidates = 0;
    SumBefore(halo.sums).ExclusiveSum(FilledListLength(sorted, halo), before, candidates);
    auto* const records = reinterpret_cast<CellRecord*>(chunk + kListBeginBytes);
    auto* const lists = reinterpret_cast<Candidate*>(records + record_count);
    auto* const places = reinterpret_cast<std::byte*>(lists + candidates);
    auto* const list_begin = reinterpret_cast<uint32_t*>(chunk);
    const uint32_t first_sector =
        static_cast<uint32_t>(kListBeginBytes / kSectorBytes) + record_count;
    list_begin[threadIdx.x] = first_sector + before / kListStep;
    if (threadIdx.x < kListBeginBytes / sizeof(uint32_t) - kBlockCells) {
      list_begin[kBlockCells + threadIdx.x] =
          threadIdx.x == 0 ? first_sector + candidates / kListStep : 0;
    }

    const float size_m = sorted.cell_size_m;
    Candidate* const list = lists + before;
    uint32_t length = 0;
    WalkList(sorted, halo, threadIdx.x,
             [&](const IndexPosition& at, uint32_t record, int dx, int dy, int dz) {
               const float(&index)[3] = at.coordinate;
               list[length++] = {HalfInCell(index[0] / size_m, dx),
                                 HalfInCell(index[1] / size_m, dy),
                                 HalfInCell(index[2] / size_m, dz), static_cast<uint16_t>(record)};
             });
    for (; length % kListStep != 0; ++length) list[length] = {kNowhere, kNowhere, kNowhere, 0};

    const MeanRange range = MeanRangeOf(size_m, !sorted.float_index);
    const size_t place_bytes = PlaceBytes(sorted.float_index);
    for (uint32_t h = threadIdx.x; h < kHaloCells; h += kThreads) {
      WalkHaloCell(sorted, halo, h, [&](uint32_t j, uint32_t rank) {
        const IndexedGaussian& from = sorted.gaussians[sorted.numbers[j]];
        const float(&b)[6] = from.information;
        const uint32_t record = halo.first_record[h] + rank;
        records[record] = {
            b[0], b[1], b[2], b[3], b[4], b[5], PackMean(from.mean, from.index, size_m, range)};
        auto* const place = reinterpret_cast<CellPlace*>(places + record * place_bytes);
        place[0] = {from.index[0], from.index[1], from.index[2], 0.0F};
        if (sorted.float_index) place[1] = {from.mean[0], from.mean[1], from.mean[2], 0.0F};
      });
    }
    if (threadIdx.x == 0 && record_count * place_bytes % kSectorBytes != 0) {
      *reinterpret_cast<CellPlace*>(places + record_count * place_bytes) = {};
    }
    __syncthreads();
  }
}

__global__ void __launch_bounds__(kThreads) MoveKernel(const ChunkMove* moves, uint32_t count) {
  for (uint32_t m = blockIdx.x; m < count; m += gridDim.x) {
    const ChunkMove move = moves[m];
    const auto* const from = reinterpret_cast<const uint4*>(move.from);
    auto* const to = reinterpret_cast<uint4*>(move.to);
    for (uint32_t i = threadIdx.x; i < move.bytes / sizeof(uint4); i += kThreads) to[i] = from[i];
  }
}

__global__ void __launch_bounds__(kThreads)
    UpdateKernel(CellBlocks table, BlockSlot* slots, const SlotUpdate* updates, uint32_t count) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  const SlotUpdate update = updates[i];
  const auto x = static_cast<uint32_t>(update.block.x - table.first_x);
  const auto y = static_cast<uint32_t>(update.block.y - table.first_y);
  const auto z = static_cast<uint32_t>(update.block.z - table.first_z);
  const unsigned long long key = PackBlockKey(x, y, z);
  // The first thread to claim an empty slot gets it; lookups do not depend on the order.
  for (uint32_t at = HashBlock(x, y, z) & table.slot_mask;; at = (at + 1) & table.slot_mask) {
    const unsigned long long found =
        atomicCAS(reinterpret_cast<unsigned long long*>(&slots[at].key), kNoBlock, key);
    if (found != kNoBlock && found != key) continue;
    slots[at].chunk = update.chunk;
    return;
  }
}

}  // namespace

cudaError_t MeasureLists(const SortedGaussians& sorted, const CellKey* targets, uint32_t count,
                         TargetSize* sizes, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  MeasureKernel<<<std::min(count, kMaxGrid), kThreads, 0, stream>>>(sorted, targets, count, sizes);
  return cudaGetLastError();
}

cudaError_t FillLists(const SortedGaussians& sorted, const CellKey* targets, uint32_t count,
                      std::byte* const* chunks, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  FillKernel<<<std::min(count, kMaxGrid), kThreads, 0, stream>>>(sorted, targets, count, chunks);
  return cudaGetLastError();
}

cudaError_t MoveChunks(const ChunkMove* moves, uint32_t count, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  MoveKernel<<<std::min(count, kMaxGrid), kThreads, 0, stream>>>(moves, count);
  return cudaGetLastError();
}

cudaError_t ClearSlots(BlockSlot* slots, uint32_t count, cudaStream_t stream) {
  static_assert(kNoBlock == ~uint64_t{0}, "every byte of an empty slot is the same");
  return cudaMemsetAsync(slots, 0xff, count * sizeof(BlockSlot), stream);
}

cudaError_t UpdateSlots(const CellBlocks& table, BlockSlot* slots, const SlotUpdate* updates,
                        uint32_t count, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  UpdateKernel<<<(count + kThreads - 1) / kThreads, kThreads, 0, stream>>>(table, slots, updates,
                                                                           count);
  return cudaGetLastError();
}

}  // namespace voxloc::cuda
