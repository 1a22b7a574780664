// SPDX-License-Identifier: Apache-2.0
//
// Device code: what leads an alignment between two evaluations. It is the state of the search in
// shared memory, and one warp's work on it: from the sums of the scan to the next pose, and from
// the pose to what the evaluation of points needs. Every block of a cluster does it for itself, to
// the same bits.

#ifndef VOXLOC_CUDA_ALIGN_SEARCH_LEAD_CUH_
#define VOXLOC_CUDA_ALIGN_SEARCH_LEAD_CUH_

#include <cstdint>
#include <new>

#include "core/ndt/chart_derivatives.h"
#include "core/ndt/search.h"
#include "cuda/align/device_job.h"
#include "cuda/align/point_match.cuh"
#include "cuda/align/virtual_warps.h"
#include "cuda/align/warp_sums.cuh"

namespace voxloc::cuda {

constexpr uint32_t kAllLanes = 0xffffffffU;

using Search = ndt::NewtonSearch<PoseSums>;

struct Shared {
  alignas(16) unsigned char search[sizeof(Search)];
  ndt::SearchRules rules;
  StageTerms stage;
  int stage_number;
  bool all_points;
  bool done;
  PointTransform map_T_base;
  ndt::Rotation<float> derivative_rotation;
  ndt::ChartAxes<double> chart_axes;
  ndt::DerivativeSums<double> derivatives;  // of the whole scan
};

__device__ __forceinline__ Search& SearchOf(Shared& shared) {
  return *std::launder(reinterpret_cast<Search*>(shared.search));
}

// What all threads need to know of the next evaluation.
__device__ __forceinline__ void PublishWish(Shared& shared) {
  const Search& search = SearchOf(shared);
  shared.done = search.done();
  shared.stage_number = search.wanted_stage();
  shared.all_points = search.wants_all_points();
}

// Called by one warp: from the pose wanted to the transform of points, and to what derivatives are
// taken with. Points are turned by float32 for these, from the exact sines and cosines on, which is
// what they are in.
inline __device__ __noinline__ void PreparePose(Shared& shared, const StageTerms& stage,
                                                bool small_angle_shortcut, int lane) {
  const double(&wanted)[6] = SearchOf(shared).wanted();
  // Lanes 0 to 2 have the angles of the transform, lanes 3 to 5 those of the derivatives.
  double angle = wanted[3 + lane % 3];
  if (lane >= 3 && small_angle_shortcut && std::abs(angle) < ndt::kSmallAngle) angle = 0.0;
  double sine;
  double cosine;
  sincos(angle, &sine, &cosine);
  const int first = lane == 0 ? 0 : 3;
  double t[6];
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    t[2 * i] = __shfl_sync(kAllLanes, sine, first + i);
    t[2 * i + 1] = __shfl_sync(kAllLanes, cosine, first + i);
  }
  if (lane == 0) {
    shared.map_T_base.Set(ndt::ComputeRotation<double>({t[0], t[1], t[2], t[3], t[4], t[5]}),
                          {wanted[0], wanted[1], wanted[2]}, stage);
  }
  if (lane == 1) {
    shared.derivative_rotation = ndt::ComputeRotation<float>(
        {static_cast<float>(t[0]), static_cast<float>(t[1]), static_cast<float>(t[2]),
         static_cast<float>(t[3]), static_cast<float>(t[4]), static_cast<float>(t[5])});
  }
  if (lane == 2) {
    shared.chart_axes = ndt::ComputeChartAxes<double>({t[0], t[1], t[2], t[3], t[4], t[5]});
  }
}

// The sum of a lane's slot, to where the others find it.
__device__ __forceinline__ void KeepDerivative(int lane, double sum,
                                               ndt::DerivativeSums<double>& sums) {
  if (lane >= kGradient && lane < kHessian) sums.gradient[lane - kGradient] = sum;
  if (lane >= kHessian && lane < kOldPitch) sums.hessian[lane - kHessian] = sum;
  if (lane == kOldPitch) sums.old_pitch = sum;
}

// Of the upper triangle of a Hessian, row by row: the row of each entry, three bits an entry; and
// the column.
constexpr uint64_t PackUpper(bool columns) {
  uint64_t packed = 0;
  for (int i = 0; i < 6; ++i) {
    for (int j = i; j < 6; ++j) {
      packed |= static_cast<uint64_t>(columns ? j : i) << 3 * ndt::UpperIndex(i, j);
    }
  }
  return packed;
}

// The entry of the chart's derivatives that is the lane's.
__device__ __forceinline__ void WriteChartEntry(int lane, const Shared& shared,
                                                ndt::Derivatives& derivatives) {
  if (lane >= kGradient && lane < kHessian) {
    const int i = lane - kGradient;
    derivatives.gradient[i] = ndt::ChartGradientEntry(shared.derivatives, shared.chart_axes, i);
  }
  if (lane >= kHessian && lane < kOldPitch) {
    constexpr uint64_t kRowOf = PackUpper(false);
    constexpr uint64_t kColumnOf = PackUpper(true);
    const int i = static_cast<int>(kRowOf >> 3 * (lane - kHessian) & 7);
    const int j = static_cast<int>(kColumnOf >> 3 * (lane - kHessian) & 7);
    const double entry = ndt::ChartHessianEntry(
        shared.derivatives, shared.chart_axes,
        {shared.stage.second_order, shared.stage.exact_pitch_curvature}, i, j);
    derivatives.hessian.m[i][j] = entry;
    derivatives.hessian.m[j][i] = entry;
  }
}

// The first warp's lanes, one slot each: the search takes the sums of the whole scan.
inline __device__ __noinline__ void TakeSums(Shared& shared, double sum, int lane) {
  const bool finite = __all_sync(kAllLanes, isfinite(sum)) != 0;
  const double raised = floor(__shfl_sync(kAllLanes, sum, kMatched) / kInterruptUnit);
  if (lane == kMatched) sum -= raised * kInterruptUnit;

  Search& search = SearchOf(shared);
  ndt::Evaluation<PoseSums>& next = search.next();
  KeepDerivative(lane, shared.stage.derivative_scale * sum, shared.derivatives);
  if (lane == kExponentials) {
    next.score.score = shared.stage.largest * sum;
    next.derivatives.score = next.score.score;
  }
  if (lane == kBest) next.score.best = shared.stage.largest * sum;
  if (lane == kMatched) next.score.matched_points = sum;
  if (lane == kPairs) next.score.pairs = sum;
  __syncwarp();
  WriteChartEntry(lane, shared, next.derivatives);
  __syncwarp();
  if (lane == 0) {
    next.finite = finite;
    search.Advance(shared.rules, static_cast<Interrupt>(static_cast<int>(raised)));
    PublishWish(shared);
  }
  __syncwarp();
}

inline __device__ __noinline__ void RecordIteration(const Search& search, DeviceIteration& record) {
  const ndt::Evaluation<PoseSums>& from = search.step_evaluation();
  for (int i = 0; i < 6; ++i) {
    record.from[i] = search.step_from()[i];
    record.after[i] = search.step_to()[i];
    record.gradient[i] = from.derivatives.gradient[i];
    for (int j = 0; j < 6; ++j) record.hessian[i][j] = from.derivatives.hessian.m[i][j];
  }
  record.score = from.score;
  record.direction = search.step_direction();
  record.length = search.step_length();
  record.stage = search.step_stage();
}

// See AlignResult::stage.
__device__ __forceinline__ int AnswerStage(const Search& search, const AlignProgram& program) {
  return search.answer_stage() < 0 ? program.score_stage : search.answer_stage();
}

inline __device__ __noinline__ void WriteResult(const Search& search, const AlignProgram& program,
                                                DeviceResult& result) {
  for (int i = 0; i < 6; ++i) {
    result.chart[i] = search.chart()[i];
    result.gradient[i] = search.current().derivatives.gradient[i];
    for (int j = 0; j < 6; ++j) result.hessian[i][j] = search.current().derivatives.hessian.m[i][j];
  }
  result.before = search.before();
  result.after = search.after();
  result.termination = search.termination();
  result.iterations = search.iterations();
  result.evaluations = search.evaluations();
  result.oscillations = search.oscillations();
  result.reached_iteration_limit = search.reached_iteration_limit();
  result.stage = AnswerStage(search, program);
}

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_SEARCH_LEAD_CUH_
