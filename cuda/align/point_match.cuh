// SPDX-License-Identifier: Apache-2.0
//
// Device code: from where a scan point lies to the cells it matches. One thread, one point.

#ifndef VOXLOC_CUDA_ALIGN_POINT_MATCH_CUH_
#define VOXLOC_CUDA_ALIGN_POINT_MATCH_CUH_

#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>

#include "core/ndt/point_terms.h"
#include "cuda/align/device_job.h"
#include "cuda/align/point_transform.cuh"

namespace voxloc::cuda {

// The list of candidates of a lattice cell, and its block's chunk.
struct CandidateList {
  const uint4* pairs;  // of candidates
  uint32_t count;      // of candidates, a multiple of kListStep
  const std::byte* chunk;
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
  return {reinterpret_cast<const uint4*>(chunk + size_t{begin} * kSectorBytes),
          (end - begin) * kListStep, chunk};
}

// The side array entry of a record, which few pairs need: one CellPlace, or two (cell_blocks.h).
__device__ __forceinline__ const float4* PlacesOf(const StageTerms& stage, const std::byte* chunk,
                                                  uint32_t record) {
  const uint32_t end = __ldg(reinterpret_cast<const uint32_t*>(chunk) + kBlockCells);
  const std::byte* const places = chunk + size_t{end} * kSectorBytes;
  return reinterpret_cast<const float4*>(places + record * PlaceBytes(!stage.mean_is_index));
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

// Tests a candidate in half precision: the lower 16 bits are set if it may be within the radius,
// the upper 16 if it certainly is; `limits` are both bounds. `xy` and `z_record` are the two words
// of a Candidate.
__device__ __forceinline__ uint32_t CompareToRadius(const HalfPlace& place, uint32_t xy,
                                                    uint32_t z_record, __half2 limits) {
  const __half2 d_xy = __hsub2(place.xy, AsHalves(xy));
  const __half2 d_z = __hsub2(place.z, __low2half2(AsHalves(z_record)));
  const __half2 squares = __hmul2(d_xy, d_xy);
  return __hlt2_mask(__hadd2(__hfma2(d_z, d_z, __low2half2(squares)), __high2half2(squares)),
                     limits);
}

// The limits for CompareToRadius. Without a radius every candidate of the list is undecided.
__device__ __forceinline__ __half2 ReachLimits(const StageTerms& stage) {
  constexpr uint32_t kRadius = uint32_t{kCertainSquaredHalf} << 16 | kPossibleSquaredHalf;
  return AsHalves(stage.reach < 3 ? uint32_t{kNowhere} : kRadius);
}

// One bit for each of up to 32 candidates. The certain ones are a subset of the possible ones.
struct Reachable {
  uint32_t possible = 0;
  uint32_t certain = 0;
};
__device__ __forceinline__ Reachable FindReachable(const uint4* pairs, uint32_t count,
                                                   const HalfPlace& place, __half2 limits) {
  Reachable reachable;
#pragma unroll 2
  for (uint32_t k = 0; k < count; k += kListStep) {
    const uint4 a = __ldg(pairs + k / 2);
    const uint4 b = __ldg(pairs + k / 2 + 1);
    const uint32_t bits = (CompareToRadius(place, a.x, a.y, limits) & 0x00010001U) |
                          (CompareToRadius(place, a.z, a.w, limits) & 0x00020002U) |
                          (CompareToRadius(place, b.x, b.y, limits) & 0x00040004U) |
                          (CompareToRadius(place, b.z, b.w, limits) & 0x00080008U);
    reachable.possible |= (bits & 0xffffU) << k;
    reachable.certain |= (bits >> 16) << k;
  }
  return reachable;
}

// The two words of the first candidate whose bit is set; at least one is.
__device__ __forceinline__ uint2 FirstCandidate(const uint4* pairs, uint32_t bits) {
  return __ldg(reinterpret_cast<const uint2*>(pairs) + (__ffs(static_cast<int>(bits)) - 1));
}

// From the point's lattice cell to that of a candidate's index position, in cells: the floor of its
// coordinates, from -1 to 1.
struct CellShift {
  float x;
  float y;
  float z;
};
__device__ __forceinline__ CellShift ShiftOf(const uint2& candidate) {
  const __half2 zero = AsHalves(0);
  const __half2 one = AsHalves(0x3c003c00U);
  const __half2 xy = AsHalves(candidate.x);
  const __half2 z = AsHalves(candidate.y);  // and, above it, the record's number
  const __half2 cells_xy = __hsub2(__hge2(xy, one), __hlt2(xy, zero));
  const __half2 cells_z = __hsub2(__hge2(z, one), __hlt2(z, zero));
  return {__low2float(cells_xy), __high2float(cells_xy), __low2float(cells_z)};
}
__device__ __forceinline__ uint32_t RecordOf(const uint2& candidate) { return candidate.y >> 16; }

// From a place of the record to the point, with the roundings of the CPU engine.
__device__ __forceinline__ ndt::Vector3<float> DistanceFrom(const StageTerms& stage,
                                                            const LocatedPoint& point,
                                                            const CellShift& shift,
                                                            const float4& place) {
  const float size_m = stage.cell_size_m;
  return {__fsub_rn(point.local[0], __fadd_rn(place.x, __fmul_rn(shift.x, size_m))),
          __fsub_rn(point.local[1], __fadd_rn(place.y, __fmul_rn(shift.y, size_m))),
          __fsub_rn(point.local[2], __fadd_rn(place.z, __fmul_rn(shift.z, size_m)))};
}

// Unfused, as the CPU engine has it: both take the same cells.
__device__ __forceinline__ float SquaredLength(const ndt::Vector3<float>& v) {
  return __fadd_rn(__fadd_rn(__fmul_rn(v.x, v.x), __fmul_rn(v.y, v.y)), __fmul_rn(v.z, v.z));
}

// Whether a candidate that half precision leaves open is within reach.
__device__ __forceinline__ bool IsWithinReach(const StageTerms& stage, const LocatedPoint& point,
                                              const std::byte* chunk, const uint2& candidate) {
  const CellShift shift = ShiftOf(candidate);
  if (stage.reach < 3) {
    return fabsf(shift.x) + fabsf(shift.y) + fabsf(shift.z) <= static_cast<float>(stage.reach);
  }
  const float4 index = __ldg(PlacesOf(stage, chunk, RecordOf(candidate)));
  return SquaredLength(DistanceFrom(stage, point, shift, index)) < stage.squared_radius_m2;
}

struct MatchedPoint {
  ndt::PairSums<float> sums;  // without the constants, see ndt::AddPair
  float best = 0.0F;          // e of the best pair
  int pairs = 0;
};

// A pair of a point and a cell: terms, and the cell's information.
struct CellPair {
  ndt::PairTerms<float> terms;
  ndt::Symmetric3<float> information;
  uint2 candidate;
};

// What to sum over the pairs of a point.
enum class PairSumKind {
  kScore,  // only the exponentials
  kDerivatives,
  kBoundary,  // and the boundary of the reach in the curvature
};

__device__ __forceinline__ CellPair MatchCell(const StageTerms& stage, const LocatedPoint& point,
                                              const std::byte* chunk, const uint2& candidate) {
  const std::byte* const records = chunk + kListBeginBytes;
  const auto* const record =
      reinterpret_cast<const float4*>(records + RecordOf(candidate) * sizeof(CellRecord));
  const float4 low = __ldg(record);
  const float4 high = __ldg(record + 1);
  const PackedMean mean = {__float_as_uint(high.z), __float_as_uint(high.w)};
  const MeanFractions u = FractionsOf(mean);
  const float span_m = stage.mean_range.span_m;
  const float origin_m = stage.mean_range.origin_m;
  const float size_m = stage.cell_size_m;
  const float2 xy = __half22float2(AsHalves(candidate.x));
  const float z = __low2float(AsHalves(candidate.y));
  // Explicitly fused, so that all kernels agree. The difference to the coarse place is exact
  // nearby.
  const auto from_mean = [&](float local_m, float cells, float fraction) {
    return __fsub_rn(__fmaf_rn(-cells, size_m, local_m), __fmaf_rn(fraction, span_m, origin_m));
  };
  ndt::Vector3<float> q = {from_mean(point.local[0], xy.x, u.x),
                           from_mean(point.local[1], xy.y, u.y), from_mean(point.local[2], z, u.z)};
  if (mean.IsOutside()) {
    q = DistanceFrom(
        stage, point, ShiftOf(candidate),
        __ldg(PlacesOf(stage, chunk, RecordOf(candidate)) + (stage.mean_is_index ? 0 : 1)));
  }
  CellPair pair;
  pair.candidate = candidate;
  pair.information = {low.x, low.y, low.z, low.w, high.x, high.y};
  pair.terms = ndt::ComputePairTerms(q, pair.information, stage.d2);
  return pair;
}

// Where a pair lies in the shell beneath the search's radius, adds what it adds to the curvature.
__device__ __forceinline__ void AddBoundaryOf(const StageTerms& stage, const LocatedPoint& point,
                                              const std::byte* chunk, const CellPair& pair,
                                              ndt::PairSums<float>& sums) {
  const float4 index = __ldg(PlacesOf(stage, chunk, RecordOf(pair.candidate)));
  const ndt::Vector3<float> distance = DistanceFrom(stage, point, ShiftOf(pair.candidate), index);
  const bool shell = SquaredLength(distance) >= stage.boundary.inner_squared_m2;
  ndt::AddBoundary(pair.terms, distance, shell ? 1.0F : 0.0F, stage.boundary, sums);
}

// Sums over the pairs of a point. Candidates are selected first, nearly all in half precision and
// the rest exactly, so that the threads of a warp then sum together. kAtOnce pairs are loaded at a
// time, which hides latency with few warps and does not change the order of summation.
template <PairSumKind kSumKind, int kAtOnce>
__device__ __forceinline__ MatchedPoint MatchPoint(const StageTerms& stage,
                                                   const LocatedPoint& point) {
  MatchedPoint matched;
  const CandidateList list = FindCandidates(stage.blocks, point.cell);
  if (list.count == 0) return matched;
  const HalfPlace place = ToHalf(point, static_cast<float>(stage.inverse_cell_size));
  const __half2 limits = ReachLimits(stage);
  for (uint32_t first = 0; first < list.count; first += 32) {
    const uint4* pairs = list.pairs + first / 2;
    const Reachable found = FindReachable(pairs, min(list.count - first, 32U), place, limits);
    uint32_t reached = found.possible;
    for (uint32_t undecided = found.possible & ~found.certain; undecided != 0;) {
      const uint32_t others = undecided & (undecided - 1);
      const uint2 candidate = FirstCandidate(pairs, undecided);
      if (!IsWithinReach(stage, point, list.chunk, candidate)) reached ^= undecided ^ others;
      undecided = others;
    }
    matched.pairs += __popc(reached);
    while (reached != 0) {
      CellPair pair[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const bool any = i == 0 || reached != 0;
        pair[i] = MatchCell(stage, point, list.chunk, FirstCandidate(pairs, any ? reached : 1U));
        if (!any) pair[i].terms.e = 0.0F;
        reached &= reached - 1;
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        matched.best = fmaxf(matched.best, pair[i].terms.e);
        if constexpr (kSumKind == PairSumKind::kScore) {
          matched.sums.exponentials += pair[i].terms.e;
        } else {
          ndt::AddPair(pair[i].terms, pair[i].information, stage.curvature, matched.sums);
        }
        if constexpr (kSumKind == PairSumKind::kBoundary) {
          AddBoundaryOf(stage, point, list.chunk, pair[i], matched.sums);
        }
      }
    }
  }
  return matched;
}

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_POINT_MATCH_CUH_
