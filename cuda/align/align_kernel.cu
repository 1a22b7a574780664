// SPDX-License-Identifier: Apache-2.0
//
// One alignment: a cluster of blocks evaluates the scan at a pose, every block adds up the same
// sums in the same order and takes the same step from them, and so on to the end. Blocks meet once
// an evaluation, to exchange their sums; the host is not asked anything.

#include <cuda_runtime.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "cuda/align/align_kernel.h"
#include "cuda/align/cluster.cuh"
#include "cuda/align/launch_shape.h"
#include "cuda/align/point_match.cuh"
#include "cuda/align/row_exchange.cuh"
#include "cuda/align/search_lead.cuh"
#include "cuda/align/virtual_warps.h"
#include "cuda/align/warp_sums.cuh"
#include "cuda/runtime/clock.cuh"

namespace voxloc::cuda {
namespace {

constexpr int kMostThreads = 256;
constexpr int kLargestCluster = kRows;
// What every device with clusters can run; more has to be allowed for each kernel.
constexpr int kLargestPortableCluster = 8;
static_assert(kMostThreads == 32 * kColumns, "a warp of a cluster has one column");

// What one chunk adds: lane i gets the sum of slot i over the chunk's points.
__device__ __forceinline__ float SumChunk(const Shared& shared, const ndt::Vector3<float>& point,
                                          const MatchedPoint& matched) {
  ndt::DerivativeSums<float> derivatives;
  // What is added to minus zero is itself, so that the compiler leaves these additions out.
  for (float& entry : derivatives.gradient) entry = -0.0F;
  for (float& entry : derivatives.hessian) entry = -0.0F;
  derivatives.old_pitch = -0.0F;
  // A point without a pair is taken for zero: its sums are, but zero times infinity is not.
  const bool any = matched.pairs > 0;
  const ndt::Vector3<float> x = {any ? point.x : 0.0F, any ? point.y : 0.0F, any ? point.z : 0.0F};
  if (shared.stage.second_order) {
    ndt::AddPoint<true>(x, matched.sums, shared.derivative_rotation, derivatives);
  } else {
    ndt::AddPoint<false>(x, matched.sums, shared.derivative_rotation, derivatives);
  }
  float values[32];
  values[kExponentials] = matched.sums.exponentials;
  values[kBest] = matched.best;
  values[kMatched] = any ? 1.0F : 0.0F;
  values[kPairs] = static_cast<float>(matched.pairs);
#pragma unroll
  for (int i = 0; i < ndt::kGradientSize; ++i) values[kGradient + i] = derivatives.gradient[i];
#pragma unroll
  for (int i = 0; i < ndt::kHessianSize; ++i) values[kHessian + i] = derivatives.hessian[i];
  values[kOldPitch] = derivatives.old_pitch;
  return SumOverLanes(values);
}

struct ScanView {
  const float* x;
  const float* y;
  const float* z;
  uint32_t points;
};

__device__ __forceinline__ ScanView ViewOf(const AlignArguments& arguments,
                                           const DeviceScan& scan) {
  const float* const points = arguments.points + scan.first;
  return {points, points + scan.stride, points + 2 * size_t{scan.stride}, scan.points};
}

template <int kPairsAtOnce>
__device__ __forceinline__ float EvaluateChunk(const Shared& shared, const ScanView& scan,
                                               uint32_t points, uint32_t chunk) {
  const uint32_t i = chunk * kPointsPerChunk + threadIdx.x % 32;
  ndt::Vector3<float> point;
  MatchedPoint matched;
  if (i < points) {
    point = {__ldg(scan.x + i), __ldg(scan.y + i), __ldg(scan.z + i)};
    matched = MatchPoint<Wanted::kDerivatives, kPairsAtOnce>(
        shared.stage, shared.map_T_base.Locate(point.x, point.y, point.z, shared.stage));
  }
  __syncwarp();
  return SumChunk(shared, point, matched);
}

// The best pair of each point at the final pose.
__device__ __noinline__ void WritePointScores(const Shared& shared, const ScanView& scan,
                                              uint32_t rank, uint32_t cluster,
                                              float* point_scores) {
  const auto largest = static_cast<float>(shared.stage.largest);
  for (uint32_t i = rank * blockDim.x + threadIdx.x; i < scan.points; i += cluster * blockDim.x) {
    const MatchedPoint matched = MatchPoint<Wanted::kScore, 1>(
        shared.stage, shared.map_T_base.Locate(__ldg(scan.x + i), __ldg(scan.y + i),
                                               __ldg(scan.z + i), shared.stage));
    point_scores[i] = largest * matched.best;
  }
}

// The sums of each group of a pass, a warp for each.
__device__ __noinline__ void SumGroups(const Shared& shared, const ScanView& scan,
                                       const DevicePass& pass, const AlignArguments& arguments,
                                       uint32_t rank, uint32_t cluster) {
  const uint32_t* const places = arguments.places + pass.places_begin;
  const uint32_t* const ends = arguments.ends + pass.ends_begin;
  const uint32_t warps = blockDim.x / 32;
  const uint32_t lane = threadIdx.x % 32;
  const auto largest = static_cast<float>(shared.stage.largest);
  for (uint32_t group = rank * warps + threadIdx.x / 32; group < pass.groups;
       group += cluster * warps) {
    const uint32_t begin = group == 0 ? 0 : __ldg(ends + group - 1);
    const uint32_t end = __ldg(ends + group);
    double sum = 0.0;
    for (uint32_t first = begin; first < end; first += kPointsPerChunk) {
      ndt::Vector3<float> point;
      MatchedPoint matched;
      if (first + lane < end) {
        const uint32_t i = __ldg(places + first + lane);
        point = {__ldg(scan.x + i), __ldg(scan.y + i), __ldg(scan.z + i)};
        matched = MatchPoint<Wanted::kBoundary, 1>(
            shared.stage, shared.map_T_base.Locate(point.x, point.y, point.z, shared.stage));
        if (pass.want_point_scores) {
          arguments.point_scores[pass.point_scores_begin + i] = largest * matched.best;
        }
      }
      __syncwarp();
      sum += static_cast<double>(SumChunk(shared, point, matched));
    }
    const bool score = lane == kExponentials || lane == kBest;
    const bool count = lane == kMatched || lane == kPairs;
    const double unit = score ? shared.stage.largest : count ? 1.0 : shared.stage.derivative_scale;
    arguments.group_sums[pass.sums_begin + group].slot[lane] = static_cast<float>(unit * sum);
  }
}

// Copies by all threads of the block; both are multiples of four bytes long.
template <typename T>
__device__ __forceinline__ void CopyToShared(const T& from, T& to) {
  static_assert(sizeof(T) % 4 == 0, "copied by words");
  for (uint32_t i = threadIdx.x; i < sizeof(T) / 4; i += blockDim.x) {
    reinterpret_cast<uint32_t*>(&to)[i] = reinterpret_cast<const uint32_t*>(&from)[i];
  }
}

// Of two neighbouring slots, over the columns of a row.
__device__ __forceinline__ double2 SumColumns(const double* first, uint32_t columns) {
  double2 sum = {0.0, 0.0};
#pragma unroll
  for (uint32_t column = 0; column < kColumns; ++column) {
    if (column < columns) {
      const double2 added = *reinterpret_cast<const double2*>(first + column * kSlots);
      sum.x += added.x;
      sum.y += added.y;
    }
  }
  return sum;
}

// Of a slot, over all rows.
__device__ __forceinline__ double SumRows(const double* first) {
  double row[kRows];
#pragma unroll
  for (int i = 0; i < kRows; ++i) row[i] = first[i * kSlots];
  return SumByPairs(row);
}

// An interrupt, as it rides on the matched points.
__device__ __forceinline__ double RaisedUnits(Interrupt raised, uint64_t deadline_ns) {
  const bool late = deadline_ns != 0 && NowNs() >= deadline_ns;
  return kInterruptUnit * static_cast<int>(late ? Interrupt::kDeadline : raised);
}

// What is evaluated once more at the final pose. All threads of the cluster.
__device__ __noinline__ void RunPasses(Shared& shared, const AlignArguments& arguments,
                                       const DeviceJob& job, const AlignProgram& program,
                                       uint32_t rank, uint32_t cluster) {
  const uint32_t warp = threadIdx.x / 32;
  const auto lane = static_cast<int>(threadIdx.x % 32);
  const int answer = job.passes_only ? program.stages - 1 : AnswerStage(SearchOf(shared), program);
  for (uint32_t k = 0; k < job.passes; ++k) {
    const DevicePass& pass = arguments.passes[job.passes_begin + k];
    __syncthreads();
    CopyToShared(program.terms[pass.score_stage ? program.score_stage : answer], shared.stage);
    __syncthreads();
    if (threadIdx.x == 0) {
      // Derivatives are exact whatever the stage searches with.
      shared.stage.second_order = true;
      shared.stage.curvature = shared.stage.d2;
      shared.stage.small_angle_shortcut = false;
      if (pass.own_cell_only) {
        shared.stage.reach = 0;
        shared.stage.squared_radius_m2 = HUGE_VALF;
        shared.stage.boundary = ndt::BoundaryOf(HUGE_VALF);
      }
    }
    __syncthreads();
    if (warp == 0) PreparePose(shared, shared.stage, shared.stage.small_angle_shortcut, lane);
    __syncthreads();
    const ScanView scan = ViewOf(arguments, arguments.scans[pass.scan]);
    if (pass.groups > 0) {
      SumGroups(shared, scan, pass, arguments, rank, cluster);
    } else if (pass.want_point_scores) {
      WritePointScores(shared, scan, rank, cluster,
                       arguments.point_scores + pass.point_scores_begin);
    }
  }
}

// Compiled several times: the fewer jobs share a multiprocessor, the more registers and the larger
// blocks.
template <int kThreads, int kBlocksPerMultiprocessor, int kPairsAtOnce>
__global__ void __launch_bounds__(kThreads, kBlocksPerMultiprocessor)
    AlignKernel(const AlignArguments arguments) {
  __shared__ Shared shared;
  // Of a lone block: the sums of all rows, [kRows][kSlots]. Of a block of a cluster: RowExchange,
  // and behind it the columns of its rows, to be added in order, [rows of this
  // block][kColumns][kSlots].
  extern __shared__ __align__(16) double dynamic[];

  const uint32_t cluster = ClusterSize();
  const uint32_t rank = ClusterRank();
  const DeviceJob& job = arguments.jobs[blockIdx.x / cluster];
  const AlignProgram& program = arguments.programs[job.program];
  const DeviceScan& device_scan = arguments.scans[job.scan];
  const ScanView scan = ViewOf(arguments, device_scan);
  RowExchange& exchange = *reinterpret_cast<RowExchange*>(dynamic);
  const SlotShare share = ShareOf(rank, cluster);
  double* const columns = dynamic + sizeof(RowExchange) / sizeof(double);
  const uint32_t warps = blockDim.x / 32;
  const uint32_t warp = threadIdx.x / 32;
  const auto lane = static_cast<int>(threadIdx.x % 32);
  const uint32_t rows_here = kRows / cluster;
  const uint32_t first_row = rank * rows_here;

  if (threadIdx.x == 0) {
    ndt::SearchRules& rules = shared.rules;
    for (int i = 0; i < program.stages; ++i) {
      rules.stage[i] = program.rules[i];
      ndt::ObservedDirections& observed = rules.stage[i].observed;
      if (observed.ratio > 0.0 && observed.rotation_scale_m == 0.0) {
        observed.rotation_scale_m = job.rotation_scale_m;
      }
    }
    rules.stages = program.stages;
    rules.score_stage = program.score_stage;
    rules.entry = job.entry;
    rules.judgement = program.judgement;
    rules.traced = job.want_trace;
    rules.regularized = job.regularized;
    rules.score_includes_regularization = job.score_includes_regularization;
    rules.reference_x = job.reference_x;
    rules.reference_y = job.reference_y;
    rules.regularization_scale = job.regularization_scale;
    new (shared.search) Search(rules, job.guess);
    PublishWish(shared);
    if (job.passes_only) shared.done = true;
    if (cluster > 1) Initialize(exchange);
  }
  __syncthreads();
  if (cluster > 1) SynchronizeCluster();

  // Rows and columns that have chunks are shared out among the warps: by a lone block whole rows,
  // which a warp then adds up itself; by a block of a cluster single columns of its rows.
  const bool alone = cluster == 1;
  const uint32_t first_part = alone ? 0 : warp;
  const uint32_t part_step = alone ? 1 : warps;

  const Interrupt raised = job.interrupt;
  const uint64_t deadline_ns = job.deadline_ns;
  int stage_loaded = -1;
  uint32_t evaluation = 0;
  uint32_t trace_at = job.trace_begin;
  while (!shared.done) {
    if (shared.stage_number != stage_loaded) {
      stage_loaded = shared.stage_number;
      CopyToShared(program.terms[stage_loaded], shared.stage);
    }
    if (warp == 0) {
      const StageTerms& terms = program.terms[stage_loaded];
      PreparePose(shared, terms, terms.small_angle_shortcut, lane);
    }
    __syncthreads();

    const uint32_t points_used =
        shared.all_points ? scan.points : device_scan.stage_points[stage_loaded];
    const uint32_t chunks = (points_used + kPointsPerChunk - 1) / kPointsPerChunk;
    const uint32_t columns_used = min((chunks + kRows - 1) / kRows, uint32_t{kColumns});
    const uint32_t parts = alone ? kRows / warps * columns_used : rows_here * columns_used;
    double row_sum = 0.0;
    for (uint32_t part = first_part; part < parts; part += part_step) {
      const uint32_t row_here = part / columns_used;
      const uint32_t column = part - row_here * columns_used;
      const uint32_t row = alone ? warp + warps * row_here : first_row + row_here;
      double column_sum = 0.0;
      for (uint32_t chunk = row + kRows * column; chunk < chunks; chunk += kVirtualWarps) {
        column_sum +=
            static_cast<double>(EvaluateChunk<kPairsAtOnce>(shared, scan, points_used, chunk));
      }
      if (!alone) {
        columns[(row_here * kColumns + column) * kSlots + static_cast<uint32_t>(lane)] = column_sum;
        continue;
      }
      row_sum = column == 0 ? column_sum : row_sum + column_sum;
      if (column == columns_used - 1) dynamic[row * kSlots + static_cast<uint32_t>(lane)] = row_sum;
    }
    __syncthreads();

    if (!alone) {
      if (threadIdx.x == 0) Expect(exchange, share);
      for (uint32_t i = threadIdx.x; i < rows_here * kSlots / 2; i += blockDim.x) {
        const uint32_t row = i / (kSlots / 2);
        const uint32_t slot = 2 * (i % (kSlots / 2));
        double2 sums = SumColumns(columns + row * kColumns * kSlots + slot, columns_used);
        if (first_row + row == 0 && slot == kMatched) sums.x += RaisedUnits(raised, deadline_ns);
        SendToOwner(exchange, share, first_row + row, slot, sums);
      }
    }
    if (warp == 0) {
      double sum = alone ? SumRows(dynamic + lane)
                         : ExchangeSums(exchange, share, evaluation % 2, threadIdx.x);
      if (alone && lane == kMatched) sum += RaisedUnits(raised, deadline_ns);
      TakeSums(shared, sum, lane);
      if (lane == 0 && rank == 0 && job.want_trace && SearchOf(shared).stepped()) {
        RecordIteration(SearchOf(shared), arguments.trace[trace_at++]);
      }
    }
    ++evaluation;
    __syncthreads();
  }

  if (rank == 0 && threadIdx.x == 0) {
    WriteResult(SearchOf(shared), program, arguments.results[blockIdx.x / cluster]);
  }
  if (job.want_point_scores) {
    const StageTerms& terms = program.terms[program.score_stage];
    CopyToShared(terms, shared.stage);
    if (warp == 0) PreparePose(shared, terms, terms.small_angle_shortcut, lane);
    __syncthreads();
    WritePointScores(shared, scan, rank, cluster, arguments.point_scores + job.point_scores_begin);
  }
  if (job.passes > 0) RunPasses(shared, arguments, job, program, rank, cluster);
  // Nobody leaves while others may write to its shared memory.
  if (cluster > 1) SynchronizeCluster();
}

constexpr size_t DynamicBytes(int cluster) {
  constexpr size_t kRowBytes = sizeof(double) * kSlots;
  return cluster == 1
             ? kRows * kRowBytes
             : sizeof(RowExchange) + kRowBytes * kColumns * static_cast<size_t>(kRows / cluster);
}

struct Variant {
  void (*kernel)(AlignArguments);
  int threads;
};
// Small: of 4 to 8 blocks of 128 threads, one and two pairs at once, six with one align the batches
// of the benchmark fastest (docs/performance.md).
constexpr Variant kLarge = {AlignKernel<kMostThreads, 1, 2>, kMostThreads};
constexpr Variant kMedium = {AlignKernel<kMostThreads, 2, 2>, kMostThreads};
constexpr Variant kSmall = {AlignKernel<128, 6, 1>, 128};
constexpr const Variant* kOfClusters[] = {&kLarge, &kMedium};

const Variant& VariantOf(BlockSize blocks) {
  if (blocks == BlockSize::kLarge) return kLarge;
  return blocks == BlockSize::kMedium ? kMedium : kSmall;
}

// The launch of one kernel: with clusters of this many blocks.
class Launch {
 public:
  Launch(const Variant& variant, uint32_t jobs, int cluster, cudaStream_t stream) {
    config_.gridDim = dim3(jobs * static_cast<uint32_t>(cluster));
    config_.blockDim = dim3(static_cast<unsigned>(variant.threads));
    config_.stream = stream;
    config_.dynamicSmemBytes = DynamicBytes(cluster);
    if (cluster == 1) return;
    attribute_.id = cudaLaunchAttributeClusterDimension;
    attribute_.val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
    config_.attrs = &attribute_;
    config_.numAttrs = 1;
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  [[nodiscard]] const cudaLaunchConfig_t& config() const { return config_; }

 private:
  cudaLaunchConfig_t config_{};
  cudaLaunchAttribute attribute_{};
};

// Whether the device can run clusters of so many blocks of the kernel.
bool IsUsable(Device& device, const Variant& variant, int cluster) {
  if (cluster > kLargestPortableCluster &&
      !device
           .Check(cudaFuncSetAttribute(variant.kernel,
                                       cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
                  "allowing large clusters")
           .ok()) {
    return false;
  }
  const Launch launch(variant, 1, cluster, nullptr);
  int active = 0;
  return device
             .Check(cudaOccupancyMaxActiveClusters(&active, variant.kernel, &launch.config()),
                    "asking for the largest cluster")
             .ok() &&
         active > 0;
}

}  // namespace

absl::StatusOr<AlignLimits> QueryAlignLimits(Device& device) {
  VOXLOC_TRY(device.MakeCurrent());
  AlignLimits limits;
  int small = 0;
  int large = 0;
  for (const auto& [variant, blocks] : {std::pair{&kSmall, &small}, std::pair{&kLarge, &large}}) {
    VOXLOC_CUDA_TRY(device,
                    cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                        blocks, variant->kernel, variant->threads, DynamicBytes(1)),
                    "asking for the alignment kernel's occupancy");
    *blocks = std::max(1, *blocks);
  }
  limits.resident_blocks = small * device.properties().multiprocessors;
  limits.blocks_of_large = (small + large - 1) / large;
  if (device.properties().major < 9) return limits;
  // A device or driver that refuses is one with smaller clusters, or without any.
  const auto usable = [&](int cluster) {
    return std::all_of(std::begin(kOfClusters), std::end(kOfClusters),
                       [&](const Variant* variant) { return IsUsable(device, *variant, cluster); });
  };
  limits.largest_cluster = LargestUsableCluster(kLargestCluster, usable);
  if (!device.healthy()) return device.MakeCurrent();
  return limits;
}

absl::Status LaunchAlign(Device& device, const AlignArguments& arguments, const LaunchShape& shape,
                         cudaStream_t stream) {
  const Variant& variant = VariantOf(shape.blocks);
  const Launch launch(variant, arguments.job_count, shape.cluster, stream);
  return device.Check(cudaLaunchKernelEx(&launch.config(), variant.kernel, arguments),
                      "launching an alignment");
}

}  // namespace voxloc::cuda
