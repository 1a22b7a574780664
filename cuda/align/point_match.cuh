// SPDX-License-Identifier: Apache-2.0
//
// Device code: from a scan point and a pose to the cells it matches. One thread, one point.

#ifndef VOXLOC_CUDA_ALIGN_POINT_MATCH_CUH_
#define VOXLOC_CUDA_ALIGN_POINT_MATCH_CUH_

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
    coordinate = fmax(fmin(coordinate, limit), -limit);
    const int cell = __double2int_rd(__dmul_rn(coordinate, stage.inverse_cell_size));
    located.cell[axis] = cell;
    located.local[axis] = static_cast<float>(
        __dsub_rn(coordinate, __dmul_rn(static_cast<double>(cell), cell_size_m)));
  }
  return located;
}

// The list of candidates of a lattice cell, in its block's chunk.
struct CandidateList {
  const std::byte* chunk;
  const float4* candidates;
  uint32_t count;
};

__device__ __forceinline__ CandidateList FindCandidates(const CellBlocks& blocks,
                                                        const int (&cell)[3]) {
  const auto x = static_cast<uint32_t>((cell[0] >> kBlockBits) - blocks.first_x);
  const auto y = static_cast<uint32_t>((cell[1] >> kBlockBits) - blocks.first_y);
  const auto z = static_cast<uint32_t>((cell[2] >> kBlockBits) - blocks.first_z);
  const bool inside = x < static_cast<uint32_t>(blocks.size_x) &&
                      y < static_cast<uint32_t>(blocks.size_y) &&
                      z < static_cast<uint32_t>(blocks.size_z);
  if (blocks.slots == nullptr || !inside) return {nullptr, nullptr, 0};
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
  if (chunk == nullptr) return {nullptr, nullptr, 0};
  constexpr int kMask = kBlockSize - 1;
  const int place =
      (cell[0] & kMask) | (cell[1] & kMask) << kBlockBits | (cell[2] & kMask) << (2 * kBlockBits);
  const auto* list_begin = reinterpret_cast<const uint32_t*>(chunk) + place;
  const uint32_t begin = __ldg(list_begin);
  const uint32_t end = __ldg(list_begin + 1);
  return {chunk, reinterpret_cast<const float4*>(chunk + kListBeginBytes) + begin, end - begin};
}

struct CellShift {
  int x;
  int y;
  int z;
};
__device__ __forceinline__ CellShift ShiftOf(uint32_t reference) {
  const int code = static_cast<int>(reference >> kReferenceBits);
  return {code % 3 - 1, code / 3 % 3 - 1, code / 9 - 1};
}

// Which of up to 32 candidates the point is matched with, one bit each.
__device__ __forceinline__ uint32_t AcceptCandidates(const StageTerms& stage,
                                                     const LocatedPoint& point,
                                                     const float4* candidates, uint32_t count) {
  uint32_t accepted = 0;
  for (uint32_t k = 0; k < count; ++k) {
    const float4 candidate = __ldg(candidates + k);
    const float dx = __fsub_rn(point.local[0], candidate.x);
    const float dy = __fsub_rn(point.local[1], candidate.y);
    const float dz = __fsub_rn(point.local[2], candidate.z);
    const float squared =
        __fadd_rn(__fadd_rn(__fmul_rn(dx, dx), __fmul_rn(dy, dy)), __fmul_rn(dz, dz));
    bool accept = squared < stage.squared_radius_m2;
    if (stage.reach < 3) {
      const CellShift shift = ShiftOf(__float_as_uint(candidate.w));
      accept = accept && abs(shift.x) + abs(shift.y) + abs(shift.z) <= stage.reach;
    }
    accepted |= static_cast<uint32_t>(accept) << k;
  }
  return accepted;
}

struct MatchedPoint {
  ndt::PairSums<float> sums;  // without the constants, see ndt::AddPair
  float best = 0.0F;          // e of the best pair
  int pairs = 0;
};

// Sums over the pairs of a point. Candidates are tested first and the accepted ones summed after,
// so that the threads of a warp sum at the same time. Without derivatives, only the exponentials.
template <bool kWithDerivatives>
__device__ __forceinline__ MatchedPoint MatchPoint(const StageTerms& stage,
                                                   const LocatedPoint& point) {
  MatchedPoint matched;
  const CandidateList list = FindCandidates(stage.blocks, point.cell);
  for (uint32_t first = 0; first < list.count; first += 32) {
    const float4* candidates = list.candidates + first;
    uint32_t accepted = AcceptCandidates(stage, point, candidates, min(list.count - first, 32U));
    matched.pairs += __popc(accepted);
    while (accepted != 0) {
      const float4 candidate = __ldg(candidates + (__ffs(static_cast<int>(accepted)) - 1));
      accepted &= accepted - 1;
      const uint32_t reference = __float_as_uint(candidate.w);
      const auto* cell =
          reinterpret_cast<const float4*>(list.chunk + size_t{reference & kReferenceMask} * 16);
      const float4 low = __ldg(cell);
      const float4 high = __ldg(cell + 1);
      const ndt::Symmetric3<float> information = {low.x, low.y, low.z, low.w, high.x, high.y};
      ndt::Vector3<float> mean = {candidate.x, candidate.y, candidate.z};
      if (!stage.mean_is_index) {
        const CellShift shift = ShiftOf(reference);
        const float size_m = stage.cell_size_m;
        mean = {__fadd_rn(high.z, static_cast<float>(shift.x) * size_m),
                __fadd_rn(high.w, static_cast<float>(shift.y) * size_m),
                __fadd_rn(__ldg(cell + 2).x, static_cast<float>(shift.z) * size_m)};
      }
      const ndt::Vector3<float> q = {point.local[0] - mean.x, point.local[1] - mean.y,
                                     point.local[2] - mean.z};
      const ndt::PairTerms<float> pair = ndt::ComputePairTerms(q, information, stage.d2);
      matched.best = fmaxf(matched.best, pair.e);
      if constexpr (kWithDerivatives) {
        ndt::AddPair(pair, information, stage.curvature, matched.sums);
      } else {
        matched.sums.exponentials += pair.e;
      }
    }
  }
  return matched;
}

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_POINT_MATCH_CUH_
