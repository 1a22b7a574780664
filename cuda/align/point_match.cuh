// SPDX-License-Identifier: Apache-2.0
//
// Device code: from a scan point and a pose to the cells it matches. One thread, one point.

#ifndef VOXLOC_CUDA_ALIGN_POINT_MATCH_CUH_
#define VOXLOC_CUDA_ALIGN_POINT_MATCH_CUH_

#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>

#include "core/ndt/chart.h"
#include "core/ndt/point_terms.h"
#include "cuda/align/stage_terms.h"

namespace voxloc::cuda {

// Where a transformed point lies: its lattice cell, and its place in it, metres from the low
// corner.
struct LocatedPoint {
  int cell[3];
  float local[3];
};

// map_T_base as points are transformed by it.
struct RigidTransform {
  ndt::Rotation<double> rotation;
  double translation[3];  // map frame, m
};

// Coordinates beyond the last cell are moved to its border, so that places stay small whatever
// comes. No operation is fused: the CPU engine rounds in the same places, so that both find the
// same cells.
__device__ __forceinline__ LocatedPoint LocatePoint(const RigidTransform& map_T_base, float x,
                                                    float y, float z, const StageTerms& stage) {
  constexpr double kLargestCell = 268435456.0;  // 2^28
  const double cell_size_m = stage.blocks.cell_size_m;
  const double limit = kLargestCell * cell_size_m;
  LocatedPoint located;
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) {
    const double* r = map_T_base.rotation.m[axis];
    const double t = map_T_base.translation[axis];
    double coordinate;
    if (stage.float_transform) {
      coordinate =
          static_cast<double>(__fadd_rn(__fadd_rn(__fadd_rn(__fmul_rn(x, static_cast<float>(r[0])),
                                                            __fmul_rn(y, static_cast<float>(r[1]))),
                                                  __fmul_rn(z, static_cast<float>(r[2]))),
                                        static_cast<float>(t)));
    } else {
      coordinate = __dadd_rn(__dadd_rn(__dadd_rn(__dmul_rn(static_cast<double>(x), r[0]),
                                                 __dmul_rn(static_cast<double>(y), r[1])),
                                       __dmul_rn(static_cast<double>(z), r[2])),
                             t);
    }
    if (!(fabs(coordinate) < limit)) coordinate = copysign(limit, coordinate);
    const int cell = __double2int_rd(__dmul_rn(coordinate, stage.inverse_cell_size));
    located.cell[axis] = cell;
    located.local[axis] = static_cast<float>(
        __dsub_rn(coordinate, __dmul_rn(static_cast<double>(cell), cell_size_m)));
  }
  return located;
}

// The list of candidates of a lattice cell, in its block's chunk.
struct CandidateList {
  const uint4* pairs;  // of candidates
  uint32_t count;      // of candidates, a multiple of kListStep
  const std::byte* records;
};

__device__ __forceinline__ CandidateList FindCandidates(const CellBlocks& blocks,
                                                        const int (&cell)[3]) {
  const auto x = static_cast<uint32_t>((cell[0] >> kBlockBits) - blocks.first_x);
  const auto y = static_cast<uint32_t>((cell[1] >> kBlockBits) - blocks.first_y);
  const auto z = static_cast<uint32_t>((cell[2] >> kBlockBits) - blocks.first_z);
  const bool inside = x < static_cast<uint32_t>(blocks.size_x) &&
                      y < static_cast<uint32_t>(blocks.size_y) &&
                      z < static_cast<uint32_t>(blocks.size_z);
  if (blocks.slots == nullptr || !inside) return {nullptr, 0, nullptr};
  const uint64_t key = PackBlockKey(x, y, z);
  uint32_t at = HashBlock(x, y, z) & blocks.slot_mask;
  const std::byte* chunk = nullptr;
  for (;;) {
    const ulonglong2 slot = __ldg(reinterpret_cast<const ulonglong2*>(blocks.slots + at));
    if (slot.x == key) {
      chunk = reinterpret_cast<const std::byte*>(slot.y);
      break;
    }
    if (slot.x == kNoBlock) break;
    at = (at + 1) & blocks.slot_mask;
  }
  if (chunk == nullptr) return {nullptr, 0, nullptr};
  constexpr int kMask = kBlockSize - 1;
  const int place =
      (cell[0] & kMask) | (cell[1] & kMask) << kBlockBits | (cell[2] & kMask) << (2 * kBlockBits);
  const auto* list_begin = reinterpret_cast<const uint32_t*>(chunk);
  const uint32_t begin = __ldg(list_begin + place);
  const uint32_t end = __ldg(list_begin + place + 1);
  const uint32_t all = __ldg(list_begin + kBlockCells);
  const std::byte* candidates = chunk + kListBeginBytes;
  return {reinterpret_cast<const uint4*>(candidates + size_t{begin} * sizeof(Candidate)),
          end - begin, candidates + size_t{all} * sizeof(Candidate)};
}

__device__ __forceinline__ __half2 AsHalves(uint32_t bits) {
  return *reinterpret_cast<const __half2*>(&bits);
}

// A point's place in its cell, as candidates have theirs.
struct HalfPlace {
  __half2 xy;
  __half2 z;  // twice
};
__device__ __forceinline__ HalfPlace ToHalf(const LocatedPoint& point, float inverse_cell_size) {
  return {__floats2half2_rn(point.local[0] * inverse_cell_size, point.local[1] * inverse_cell_size),
          __float2half2_rn(point.local[2] * inverse_cell_size)};
}

// Whether a candidate may be within reach. `xy` and `z_record` are the two words of a Candidate.
__device__ __forceinline__ bool MayReach(const HalfPlace& place, uint32_t xy, uint32_t z_record,
                                         __half reach) {
  const __half2 d_xy = __hsub2(place.xy, AsHalves(xy));
  const __half d_z = __hsub(__low2half(place.z), __low2half(AsHalves(z_record)));
  const __half2 squares = __hmul2(d_xy, d_xy);
  return __hlt(__hadd(__hfma(d_z, d_z, __low2half(squares)), __high2half(squares)), reach);
}

// Which of up to 32 candidates may be within reach, one bit each.
__device__ __forceinline__ uint32_t FindReachable(const uint4* pairs, uint32_t count,
                                                  const HalfPlace& place, __half reach) {
  uint32_t reachable = 0;
#pragma unroll 2
  for (uint32_t k = 0; k < count; k += kListStep) {
    const uint4 a = __ldg(pairs + k / 2);
    const uint4 b = __ldg(pairs + k / 2 + 1);
    uint32_t bits = 0;
    bits |= MayReach(place, a.x, a.y, reach) ? 1U : 0U;
    bits |= MayReach(place, a.z, a.w, reach) ? 2U : 0U;
    bits |= MayReach(place, b.x, b.y, reach) ? 4U : 0U;
    bits |= MayReach(place, b.z, b.w, reach) ? 8U : 0U;
    reachable |= bits << k;
  }
  return reachable;
}

struct MatchedPoint {
  ndt::PairSums<float> sums;  // without the constants, see ndt::AddPair
  float best = 0.0F;          // e of the best pair
  int pairs = 0;
};

// Takes the first candidate whose bit is set: its record. Any where none is.
__device__ __forceinline__ uint32_t TakeRecord(const uint4* pairs, uint32_t& reachable) {
  const int k = max(__ffs(static_cast<int>(reachable)) - 1, 0);
  reachable &= reachable - 1;
  return __ldg(reinterpret_cast<const uint16_t*>(pairs) + 4 * k + 3);
}

// A pair of a point and a cell: terms, and the cell's information. The terms of a pair that does
// not count are zero.
struct CellPair {
  ndt::PairTerms<float> terms;
  ndt::Symmetric3<float> information;
  ndt::Vector3<float> distance;  // from the place where the search finds the cell
  float squared_m2;              // of it
  bool counts;
};

// What is summed over the pairs of a point.
enum class Wanted {
  kScore,  // only the exponentials
  kDerivatives,
  kBoundary,  // and the boundary of the reach in the curvature
};

// Looks at a candidate exactly.
__device__ __forceinline__ CellPair MatchCell(const StageTerms& stage, const LocatedPoint& point,
                                              const float4* record) {
  const float4 low = __ldg(record);
  const float4 middle = __ldg(record + 1);
  const float4 high = __ldg(record + 2);
  constexpr int kMask = kBlockSize - 1;
  const float size_m = stage.cell_size_m;
  const float cells_x = high.y - static_cast<float>(point.cell[0] & kMask);
  const float cells_y = high.z - static_cast<float>(point.cell[1] & kMask);
  const float cells_z = high.w - static_cast<float>(point.cell[2] & kMask);
  // Unfused, as the CPU engine has it: both take the same cells.
  const float shift_x = __fmul_rn(cells_x, size_m);
  const float shift_y = __fmul_rn(cells_y, size_m);
  const float shift_z = __fmul_rn(cells_z, size_m);
  const float dx = __fsub_rn(point.local[0], __fadd_rn(middle.z, shift_x));
  const float dy = __fsub_rn(point.local[1], __fadd_rn(middle.w, shift_y));
  const float dz = __fsub_rn(point.local[2], __fadd_rn(high.x, shift_z));
  const float squared =
      __fadd_rn(__fadd_rn(__fmul_rn(dx, dx), __fmul_rn(dy, dy)), __fmul_rn(dz, dz));
  CellPair pair;
  pair.distance = {dx, dy, dz};
  pair.squared_m2 = squared;
  pair.counts = squared < stage.squared_radius_m2;
  if (stage.reach < 3) {
    pair.counts = pair.counts && fabsf(cells_x) + fabsf(cells_y) + fabsf(cells_z) <=
                                     static_cast<float>(stage.reach);
  }
  ndt::Vector3<float> q = {dx, dy, dz};
  if (!stage.mean_is_index) {
    const float4 mean = __ldg(record + 3);
    q = {__fsub_rn(point.local[0], __fadd_rn(mean.x, shift_x)),
         __fsub_rn(point.local[1], __fadd_rn(mean.y, shift_y)),
         __fsub_rn(point.local[2], __fadd_rn(mean.z, shift_z))};
  }
  pair.information = {low.x, low.y, low.z, low.w, middle.x, middle.y};
  pair.terms = ndt::ComputePairTerms(q, pair.information, stage.d2);
  return pair;
}

// Sums over the pairs of a point. Candidates are first told roughly from the rest and looked at
// exactly after, so that the threads of a warp sum at the same time; kAtOnce of them together,
// which hides the time of reading where few warps run, and does not change the order.
template <Wanted kWanted, int kAtOnce>
__device__ __forceinline__ MatchedPoint MatchPoint(const StageTerms& stage,
                                                   const LocatedPoint& point) {
  MatchedPoint matched;
  const CandidateList list = FindCandidates(stage.blocks, point.cell);
  if (list.count == 0) return matched;
  const HalfPlace place = ToHalf(point, static_cast<float>(stage.inverse_cell_size));
  const __half reach = __float2half_ru(stage.reach < 3 ? HUGE_VALF : kReachInHalf);
  const uint32_t record_words = stage.mean_is_index ? 3 : 4;  // of 16 bytes
  const auto* records = reinterpret_cast<const float4*>(list.records);
  for (uint32_t first = 0; first < list.count; first += 32) {
    const uint4* pairs = list.pairs + first / 2;
    uint32_t reachable = FindReachable(pairs, min(list.count - first, 32U), place, reach);
    while (reachable != 0) {
      CellPair pair[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const bool any = reachable != 0;
        const uint32_t record = TakeRecord(pairs, reachable);
        pair[i] = MatchCell(stage, point, records + size_t{record} * record_words);
        pair[i].counts = pair[i].counts && any;
        if (!pair[i].counts) pair[i].terms.e = 0.0F;
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        matched.pairs += pair[i].counts ? 1 : 0;
        matched.best = fmaxf(matched.best, pair[i].terms.e);
        if constexpr (kWanted == Wanted::kScore) {
          matched.sums.exponentials += pair[i].terms.e;
        } else {
          ndt::AddPair(pair[i].terms, pair[i].information, stage.curvature, matched.sums);
        }
        if constexpr (kWanted == Wanted::kBoundary) {
          const bool shell =
              pair[i].counts && pair[i].squared_m2 >= stage.boundary.inner_squared_m2;
          ndt::AddBoundary(pair[i].terms, pair[i].distance, shell ? 1.0F : 0.0F, stage.boundary,
                           matched.sums);
        }
      }
    }
  }
  return matched;
}

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_POINT_MATCH_CUH_
