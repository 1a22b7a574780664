// SPDX-License-Identifier: Apache-2.0
//
// One block scores one pose, with sums in the order that alignments have (launch_shape.h): each
// warp takes some of the rows, chunk after chunk. A block is short, so that tracking, which waits
// for room for all blocks of a cluster at the same time, soon finds it (docs/performance.md,
// "Tracking beside other work").

#include <cuda_runtime.h>

#include "core/ndt/chart.h"
#include "cuda/align/launch_shape.h"
#include "cuda/align/point_match.cuh"
#include "cuda/score/score_kernel.h"

namespace voxloc::cuda {
namespace {

constexpr int kThreads = 128;
constexpr uint32_t kWarps = kThreads / 32;
constexpr uint32_t kRowsPerWarp = kRows / kWarps;
constexpr uint32_t kAllLanes = 0xffffffffU;

__device__ __forceinline__ PointTransform TransformOf(const DevicePose& pose,
                                                      const StageTerms& stage) {
  const double x = pose.x;
  const double y = pose.y;
  const double z = pose.z;
  const double w = pose.w;
  PointTransform map_T_base;
  map_T_base.Set({{{1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)},
                   {2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)},
                   {2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)}}},
                 {pose.translation[0], pose.translation[1], pose.translation[2]}, stage);
  return map_T_base;
}

// Sums over all lanes, of one value in the lower half of them and of the other in the upper half.
// Each is added up as the tree of SumOverLanes.
__device__ __forceinline__ float SumOfLanes(float lower, float upper) {
  const bool is_upper = threadIdx.x % 32 >= 16;
  const float kept = is_upper ? upper : lower;
  const float given = is_upper ? lower : upper;
  float sum = kept + __shfl_xor_sync(kAllLanes, given, 16);
#pragma unroll
  for (int distance = 8; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(kAllLanes, sum, distance);
  }
  return sum;
}

__device__ __forceinline__ uint32_t SumOfLanes(uint32_t value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(kAllLanes, value);
#else
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, distance);
  }
  return value;
#endif
}

// Partial sums of the warps of a block.
struct ScoreParts {
  double row_sums[32];  // of the exponentials, and of the best pairs from the 16th on
  uint32_t matched_points[kWarps];
  uint32_t pairs[kWarps];
};

// By the first warp.
__device__ __forceinline__ DeviceScore AddUp(const ScoreParts& parts, uint32_t lane) {
  // Rows by pairs of neighbours: the lower lanes add up the exponentials, the upper the best pairs.
  double sum = parts.row_sums[lane];
#pragma unroll
  for (int apart = 1; apart < kRows; apart *= 2) sum += __shfl_xor_sync(kAllLanes, sum, apart);
  DeviceScore score{sum, __shfl_sync(kAllLanes, sum, kRows), 0, 0};
#pragma unroll
  for (uint32_t warp = 0; warp < kWarps; ++warp) {
    score.matched_points += parts.matched_points[warp];
    score.pairs += parts.pairs[warp];
  }
  return score;
}

__global__ void __launch_bounds__(kThreads, 8) ScoreKernel(const ScoreArguments arguments) {
  __shared__ ScoreParts parts;
  const uint32_t pose = blockIdx.x;
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t lane = threadIdx.x % 32;
  const StageTerms& stage = arguments.stage;
  const DeviceScan& scan = arguments.scan;
  const float* x = arguments.points + scan.first;
  const float* y = x + scan.stride;
  const float* z = y + scan.stride;
  const PointTransform map_T_base = TransformOf(arguments.poses[pose], stage);
  const uint32_t chunks = (scan.points + kPointsPerChunk - 1) / kPointsPerChunk;

  // Lane r holds the sums of row r, if it is the warp's: of the exponentials where r < 16, of the
  // best pairs in lane 16 + r.
  static_assert(kRows == 16, "half of the lanes have the exponentials");
  const uint32_t first_row = warp * kRowsPerWarp;
  double row_sum = 0.0;
  uint32_t matched_points = 0;  // of this lane
  uint32_t pairs = 0;
  for (uint32_t column = 0; column < kColumns && kRows * column < chunks; ++column) {
    double column_sum = 0.0;
    for (uint32_t first = kRows * column; first < chunks; first += kVirtualWarps) {
      for (uint32_t row = first_row; row < first_row + kRowsPerWarp && first + row < chunks;
           ++row) {
        const uint32_t i = (first + row) * kPointsPerChunk + lane;
        MatchedPoint matched;
        if (i < scan.points) {
          matched = MatchPoint<PairSumKind::kScore, 1>(
              stage, map_T_base.Locate(__ldg(x + i), __ldg(y + i), __ldg(z + i), stage));
          if (arguments.point_scores != nullptr) {
            arguments.point_scores[size_t{pose} * scan.points + i] =
                static_cast<float>(stage.max_pair_score) * matched.best;
          }
        }
        __syncwarp();
        const float chunk_sum = SumOfLanes(matched.sums.exponentials, matched.best);
        if (lane % kRows == row) column_sum += static_cast<double>(chunk_sum);
        matched_points += matched.pairs > 0 ? 1U : 0U;
        pairs += static_cast<uint32_t>(matched.pairs);
      }
    }
    row_sum += column_sum;
  }

  if (lane % kRows / kRowsPerWarp == warp) parts.row_sums[lane] = row_sum;
  matched_points = SumOfLanes(matched_points);
  pairs = SumOfLanes(pairs);
  if (lane == 0) {
    parts.matched_points[warp] = matched_points;
    parts.pairs[warp] = pairs;
  }
  __syncthreads();
  if (warp > 0) return;
  const DeviceScore score = AddUp(parts, lane);
  if (lane == 0) arguments.scores[pose] = score;
}

}  // namespace

absl::Status LaunchScore(Device& device, const ScoreArguments& arguments, cudaStream_t stream) {
  ScoreKernel<<<arguments.pose_count, kThreads, 0, stream>>>(arguments);
  return device.Check(cudaGetLastError(), "launching the scoring");
}

}  // namespace voxloc::cuda
