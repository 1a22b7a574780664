// SPDX-License-Identifier: Apache-2.0
//
// One alignment: a cluster (or group) of blocks evaluates the scan at a pose, every block gets the
// same sums and takes the same step from them, until the search ends. Blocks synchronise once an
// evaluation, to exchange their sums; the host is not involved.
//
// The critical path of an evaluation is the slowest warp with points, then the first warp, which
// advances the search. So there is one block barrier an evaluation, and work that does not depend
// on the sums is done before they arrive.
//
// One file, because its parts use one layout of shared memory and one budget of registers.

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <new>

#include "cuda/align/align_kernel.h"
#include "cuda/align/cluster.cuh"
#include "cuda/align/group_exchange.cuh"
#include "cuda/align/launch_shape.h"
#include "cuda/align/point_match.cuh"
#include "cuda/align/search_state.cuh"
#include "cuda/align/sum_exchange.cuh"
#include "cuda/runtime/clock.cuh"

namespace voxloc::cuda {
namespace {

constexpr int kMaxThreads = 512;
constexpr int kMaxCluster = kRows;
// Every device with clusters can run this size; larger ones must be enabled per kernel.
constexpr int kMaxPortableCluster = 8;
static_assert(kMaxThreads == 32 * kColumns, "the widest block has a warp for each column");

// What one chunk adds: lane i gets the sum of slot i over the chunk's points.
__device__ __forceinline__ float SumChunk(const Shared& shared, const ndt::Vector3<float>& point,
                                          const MatchedPoint& matched) {
  ndt::DerivativeSums<float> derivatives;
  // -0 + v = v for every v, so that the compiler removes these additions.
  for (float& entry : derivatives.gradient) entry = -0.0F;
  for (float& entry : derivatives.hessian) entry = -0.0F;
  derivatives.old_pitch = -0.0F;
  // A point without a pair is set to zero: its sums are zero, but 0 * infinity is NaN.
  const bool any = matched.pairs > 0;
  const ndt::Vector3<float> x = {any ? point.x : 0.0F, any ? point.y : 0.0F, any ? point.z : 0.0F};
  if (shared.stage.second_order) {
    ndt::AddPoint<true>(x, matched.sums, shared.derivative_rotation, derivatives);
  } else {
    ndt::AddPoint<false>(x, matched.sums, shared.derivative_rotation, derivatives);
  }
  float values[kSlots];
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
    matched = MatchPoint<PairSumKind::kDerivatives, kPairsAtOnce>(
        shared.stage, shared.map_T_base.Locate(point.x, point.y, point.z, shared.stage));
  }
  __syncwarp();
  return SumChunk(shared, point, matched);
}

// The same for a column of chunks.
template <int kPairsAtOnce>
__device__ __forceinline__ double SumColumn(const Shared& shared, const ScanView& scan,
                                            uint32_t points, uint32_t chunks, uint32_t row,
                                            uint32_t column) {
  double sum = 0.0;
  for (uint32_t chunk = row + kRows * column; chunk < chunks; chunk += kVirtualWarps) {
    sum += static_cast<double>(EvaluateChunk<kPairsAtOnce>(shared, scan, points, chunk));
  }
  return sum;
}

// The best pair of each point at the final pose.
__device__ __noinline__ void WritePointScores(const Shared& shared, const ScanView& scan,
                                              uint32_t rank, uint32_t cluster,
                                              float* point_scores) {
  const auto max_pair_score = static_cast<float>(shared.stage.max_pair_score);
  for (uint32_t i = rank * blockDim.x + threadIdx.x; i < scan.points; i += cluster * blockDim.x) {
    const MatchedPoint matched = MatchPoint<PairSumKind::kScore, 1>(
        shared.stage, shared.map_T_base.Locate(__ldg(scan.x + i), __ldg(scan.y + i),
                                               __ldg(scan.z + i), shared.stage));
    point_scores[i] = max_pair_score * matched.best;
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
  const auto max_pair_score = static_cast<float>(shared.stage.max_pair_score);
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
        matched = MatchPoint<PairSumKind::kBoundary, 1>(
            shared.stage, shared.map_T_base.Locate(point.x, point.y, point.z, shared.stage));
        if (pass.with_point_scores) {
          arguments.point_scores[pass.point_scores_begin + i] = max_pair_score * matched.best;
        }
      }
      __syncwarp();
      sum += static_cast<double>(SumChunk(shared, point, matched));
    }
    const bool score = lane == kExponentials || lane == kBest;
    const bool count = lane == kMatched || lane == kPairs;
    const double unit = score   ? shared.stage.max_pair_score
                        : count ? 1.0
                                : shared.stage.derivative_scale;
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

// Of a slot, over all rows.
__device__ __forceinline__ double SumRows(const double* first) {
  double row[kRows];
#pragma unroll
  for (int i = 0; i < kRows; ++i) row[i] = first[i * kSlots];
  return SumByPairs(row);
}

// An interrupt in the encoding of kInterruptUnit.
__device__ __forceinline__ double InterruptUnits(Interrupt raised, uint64_t deadline_ns) {
  const bool late = deadline_ns != 0 && NowNs() >= deadline_ns;
  return kInterruptUnit * static_cast<int>(late ? Interrupt::kDeadline : raised);
}

// By one thread outside the first warp, which advances the search meanwhile.
__device__ __forceinline__ void PollStop(const Shared& shared, Interrupt& raised) {
  if (shared.stop != nullptr && *shared.stop != 0) raised = Interrupt::kCancelled;
}

// What is evaluated once more at the final pose. All threads of the cluster.
__device__ __noinline__ void RunPasses(Shared& shared, const AlignArguments& arguments,
                                       const DeviceJob& job, const AlignProgram& program,
                                       uint32_t rank, uint32_t cluster) {
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t lane = threadIdx.x % 32;
  const int answer = job.passes_only ? program.stages - 1 : ResultStage(SearchOf(shared), program);
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
    if (warp == 0) PreparePoseNoInline(shared, shared.stage, lane);
    __syncthreads();
    const ScanView scan = ViewOf(arguments, arguments.scans[pass.scan]);
    if (pass.groups > 0) {
      SumGroups(shared, scan, pass, arguments, rank, cluster);
    } else if (pass.with_point_scores && !pass.of_groups) {
      WritePointScores(shared, scan, rank, cluster,
                       arguments.point_scores + pass.point_scores_begin);
    }
  }
}

// Compiled for each BlockSize.
template <int kThreads, int kBlocksPerMultiprocessor, int kPairsAtOnce,
          Exchange kExchange = Exchange::kCluster>
__global__ void __launch_bounds__(kThreads, kBlocksPerMultiprocessor)
    AlignKernel(const AlignArguments arguments) {
  __shared__ Shared shared;
  // Of a lone block: the sums of all rows, [kRows][kSlots]. Of a block of a cluster: SumExchange.
  extern __shared__ __align__(16) double dynamic[];

  constexpr bool kInGroup = kExchange == Exchange::kGroup;
  const uint32_t cluster = kInGroup ? arguments.group : ClusterSize();
  const uint32_t rank = kInGroup ? blockIdx.x % cluster : ClusterRank();
  const DeviceJob& job = arguments.jobs[blockIdx.x / cluster];
  const AlignProgram& program = arguments.programs[job.program];
  const DeviceScan& device_scan = arguments.scans[job.scan];
  const ScanView scan = ViewOf(arguments, device_scan);
  SumExchange& exchange = *reinterpret_cast<SumExchange*>(dynamic);
  const GroupExchange group = {
      kInGroup ? arguments.exchanged_columns + blockIdx.x / cluster * kGroupColumns : nullptr,
      kInGroup ? arguments.counted_columns + blockIdx.x / cluster : nullptr};
  const OwnedSlots owned = OwnedSlotsOf(rank, cluster);
  const uint32_t warps = blockDim.x / 32;
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t rows_here = kRows / cluster;
  const uint32_t row_bits = owned.bits - 1;  // the logarithm of rows_here
  const uint32_t first_row = rank * rows_here;
  // One block of the job looks for interrupts; the others get them with its sums.
  const bool adds_interrupt = kInGroup ? rank == 0 : kMatched >> owned.bits == rank;

  CopyToShared(program.rules, shared.rules.stage);
  CopyToShared(job.prior, shared.rules.prior);
  __syncthreads();
  if (threadIdx.x == 0) {
    ndt::SearchRules& rules = shared.rules;
    for (int i = 0; i < program.stages; ++i) {
      ndt::ObservedDirections& observed = rules.stage[i].observed;
      if (observed.ratio > 0.0 && observed.rotation_scale_m == 0.0) {
        observed.rotation_scale_m = job.rotation_scale_m;
      }
    }
    rules.stages = program.stages;
    rules.score_stage = program.score_stage;
    rules.entry = job.entry;
    rules.judgement = program.judgement;
    rules.traced = job.with_trace;
    rules.regularized = job.regularized;
    rules.score_includes_regularization = job.score_includes_regularization;
    rules.reference_x = job.reference_x;
    rules.reference_y = job.reference_y;
    rules.regularization_scale = job.regularization_scale;
    new (shared.search) Search(rules, job.guess);
    PublishRequest(shared, shared.request[0]);
    if (job.passes_only) shared.request[0].done = true;
    InitializeAxes(shared);
    shared.raised[0] = shared.raised[1] = job.interrupt;
    const bool watches = job.watched && adds_interrupt;
    shared.stop = watches ? arguments.stops + blockIdx.x / cluster : nullptr;
    if (!kInGroup && cluster > 1) Initialize(exchange);
  }
  __syncwarp();
  if (warp == 0) PreparePoseNoInline(shared, program.terms[shared.request[0].stage], lane);
  __syncthreads();
  if (!kInGroup && cluster > 1) SynchronizeCluster();

  const bool alone = !kInGroup && cluster == 1;
  const uint64_t deadline_ns = job.deadline_ns;
  const bool records = rank == 0 && job.with_trace;
  int stage_loaded = -1;
  uint32_t stage_points = 0;
  uint32_t trace_at = job.trace_begin;
  uint32_t columns_so_far = 0;  // that a group has counted once the evaluation's are
  for (uint32_t evaluation = 0;; ++evaluation) {
    const EvaluationRequest request = shared.request[evaluation % 2];
    if (request.done) break;
    if (request.stage != stage_loaded) {
      stage_loaded = request.stage;
      stage_points = device_scan.stage_points[stage_loaded];
      CopyToShared(program.terms[stage_loaded], shared.stage);
      __syncthreads();
    }
    const uint32_t points_used = request.all_points ? scan.points : stage_points;
    const uint32_t chunks = (points_used + kPointsPerChunk - 1) / kPointsPerChunk;
    const uint32_t columns_used = min((chunks + kRows - 1) / kRows, uint32_t{kColumns});
    const uint32_t parts = rows_here * columns_used;
    if (!kInGroup && threadIdx.x == 0 && !alone) Expect(exchange, owned, columns_used);
    if (warp == 0) {
      SearchOf(shared).StepAhead(shared.rules, WarpLanes{static_cast<int>(lane)});
    }

    if (alone) {
      // A warp adds up whole rows.
      for (uint32_t row = warp; row < kRows; row += warps) {
        double row_sum = 0.0;
        for (uint32_t column = 0; column < columns_used; ++column) {
          row_sum += SumColumn<kPairsAtOnce>(shared, scan, points_used, chunks, row, column);
        }
        dynamic[row * kSlots + lane] = row_sum;
      }
      __syncthreads();
    } else {
      // Warps take columns of the block's rows in descending order, so that the first warp, which
      // advances the search, gets the least work.
      uint32_t written = 0;
      for (uint32_t part = warps - 1 - warp; part < parts; part += warps) {
        const uint32_t row = first_row + (part & (rows_here - 1));
        const uint32_t column = part >> row_bits;
        double sum = SumColumn<kPairsAtOnce>(shared, scan, points_used, chunks, row, column);
        if constexpr (kInGroup) {
          if (part == 0 && adds_interrupt && lane == kMatched) {
            sum += InterruptUnits(shared.raised[evaluation % 2], deadline_ns);
          }
          WriteColumn(group, evaluation % 2, row, column, lane, sum);
          ++written;
        } else {
          SendColumn(exchange, owned, row, column, lane, sum);
        }
      }
      if constexpr (kInGroup) CountColumns(group, written, lane);
    }
    if (warp == 0) {
      const Interrupt raised = shared.raised[evaluation % 2];
      double sum;
      if constexpr (kInGroup) {
        columns_so_far += columns_used * kRows;
        AwaitColumns(group, columns_so_far, lane);
        sum = SumColumns(group, evaluation % 2, columns_used, lane);
      } else if (alone) {
        sum = SumRows(dynamic + lane);
        if (lane == kMatched) sum += InterruptUnits(raised, deadline_ns);
      } else {
        sum = SumOwnSlots(exchange, owned, columns_used, evaluation % 2, lane);
        if (adds_interrupt && (lane & (owned.size - 1)) == (kMatched & (owned.size - 1))) {
          sum += InterruptUnits(raised, deadline_ns);
        }
        sum = ExchangeSums(exchange, owned, sum, evaluation % 2, lane);
      }
      EvaluationRequest& next = shared.request[(evaluation + 1) % 2];
      AdvanceSearch(shared, sum, static_cast<int>(lane), next);
      if (records && lane == 0 && SearchOf(shared).stepped()) {
        RecordIteration(SearchOf(shared), arguments.trace[trace_at++]);
      }
      if (!next.done) {
        PreparePose(shared, next.stage == stage_loaded ? shared.stage : program.terms[next.stage],
                    static_cast<int>(lane));
      }
    } else if (threadIdx.x == 32) {
      PollStop(shared, shared.raised[(evaluation + 1) % 2]);
    }
    __syncthreads();
  }

  if (rank == 0 && threadIdx.x == 0) {
    WriteResult(SearchOf(shared), program, arguments.results[blockIdx.x / cluster]);
  }
  if (job.with_point_scores) {
    const StageTerms& terms = program.terms[program.score_stage];
    CopyToShared(terms, shared.stage);
    if (warp == 0) PreparePoseNoInline(shared, terms, lane);
    __syncthreads();
    WritePointScores(shared, scan, rank, cluster, arguments.point_scores + job.point_scores_begin);
  }
  if (job.passes > 0) RunPasses(shared, arguments, job, program, rank, cluster);
  // No block may exit while others can still write to its shared memory.
  if (!kInGroup && cluster > 1) SynchronizeCluster();
}

constexpr size_t DynamicBytes(int cluster) {
  return cluster == 1 ? sizeof(double) * kRows * kSlots : SumExchangeBytes(cluster);
}

struct Variant {
  BlockSize size;
  void (*kernel)(AlignArguments);
  int threads;
  bool has_clusters;
};
// Registers bound how many blocks a multiprocessor has. Chosen by the benchmark's batches of 1 to
// 4,096 jobs (docs/performance.md, "Distribution of the time").
constexpr Variant kVariants[kBlockSizes] = {
    {BlockSize::kSmall, AlignKernel<128, 6, 1>, 128, false},
    {BlockSize::kLone, AlignKernel<512, 2, 1>, 512, false},
    {BlockSize::kShort, AlignKernel<256, 2, 2>, 256, true},
    {BlockSize::kLong, AlignKernel<384, 2, 1>, 384, true},
    {BlockSize::kWide, AlignKernel<kMaxThreads, 1, 2>, kMaxThreads, true},
    {BlockSize::kGroup, AlignKernel<256, 2, 2, Exchange::kGroup>, 256, false},
};

// The launch of one kernel: with clusters of this many blocks.
class Launch {
 public:
  Launch(const Variant& variant, uint32_t jobs, int cluster, cudaStream_t stream) {
    config_.gridDim = dim3(jobs * static_cast<uint32_t>(cluster));
    config_.blockDim = dim3(static_cast<unsigned>(variant.threads));
    config_.stream = stream;
    const bool in_group = variant.size == BlockSize::kGroup;
    config_.dynamicSmemBytes = in_group ? 0 : DynamicBytes(cluster);
    if (cluster == 1) return;
    if (in_group) {  // all blocks are resident at once
      attribute_.id = cudaLaunchAttributeCooperative;
      attribute_.val.cooperative = 1;
    } else {
      attribute_.id = cudaLaunchAttributeClusterDimension;
      attribute_.val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
    }
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
  if (cluster > kMaxPortableCluster &&
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
                    "querying the maximum cluster size")
             .ok() &&
         active > 0;
}

}  // namespace

absl::StatusOr<AlignLimits> QueryAlignLimits(Device& device, bool use_clusters) {
  VOXLOC_TRY(device.MakeCurrent());
  AlignLimits limits;
  std::array<int, kBlockSizes> resident{};
  for (const Variant& variant : kVariants) {
    int& blocks = resident[static_cast<size_t>(variant.size)];
    VOXLOC_CUDA_TRY(device,
                    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, variant.kernel,
                                                                  variant.threads, DynamicBytes(1)),
                    "asking for the alignment kernel's occupancy");
    blocks = std::max(1, blocks);
  }
  const int small = resident[static_cast<size_t>(BlockSize::kSmall)];
  limits.resident_blocks = small * device.properties().multiprocessors;
  for (size_t i = 0; i < kBlockSizes; ++i) {
    limits.small_blocks_of[i] = (small + resident[i] - 1) / resident[i];
  }
  if (!use_clusters || device.properties().major < 9) {
    limits.exchange = Exchange::kGroup;
    // Two for each multiprocessor, as ChooseShape takes for granted.
    if (resident[static_cast<size_t>(BlockSize::kGroup)] >= 2) limits.max_cluster = kMaxCluster;
    return limits;
  }
  // An error means that the device or driver supports only smaller clusters, or none.
  const auto usable = [&](int cluster) {
    const auto on_device = [&](const Variant& variant) {
      return !variant.has_clusters || IsUsable(device, variant, cluster);
    };
    return std::all_of(std::begin(kVariants), std::end(kVariants), on_device);
  };
  limits.max_cluster = MaxUsableCluster(kMaxCluster, usable);
  if (!device.healthy()) return device.MakeCurrent();
  return limits;
}

absl::Status LaunchAlign(Device& device, const AlignArguments& arguments, const LaunchShape& shape,
                         cudaStream_t stream) {
  const Variant& variant = kVariants[static_cast<size_t>(shape.blocks)];
  const Launch launch(variant, arguments.job_count, shape.cluster, stream);
  return device.Check(cudaLaunchKernelEx(&launch.config(), variant.kernel, arguments),
                      "launching an alignment");
}

}  // namespace voxloc::cuda
