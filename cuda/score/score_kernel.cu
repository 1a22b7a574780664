// SPDX-License-Identifier: Apache-2.0
//
// A block scores some poses, with sums in the order that alignments have (launch_shape.h): each
// warp takes a row, chunk after chunk. Its lanes are shared by the poses and the points of a chunk:
// poses that lie near each other find the same cells at a point, which are then read once for all
// of them. A block is short, so that tracking, which waits for room for all blocks of a cluster at
// the same time, soon finds it (docs/performance.md, "Tracking beside other work").

#include <cuda_runtime.h>

#include "core/ndt/chart.h"
#include "cuda/align/launch_shape.h"
#include "cuda/align/point_match.cuh"
#include "cuda/align/sum_exchange.cuh"
#include "cuda/score/score_kernel.h"

namespace voxloc::cuda {
namespace {

constexpr int kThreads = 32 * kRows;
constexpr uint32_t kAllLanes = 0xffffffffU;

// Poses of a block where there are many: more make blocks longer, fewer read more.
constexpr int kPosesOfMany = 8;

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

// Sums over the lanes of a pose, which are kPoses apart: of `first` in the lower half of the warp
// and of `second` in the upper.
template <int kPoses>
__device__ __forceinline__ float SumOfLanes(float first, float second) {
  const bool is_upper = threadIdx.x % 32 >= 16;
  const float kept = is_upper ? second : first;
  const float given = is_upper ? first : second;
  float sum = kept + __shfl_xor_sync(kAllLanes, given, 16);
#pragma unroll
  for (int distance = 8; distance >= kPoses; distance /= 2) {
    sum += __shfl_xor_sync(kAllLanes, sum, distance);
  }
  return sum;
}

template <int kPoses>
__device__ __forceinline__ uint32_t SumOfLanes(uint32_t value) {
#pragma unroll
  for (int distance = 16; distance >= kPoses; distance /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, distance);
  }
  return value;
}

// Adds up kCount values, a power of two, which come one after the other, as a tree: neighbours
// first.
template <int kCount>
class TreeSum {
 public:
  // `number` of the value, from 0. The last one returns the sum.
  __device__ __forceinline__ float Add(uint32_t number, float value) {
    bool waits = false;
#pragma unroll
    for (int level = 0; (1 << level) < kCount; ++level) {
      if (waits) continue;
      if ((number >> level & 1U) != 0) {
        value += partial_[level];
      } else {
        partial_[level] = value;
        waits = true;
      }
    }
    return value;
  }

 private:
  float partial_[5];  // of 2^level values
};

// Sums of a pose over a row.
struct RowSums {
  double exponentials[kRows];
  double best[kRows];
  uint32_t matched_points[kRows];
  uint32_t pairs[kRows];
};

template <int kPoses>
__global__ void __launch_bounds__(kThreads, 2) ScoreKernel(const ScoreArguments arguments) {
  static_assert(kPoses <= 16, "each half of a warp has every pose");
  __shared__ RowSums sums[kPoses];
  constexpr uint32_t kPointLanes = 32 / kPoses;
  constexpr uint32_t kSteps = kPointsPerChunk / kPointLanes;
  constexpr int kChunkBits = 5;
  static_assert(1 << kChunkBits == kPointsPerChunk, "bits of a point's number in its chunk");
  const uint32_t row = threadIdx.x / 32;
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t of_block = lane % kPoses;
  const uint32_t pose = blockIdx.x * kPoses + of_block;
  const StageTerms& stage = arguments.stage;
  const DeviceScan& scan = arguments.scan;
  const float* x = arguments.points + scan.first;
  const float* y = x + scan.stride;
  const float* z = y + scan.stride;
  const PointTransform map_T_base =
      TransformOf(arguments.poses[min(pose, arguments.pose_count - 1)], stage);
  const uint32_t chunks = (scan.points + kPointsPerChunk - 1) / kPointsPerChunk;

  double row_sum =
      0.0;  // of the exponentials in the lower half of the warp, else of the best pairs
  uint32_t matched_points = 0;  // of this lane
  uint32_t pairs = 0;
  for (uint32_t column = 0; column < kColumns && kRows * column < chunks; ++column) {
    double column_sum = 0.0;
    for (uint32_t chunk = kRows * column + row; chunk < chunks; chunk += kVirtualWarps) {
      TreeSum<kSteps> exponentials;
      TreeSum<kSteps> best;
      float chunk_exponentials = 0.0F;
      float chunk_best = 0.0F;
      for (uint32_t step = 0; step < kSteps; ++step) {
        // Points of a chunk that are 16 apart are added first, then those that are 8 apart: steps
        // take them in the order of the reversed bits of their numbers.
        const uint32_t in_chunk = (__brev(step) >> (32 - kChunkBits)) + lane / kPoses;
        const uint32_t i = chunk * kPointsPerChunk + in_chunk;
        MatchedPoint matched;
        if (i < scan.points) {
          matched = MatchPoint<PairSumKind::kScore, 1>(
              stage, map_T_base.Locate(__ldg(x + i), __ldg(y + i), __ldg(z + i), stage));
          if (arguments.point_scores != nullptr && pose < arguments.pose_count) {
            arguments.point_scores[size_t{pose} * scan.points + i] =
                static_cast<float>(stage.max_pair_score) * matched.best;
          }
        }
        __syncwarp();
        chunk_exponentials = exponentials.Add(step, matched.sums.exponentials);
        chunk_best = best.Add(step, matched.best);
        matched_points += matched.pairs > 0 ? 1U : 0U;
        pairs += static_cast<uint32_t>(matched.pairs);
      }
      column_sum += static_cast<double>(SumOfLanes<kPoses>(chunk_exponentials, chunk_best));
    }
    row_sum += column_sum;
  }

  matched_points = SumOfLanes<kPoses>(matched_points);
  pairs = SumOfLanes<kPoses>(pairs);
  if (lane < kPoses) {
    sums[lane].exponentials[row] = row_sum;
    sums[lane].matched_points[row] = matched_points;
    sums[lane].pairs[row] = pairs;
  } else if (lane >= 16 && lane < 16 + kPoses) {
    sums[lane - 16].best[row] = row_sum;
  }
  __syncthreads();
  if (threadIdx.x >= kPoses || pose >= arguments.pose_count) return;
  const RowSums& own = sums[threadIdx.x];
  DeviceScore score{SumByPairs(own.exponentials), SumByPairs(own.best), 0, 0};
  for (int i = 0; i < kRows; ++i) {
    score.matched_points += own.matched_points[i];
    score.pairs += own.pairs[i];
  }
  arguments.scores[pose] = score;
}

template <int kPoses>
void Launch(const ScoreArguments& arguments, cudaStream_t stream) {
  const uint32_t blocks = (arguments.pose_count + kPoses - 1) / kPoses;
  ScoreKernel<kPoses><<<blocks, kThreads, 0, stream>>>(arguments);
}

}  // namespace

absl::Status LaunchScore(Device& device, const ScoreArguments& arguments, cudaStream_t stream) {
  // Where poses together leave multiprocessors without work, each has its own block.
  const bool many = arguments.pose_count >=
                    static_cast<uint32_t>(kPosesOfMany * device.properties().multiprocessors);
  (many ? Launch<kPosesOfMany> : Launch<1>)(arguments, stream);
  return device.Check(cudaGetLastError(), "launching the scoring");
}

}  // namespace voxloc::cuda
