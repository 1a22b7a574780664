// SPDX-License-Identifier: Apache-2.0

#include "cuda/cuda_engine.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/engine/job_check.h"
#include "core/engine/out_of_memory.h"
#include "core/map/tile_codec.h"
#include "cuda/align/align_batch.h"
#include "cuda/align/align_kernel.h"
#include "cuda/align/align_slice.h"
#include "cuda/align/packed_job.h"
#include "cuda/cloud/scan_filter.h"
#include "cuda/map/cuda_map.h"
#include "cuda/map/map_builder.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/device_clock.h"
#include "cuda/runtime/page_locked_pool.h"
#include "cuda/runtime/pool.h"
#include "cuda/runtime/trace_range.h"
#include "cuda/score/score_batch.h"
#include "cuda/search/bound_slice.h"

namespace voxloc {
namespace {

using cuda::AlignBatch;
using cuda::AlignEntry;
using cuda::CudaMap;
using cuda::CudaTile;
using cuda::Device;
using cuda::Pool;
using cuda::Priority;
using cuda::ScoreBatch;
using cuda::TraceRange;

// Maximum numbers of concurrent calls of each kind; others wait.
constexpr size_t kMaxTrackingCalls = 16;
constexpr size_t kMaxOtherCalls = 4;

// Memory that packed jobs may take and that is kept for the next ones. Two batches of the most
// points that a server makes by default, 2^22 of 12 bytes, and half as much again for the clouds of
// their passes, are 150 MB.
constexpr size_t kMaxPageLockedBytes = size_t{256} << 20;

// Raw clouds of fewer points are filtered on the processor.
constexpr size_t kMinDevicePoints = 10'000;

// Tracking takes precedence over all other work.
Priority PriorityOf(WorkClass work_class) {
  return work_class == WorkClass::kTracking ? Priority::kHigh : Priority::kLow;
}

// Resources for alignments that leave a sixth of the resident blocks to tracking. Beside
// a search of 4,096 candidates the 99th percentile of tracking is then 1.4 times that of a device
// without other work, and 47 times if the search takes all; the search takes 12 % longer, and 28 %
// if it leaves a third (docs/performance.md, "Tracking beside other work").
cuda::AlignResources WithBlockBudget(cuda::AlignResources resources) {
  const int blocks = resources.limits.resident_blocks;
  resources.background_budget =
      std::make_shared<cuda::BlockBudget>(std::max(1, blocks - blocks / 6));
  return resources;
}

// Workspaces of the calls of one priority.
struct Workspaces {
  Workspaces(const cuda::AlignResources& resources, size_t calls, Priority priority)
      : align(calls, [=] { return AlignBatch::Create(resources, priority); }),
        score(calls, [=] { return ScoreBatch::Create(resources.device, priority); }),
        bound(calls, [=] { return cuda::BoundSlice::Create(resources.device, priority); }) {}

  Pool<AlignBatch> align;
  Pool<ScoreBatch> score;
  Pool<cuda::BoundSlice> bound;
};

class CudaEngine : public Engine {
 public:
  CudaEngine(const cuda::AlignResources& resources, std::unique_ptr<cuda::MapBuilder> map_builder,
             std::unique_ptr<cuda::ScanFilter> scan_filter)
      : device_(resources.device),
        map_builder_(std::move(map_builder)),
        scan_filter_(std::move(scan_filter)),
        scan_memory_(device_, kMaxPageLockedBytes),
        tracking_(resources, kMaxTrackingCalls, Priority::kHigh),
        other_(WithBlockBudget(resources), kMaxOtherCalls, Priority::kLow) {}

  EngineInfo Info() const override {
    const cuda::DeviceProperties& properties = device_->properties();
    EngineInfo info;
    info.name = "cuda";
    info.device = absl::StrCat("device ", device_->ordinal(), ", ", properties.name,
                               ", compute capability ", properties.major, ".", properties.minor);
    info.memory_bytes_total = properties.memory_bytes;
    info.memory_bytes_free = device_->MemoryFree();
    return info;
  }

  absl::Status Health() const override {
    return device_->healthy() ? absl::OkStatus() : device_->MakeCurrent();
  }

 protected:
  absl::StatusOr<std::shared_ptr<const ResidentTile>> DoBuildTile(
      const PointCloud& cloud_map, absl::Span<const CellStatistics> statistics) override {
    const TraceRange range("build tile");
    return map_builder_->BuildTile(cloud_map, statistics);
  }

  absl::StatusOr<std::string> DoExportTile(const ResidentTile& tile) override {
    const auto* cuda_tile = dynamic_cast<const CudaTile*>(&tile);
    if (cuda_tile == nullptr || &cuda_tile->device() != device_.get()) {
      return absl::InvalidArgumentError("the tile does not belong to this CUDA engine");
    }
    std::vector<TileMoments> lattices;
    std::vector<const TileMoments*> pointers;
    lattices.reserve(cuda_tile->lattices().size());
    for (const cuda::TileLattice& lattice : cuda_tile->lattices()) {
      VOXLOC_ASSIGN_OR_RETURN(TileMoments moments, cuda_tile->Download(lattice.cell_size_m));
      lattices.push_back(std::move(moments));
      pointers.push_back(&lattices.back());
    }
    return EncodeTile(pointers);
  }

  absl::StatusOr<std::shared_ptr<const ResidentTile>> DoImportTile(
      absl::string_view bytes) override {
    VOXLOC_ASSIGN_OR_RETURN(const std::vector<TileMoments> lattices, DecodeTile(bytes));
    return CudaTile::Upload(device_, lattices);
  }

  absl::StatusOr<std::shared_ptr<const ResidentTile>> DoCopyTile(
      const ResidentTile& tile) override {
    const auto* cuda_tile = dynamic_cast<const CudaTile*>(&tile);
    if (cuda_tile == nullptr) {
      return absl::InvalidArgumentError("the tile does not belong to a CUDA engine");
    }
    return cuda_tile->CopyTo(device_);
  }

  absl::StatusOr<std::shared_ptr<const ResidentMap>> DoCompose(
      absl::Span<const std::shared_ptr<const ResidentTile>> tiles,
      absl::Span<const CellStatistics> statistics, const ResidentMap* previous) override {
    const TraceRange range("compose map");
    std::vector<std::shared_ptr<const CudaTile>> cuda_tiles;
    cuda_tiles.reserve(tiles.size());
    for (const auto& tile : tiles) {
      auto cuda_tile = std::dynamic_pointer_cast<const CudaTile>(tile);
      if (cuda_tile == nullptr || &cuda_tile->device() != device_.get()) {
        return absl::InvalidArgumentError("a tile does not belong to this CUDA engine");
      }
      cuda_tiles.push_back(std::move(cuda_tile));
    }
    const auto* own_previous = dynamic_cast<const CudaMap*>(previous);
    if (own_previous != nullptr && &own_previous->device() != device_.get()) own_previous = nullptr;
    return map_builder_->Compose(cuda_tiles, statistics, own_previous);
  }

  std::shared_ptr<const PackedJob> DoPack(const AlignJob& job) override {
    const TraceRange range("pack scan");
    return cuda::CudaPackedJob::Make(job, scan_memory_);
  }

  // Jobs of different classes in one call run one class after another, tracking first.
  absl::Status DoAlign(absl::Span<const AlignJob> jobs, absl::Span<AlignResult> results) override {
    if (jobs.empty()) return absl::OkStatus();
    const TraceRange range("align");
    VOXLOC_TRY(device_->MakeCurrent());
    std::vector<AlignEntry> entries;
    entries.reserve(jobs.size());
    for (const Priority priority : {Priority::kHigh, Priority::kLow}) {
      entries.clear();
      for (size_t i = 0; i < jobs.size(); ++i) {
        if (PriorityOf(jobs[i].work_class) == priority) entries.push_back({&jobs[i], &results[i]});
      }
      if (entries.empty()) continue;
      VOXLOC_ASSIGN_OR_RETURN(Pool<AlignBatch>::Lease batch,
                              WorkspacesFor(priority).align.Acquire());
      VOXLOC_TRY(batch->Run(entries));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<ScoreResult> DoScore(const ScoreRequest& request) override {
    const TraceRange range("score");
    VOXLOC_ASSIGN_OR_RETURN(const CudaMap* const map,
                            CudaMap::FromResident(*device_, request.map.get()));
    VOXLOC_TRY(CheckCells(*map, absl::MakeConstSpan(&request.stage, 1)));
    ScoreResult result = MakeScoreResult(request);
    const cuda::StageTerms terms =
        cuda::MakeStageTerms(request.stage, *map->Blocks(request.stage.cells));
    VOXLOC_ASSIGN_OR_RETURN(Pool<ScoreBatch>::Lease batch,
                            WorkspacesFor(PriorityOf(request.work_class)).score.Acquire());
    VOXLOC_TRY(batch->Run(request, terms, result));
    return result;
  }

  // Small clouds are filtered faster on the CPU. It is also the fallback, with the same result,
  // when the device has no memory or has failed.
  absl::StatusOr<FilteredCloud> DoFilter(const PointCloud& cloud, const FilterOptions& options,
                                         WorkClass work_class) override {
    if (cloud.size() < kMinDevicePoints) return FilterCloud(cloud, options);
    const TraceRange range("filter scan");
    absl::StatusOr<FilteredCloud> filtered =
        scan_filter_->Filter(cloud, options, PriorityOf(work_class));
    const absl::StatusCode code = filtered.status().code();
    if (filtered.ok() || code == absl::StatusCode::kInvalidArgument) return filtered;
    return FilterCloud(cloud, options);
  }

  absl::StatusOr<std::shared_ptr<const ResidentBoundGrid>> DoLoadBoundGrid(
      BoundGrid grid) override {
    return cuda::DeviceBoundGrid::Upload(device_, grid);
  }

  absl::StatusOr<std::vector<BoundHit>> DoBound(const BoundRequest& request) override {
    const TraceRange range("bound");
    const auto* grid = dynamic_cast<const cuda::DeviceBoundGrid*>(request.grid.get());
    if (grid == nullptr || &grid->device() != device_.get()) {
      return absl::FailedPreconditionError("the grid does not belong to this CUDA engine");
    }
    VOXLOC_ASSIGN_OR_RETURN(Pool<cuda::BoundSlice>::Lease slice,
                            WorkspacesFor(PriorityOf(request.work_class)).bound.Acquire());
    return slice->Run(request, *grid);
  }

 private:
  Workspaces& WorkspacesFor(Priority priority) {
    return priority == Priority::kHigh ? tracking_ : other_;
  }

  // Declared first, so that it outlives everything that gives memory back to it.
  const std::shared_ptr<Device> device_;
  const std::unique_ptr<cuda::MapBuilder> map_builder_;
  const std::unique_ptr<cuda::ScanFilter> scan_filter_;
  cuda::PageLockedPool scan_memory_;  // of packed jobs
  Workspaces tracking_;
  Workspaces other_;
};

}  // namespace

int CudaDeviceCount(std::string* no_gpu_reason) { return cuda::CountDevices(no_gpu_reason); }

absl::StatusOr<std::unique_ptr<Engine>> MakeCudaEngine(const CudaEngineOptions& options) {
  VOXLOC_ASSIGN_OR_RETURN(std::shared_ptr<Device> device,
                          Device::Open({options.device, options.memory_limit_bytes}));
  const absl::StatusOr<cuda::AlignLimits> limits =
      cuda::QueryAlignLimits(*device, options.use_clusters);
  if (!limits.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "CUDA device ", options.device, " (", device->properties().name, ", compute capability ",
        device->properties().major, ".", device->properties().minor,
        ") cannot run this build: ", limits.status().message()));
  }
  VOXLOC_ASSIGN_OR_RETURN(std::unique_ptr<cuda::MapBuilder> map_builder,
                          cuda::MapBuilder::Create(device));
  VOXLOC_ASSIGN_OR_RETURN(std::unique_ptr<cuda::ScanFilter> scan_filter,
                          cuda::ScanFilter::Create(device));
  VOXLOC_ASSIGN_OR_RETURN(std::unique_ptr<cuda::DeviceClock> clock,
                          cuda::DeviceClock::Create(device));
  cuda::AlignResources resources{device, std::move(clock), *limits, nullptr, nullptr};
  if (limits->exchange == cuda::Exchange::kGroup) {
    resources.group_budget =
        std::make_shared<cuda::BlockBudget>(2 * device->properties().multiprocessors);
  }
  return std::make_unique<CudaEngine>(std::move(resources), std::move(map_builder),
                                      std::move(scan_filter));
}

}  // namespace voxloc
