// SPDX-License-Identifier: Apache-2.0
//
// Device code: the state of the search in shared memory, and one warp's work on it between two
// evaluations: from the sums of the scan to the next pose, and from the pose to the transform of
// points. Every block of a cluster does the same computation, with the same bits.

#ifndef VOXLOC_CUDA_ALIGN_SEARCH_STATE_CUH_
#define VOXLOC_CUDA_ALIGN_SEARCH_STATE_CUH_

#include <cstddef>
#include <cstdint>
#include <new>

#include "core/ndt/chart_derivatives.h"
#include "core/ndt/search.h"
#include "cuda/align/device_job.h"
#include "cuda/align/launch_shape.h"
#include "cuda/align/point_match.cuh"
#include "cuda/align/sum_exchange.cuh"

namespace voxloc::cuda {

constexpr uint32_t kAllLanes = 0xffffffffU;

using Search = ndt::NewtonSearch<PoseSums>;

// Of one warp.
struct WarpLanes {
  static constexpr int kCount = 32;
  int index;
  __device__ __forceinline__ void Sync() const { __syncwarp(); }
};

// In the order of the slots, so that each lane writes its own.
struct SlotSums {
  PoseSums score;
  ndt::DerivativeSums<double> derivatives;
};
static_assert(sizeof(SlotSums) == kSlots * sizeof(double), "a slot is a double");
static_assert(offsetof(PoseSums, score) == kExponentials * sizeof(double) &&
                  offsetof(PoseSums, best) == kBest * sizeof(double) &&
                  offsetof(PoseSums, matched_points) == kMatched * sizeof(double) &&
                  offsetof(PoseSums, pairs) == kPairs * sizeof(double) &&
                  offsetof(SlotSums, derivatives.gradient) == kGradient * sizeof(double) &&
                  offsetof(SlotSums, derivatives.hessian) == kHessian * sizeof(double) &&
                  offsetof(SlotSums, derivatives.old_pitch) == kOldPitch * sizeof(double),
              "the order of the slots");

// The evaluation to run next.
struct EvaluationRequest {
  int stage;
  bool all_points;
  bool done;  // the search has ended
};

struct Shared {
  alignas(16) unsigned char search[sizeof(Search)];
  ndt::SearchRules rules;
  StageTerms stage;
  // Double-buffered: a warp without points may still read one while the next is written.
  EvaluationRequest request[2];
  // Likewise. An interrupt is never cleared.
  Interrupt raised[2];
  const volatile uint32_t* stop;  // of the job; null: not watched, or not by this block
  PointTransform map_T_base;
  ndt::Rotation<float> derivative_rotation;
  ndt::ChartAxes<double> chart_axes;
  SlotSums sums;  // of the whole scan
};

__device__ __forceinline__ Search& SearchOf(Shared& shared) {
  return *std::launder(reinterpret_cast<Search*>(shared.search));
}

__device__ __forceinline__ void PublishRequest(Shared& shared, EvaluationRequest& request) {
  const Search& search = SearchOf(shared);
  request = {search.requested_stage(), search.uses_all_points(), search.done()};
}

// What is the same at all poses.
__device__ __forceinline__ void InitializeAxes(Shared& shared) {
  shared.chart_axes = ndt::ComputeChartAxes<double>({0.0, 1.0, 0.0, 1.0, 0.0, 1.0});
}

// Called by one warp: computes the transform of points and the rotation and axes of the derivatives
// for the requested pose. The rotation for derivatives is in float32, from the double sines and
// cosines.
__device__ __forceinline__ void PreparePose(Shared& shared, const StageTerms& stage, int lane) {
  const double(&requested_chart)[6] = SearchOf(shared).requested_chart();
  // Lanes 0 to 2 have the angles of the transform, lanes 3 to 5 those of the derivatives.
  double angle = requested_chart[3 + lane % 3];
  if (lane >= 3 && stage.small_angle_shortcut && std::abs(angle) < ndt::kSmallAngle) angle = 0.0;
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
  // All lanes compute everything, which avoids divergence among those that write.
  const ndt::Rotation<double> rotation =
      ndt::ComputeRotation<double>({t[0], t[1], t[2], t[3], t[4], t[5]});
  const ndt::Rotation<float> derivative_rotation = ndt::ComputeRotation<float>(
      {static_cast<float>(t[0]), static_cast<float>(t[1]), static_cast<float>(t[2]),
       static_cast<float>(t[3]), static_cast<float>(t[4]), static_cast<float>(t[5])});
  const ndt::ChartAxes<double> axes =
      ndt::ComputeChartAxes<double>({t[0], t[1], t[2], t[3], t[4], t[5]});
  if (lane == 0) {
    shared.map_T_base.Set(rotation, {requested_chart[0], requested_chart[1], requested_chart[2]},
                          stage);
  }
  if (lane == 1) shared.derivative_rotation = derivative_rotation;
  if (lane == 2) {
    // The others do not depend on the pose.
    double(&pitch)[3] = shared.chart_axes.axis[4];
    double(&yaw)[3] = shared.chart_axes.axis[5];
    for (int i = 1; i < 3; ++i) pitch[i] = axes.axis[4][i];
    for (int i = 0; i < 3; ++i) yaw[i] = axes.axis[5][i];
  }
}

// The same, not inlined, outside the loop over evaluations.
__device__ __noinline__ void PreparePoseNoInline(Shared& shared, const StageTerms& stage,
                                                 uint32_t lane) {
  PreparePose(shared, stage, static_cast<int>(lane));
}

// The row (or column) of each entry of the upper triangle of a Hessian, row by row, three bits
// each.
constexpr uint64_t PackUpper(bool columns) {
  uint64_t packed = 0;
  for (int i = 0; i < 6; ++i) {
    for (int j = i; j < 6; ++j) {
      packed |= static_cast<uint64_t>(columns ? j : i) << 3 * ndt::UpperIndex(i, j);
    }
  }
  return packed;
}

// Each lane writes one entry of the derivatives in the chart.
__device__ __forceinline__ void WriteChartEntry(int lane, const Shared& shared,
                                                ndt::Derivatives& derivatives) {
  constexpr uint64_t kRowOf = PackUpper(false);
  constexpr uint64_t kColumnOf = PackUpper(true);
  const bool of_gradient = lane >= kGradient && lane < kHessian;
  const bool of_hessian = lane >= kHessian && lane < kOldPitch;
  const int entry = of_hessian ? lane - kHessian : 0;
  const int i = of_gradient ? lane - kGradient : static_cast<int>(kRowOf >> 3 * entry & 7);
  const int j = of_gradient ? i : static_cast<int>(kColumnOf >> 3 * entry & 7);
  const double slope = ndt::ChartGradientEntry(shared.sums.derivatives, shared.chart_axes, i);
  const double curvature =
      ndt::ChartHessianEntry(shared.sums.derivatives, shared.chart_axes,
                             {shared.stage.second_order, shared.stage.exact_pitch_curvature}, i, j);
  if (of_gradient) derivatives.gradient[i] = slope;
  if (of_hessian) {
    derivatives.hessian.m[i][j] = curvature;
    derivatives.hessian.m[j][i] = curvature;
  }
}

// By the first warp, one slot a lane: advances the search with the sums of the whole scan.
__device__ __forceinline__ void AdvanceSearch(Shared& shared, double sum, int lane,
                                              EvaluationRequest& request) {
  const bool finite = __all_sync(kAllLanes, isfinite(sum)) != 0;
  const bool interrupted = lane == kMatched && sum >= kInterruptUnit;
  int raised = 0;
  if (__any_sync(kAllLanes, interrupted) != 0) {
    const double units = floor(__shfl_sync(kAllLanes, sum, kMatched) / kInterruptUnit);
    if (lane == kMatched) sum -= units * kInterruptUnit;
    raised = static_cast<int>(units);
  }

  Search& search = SearchOf(shared);
  ndt::Evaluation<PoseSums>& next = search.next();
  const double unit = lane < kMatched    ? shared.stage.max_pair_score
                      : lane < kGradient ? 1.0
                                         : shared.stage.derivative_scale;
  reinterpret_cast<double*>(&shared.sums)[lane] = unit * sum;
  __syncwarp();
  WriteChartEntry(lane, shared, next.derivatives);
  if (lane == 0) {
    next.score = shared.sums.score;
    next.derivatives.score = shared.sums.score.score;
    next.finite = finite;
  }
  __syncwarp();
  search.Advance(shared.rules, static_cast<Interrupt>(raised), WarpLanes{lane});
  if (lane == 0) PublishRequest(shared, request);
  __syncwarp();
}

__device__ __noinline__ void RecordIteration(const Search& search, DeviceIteration& record) {
  search.WriteStep(record.step);
  record.score = search.step_score();
}

// See AlignResult::stage.
__device__ __forceinline__ int ResultStage(const Search& search, const AlignProgram& program) {
  return search.result_stage() < 0 ? program.score_stage : search.result_stage();
}

__device__ __noinline__ void WriteResult(const Search& search, const AlignProgram& program,
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
  result.stage = ResultStage(search, program);
}

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_SEARCH_STATE_CUH_
