// SPDX-License-Identifier: Apache-2.0

#include "cuda/cuda_engine.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/engine/job_check.h"
#include "cuda/align/align_kernel.h"
#include "cuda/align/align_slice.h"
#include "cuda/align/map_access.h"
#include "cuda/cloud/scan_filter.h"
#include "cuda/map/cuda_map.h"
#include "cuda/map/map_builder.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/pool.h"
#include "cuda/score/score_slice.h"
#include "cuda/search/bound_slice.h"
#include "cuda/search/device_bound_grid.h"

namespace voxloc {
namespace {

using cuda::AlignSlice;
using cuda::CudaMap;
using cuda::CudaTile;
using cuda::Device;
using cuda::ScoreSlice;

// Calls that may work at the same time; others wait for one of them.
constexpr size_t kMaxTrackingCalls = 16;
constexpr size_t kMaxBulkCalls = 4;
// Slices of one call in flight: one is packed or read while others run, and the end of one overlaps
// the beginning of the next.
constexpr size_t kSlicesInFlight = 3;
// Batches of more points are not tracking: they go on streams of low priority, slice by slice.
constexpr size_t kMaxTrackingPoints = size_t{1} << 20;

// Raw clouds of fewer points are filtered on the processor.
constexpr size_t kPointsWorthFiltering = 10'000;

// Workspaces of a call that takes several slices.
template <typename Slice>
struct Slices {
  std::unique_ptr<Slice> slice[kSlicesInFlight];
};

class CudaEngine : public Engine, public CudaCallTimer {
 public:
  CudaEngine(std::shared_ptr<Device> device, std::unique_ptr<cuda::MapBuilder> map_builder,
             std::unique_ptr<cuda::ScanFilter> scan_filter, const cuda::AlignLimits& limits)
      : device_(device),
        map_builder_(std::move(map_builder)),
        scan_filter_(std::move(scan_filter)),
        tracking_(kMaxTrackingCalls,
                  [device, limits] {
                    return AlignSlice::Create(device, limits, cuda::SliceUse::kWholeCall);
                  }),
        bulk_(kMaxBulkCalls,
              [device, limits]() -> absl::StatusOr<std::unique_ptr<Slices<AlignSlice>>> {
                auto slices = std::make_unique<Slices<AlignSlice>>();
                for (auto& slice : slices->slice) {
                  auto made = AlignSlice::Create(device, limits, cuda::SliceUse::kPartOfCall);
                  if (!made.ok()) return made.status();
                  slice = *std::move(made);
                }
                return slices;
              }),
        scoring_(kMaxBulkCalls,
                 [device]() -> absl::StatusOr<std::unique_ptr<Slices<ScoreSlice>>> {
                   auto slices = std::make_unique<Slices<ScoreSlice>>();
                   for (auto& slice : slices->slice) {
                     auto made = ScoreSlice::Create(device);
                     if (!made.ok()) return made.status();
                     slice = *std::move(made);
                   }
                   return slices;
                 }),
        bounding_(kMaxBulkCalls, [device] { return cuda::BoundSlice::Create(device); }) {}

  absl::StatusOr<std::shared_ptr<const ResidentTile>> BuildTile(
      const PointCloud& cloud_map, absl::Span<const CellStatistics> statistics) override {
    return map_builder_->BuildTile(cloud_map, statistics);
  }

  absl::StatusOr<std::shared_ptr<const ResidentMap>> Compose(
      absl::Span<const std::shared_ptr<const ResidentTile>> tiles,
      absl::Span<const CellStatistics> statistics, const ResidentMap* previous) override {
    std::vector<std::shared_ptr<const CudaTile>> cuda_tiles;
    cuda_tiles.reserve(tiles.size());
    for (const auto& tile : tiles) {
      auto cuda_tile = std::dynamic_pointer_cast<const CudaTile>(tile);
      if (cuda_tile == nullptr) {
        return absl::InvalidArgumentError("a tile does not belong to the CUDA engine");
      }
      cuda_tiles.push_back(std::move(cuda_tile));
    }
    return map_builder_->Compose(cuda_tiles, statistics, dynamic_cast<const CudaMap*>(previous));
  }

  std::vector<AlignResult> Align(absl::Span<const AlignJob> jobs) override {
    std::vector<AlignResult> results(jobs.size());
    if (absl::Status status = TryAlign(jobs, results); !status.ok()) {
      for (AlignResult& result : results) result.status = status;
    }
    return results;
  }

  absl::StatusOr<ScoreResult> Score(const ScoreRequest& request) override {
    if (absl::Status status = CheckRequest(request); !status.ok()) return status;
    const absl::StatusOr<const CudaMap*> map =
        cuda::CheckMap(*device_, request.map.get(), absl::MakeConstSpan(&request.stage, 1));
    if (!map.ok()) return map.status();
    absl::StatusOr<ScoreResult> result = MakeScoreResult(request);
    if (!result.ok()) return result.status();
    if (absl::Status status = TryScore(request, **map, *result); !status.ok()) return status;
    return result;
  }

  // Small clouds are filtered here sooner than they are on the device; and where the device cannot,
  // for lack of memory or permanently, the result is the same here.
  absl::StatusOr<FilteredCloud> Filter(const PointCloud& cloud,
                                       const FilterOptions& options) override {
    if (cloud.size() < kPointsWorthFiltering) return FilterCloud(cloud, options);
    absl::StatusOr<FilteredCloud> filtered = scan_filter_->Filter(cloud, options);
    const absl::StatusCode code = filtered.status().code();
    if (filtered.ok() || code == absl::StatusCode::kInvalidArgument) return filtered;
    return FilterCloud(cloud, options);
  }

  absl::StatusOr<std::shared_ptr<const ResidentBoundGrid>> KeepBoundGrid(BoundGrid grid) override {
    return cuda::DeviceBoundGrid::Upload(device_, grid);
  }

  absl::StatusOr<std::vector<BoundHit>> Bound(const BoundRequest& request) override {
    if (absl::Status status = CheckRequest(request); !status.ok()) return status;
    const auto* grid = dynamic_cast<const cuda::DeviceBoundGrid*>(request.grid.get());
    if (grid == nullptr || &grid->device() != device_.get()) {
      return absl::FailedPreconditionError("the grid does not belong to this CUDA engine");
    }
    absl::StatusOr<cuda::Pool<cuda::BoundSlice>::Lease> slice = bounding_.Take();
    if (!slice.ok()) return slice.status();
    try {
      return (*slice)->Run(request, *grid);
    } catch (const std::bad_alloc&) {
      return absl::ResourceExhaustedError("no host memory for the nodes found");
    }
  }

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

  void TimeCalls(bool timed) override {
    absl::MutexLock lock(&mutex_);
    timed_ = timed;
    last_align_.reset();
  }

  std::optional<CudaCallTimes> LastAlign() const override {
    absl::MutexLock lock(&mutex_);
    return last_align_;
  }

 private:
  absl::Status TryAlign(absl::Span<const AlignJob> jobs, std::vector<AlignResult>& results) {
    if (jobs.empty()) return absl::OkStatus();
    if (absl::Status status = device_->MakeCurrent(); !status.ok()) return status;
    CallTimer timer(*this);
    size_t points = 0;
    for (const AlignJob& job : jobs) points += job.scan != nullptr ? job.scan->size() : 0;
    try {
      size_t done = 0;
      if (points <= kMaxTrackingPoints) {
        absl::StatusOr<cuda::Pool<AlignSlice>::Lease> slice = tracking_.Take();
        if (!slice.ok()) return slice.status();
        timer.Begin(**slice);
        done = Fill(**slice, jobs, 0, results);
        (*slice)->Launch();
        (*slice)->Finish();
        timer.End(**slice);
      }
      if (done == jobs.size()) return absl::OkStatus();
      absl::StatusOr<cuda::Pool<Slices<AlignSlice>>::Lease> slices = bulk_.Take();
      if (!slices.ok()) return slices.status();
      size_t turn = 0;
      for (auto& slice : (*slices)->slice) {
        slice->Clear();
        timer.Begin(*slice);
      }
      for (; done < jobs.size(); ++turn) {
        AlignSlice& slice = *(*slices)->slice[turn % kSlicesInFlight];
        slice.Finish();
        timer.End(slice);
        done = Fill(slice, jobs, done, results);
        slice.Launch();
      }
      for (size_t i = 0; i < kSlicesInFlight; ++i) {
        AlignSlice& slice = *(*slices)->slice[(turn + i) % kSlicesInFlight];
        slice.Finish();
        timer.End(slice);
        slice.Clear();
      }
    } catch (const std::bad_alloc&) {
      return absl::ResourceExhaustedError(
          absl::StrCat("no host memory to align ", jobs.size(), " scans"));
    }
    return absl::OkStatus();
  }

  // Adds up the times of a call's slices.
  class CallTimer {
   public:
    explicit CallTimer(CudaEngine& engine) : engine_(engine) {
      absl::MutexLock lock(&engine_.mutex_);
      timed_ = engine_.timed_;
    }
    CallTimer(const CallTimer&) = delete;
    CallTimer& operator=(const CallTimer&) = delete;
    ~CallTimer() {
      if (!timed_) return;
      absl::MutexLock lock(&engine_.mutex_);
      engine_.last_align_ = times_;
    }
    void Begin(AlignSlice& slice) const { slice.set_timed(timed_); }
    // After Finish.
    void End(const AlignSlice& slice) {
      if (!timed_ || slice.empty()) return;
      times_.upload_ms += slice.times().upload_ms;
      times_.kernel_ms += slice.times().kernel_ms;
      times_.download_ms += slice.times().download_ms;
    }

   private:
    CudaEngine& engine_;
    bool timed_ = false;
    CudaCallTimes times_;
  };

  // Fills a slice with jobs from `first` on; the first job that is not in it.
  static size_t Fill(AlignSlice& slice, absl::Span<const AlignJob> jobs, size_t first,
                     std::vector<AlignResult>& results) {
    slice.Clear();
    while (first < jobs.size() && slice.Add(jobs[first], results[first])) ++first;
    return first;
  }

  absl::Status TryScore(const ScoreRequest& request, const CudaMap& map, ScoreResult& result) {
    const cuda::StageTerms terms =
        cuda::MakeStageTerms(request.stage, *map.Blocks(request.stage.cells));
    try {
      cuda::PackedScan scan;
      cuda::PackScan(*request.scan, scan);
      absl::StatusOr<cuda::Pool<Slices<ScoreSlice>>::Lease> slices = scoring_.Take();
      if (!slices.ok()) return slices.status();
      const size_t poses = request.map_T_base.size();
      const size_t per_slice = ScoreSlice::PosesPerSlice(scan.points);
      const size_t count = (poses + per_slice - 1) / per_slice;
      absl::Status status;
      // Every slice that was launched is waited for in every case: it uses what is on this
      // stack.
      for (size_t i = 0; i < count + kSlicesInFlight; ++i) {
        ScoreSlice& slice = *(*slices)->slice[i % kSlicesInFlight];
        if (i >= kSlicesInFlight && i - kSlicesInFlight < count) {
          absl::Status finished = slice.Finish(result);
          if (status.ok()) status = std::move(finished);
        }
        if (i >= count) continue;
        if (status.ok()) status = CheckStopped(request.stop, "scoring");
        if (status.ok()) {
          status = slice.Launch(request, terms, scan, i * per_slice,
                                std::min(poses, (i + 1) * per_slice));
        }
      }
      return status;
    } catch (const std::bad_alloc&) {
      return absl::ResourceExhaustedError(
          absl::StrCat("no host memory to score ", request.map_T_base.size(), " poses"));
    }
  }

  // Declared first, so that it outlives everything that gives memory back to it.
  const std::shared_ptr<Device> device_;
  const std::unique_ptr<cuda::MapBuilder> map_builder_;
  const std::unique_ptr<cuda::ScanFilter> scan_filter_;
  cuda::Pool<AlignSlice> tracking_;
  cuda::Pool<Slices<AlignSlice>> bulk_;
  cuda::Pool<Slices<ScoreSlice>> scoring_;
  cuda::Pool<cuda::BoundSlice> bounding_;

  mutable absl::Mutex mutex_;
  bool timed_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<CudaCallTimes> last_align_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

int CudaDeviceCount(std::string* why_none) { return cuda::CountDevices(why_none); }

absl::StatusOr<std::unique_ptr<Engine>> MakeCudaEngine(const CudaEngineOptions& options) {
  absl::StatusOr<std::shared_ptr<Device>> device =
      Device::Open({options.device, options.memory_limit_bytes});
  if (!device.ok()) return device.status();
  const absl::StatusOr<cuda::AlignLimits> limits = cuda::QueryAlignLimits(**device);
  if (!limits.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "CUDA device ", options.device, " (", (*device)->properties().name, ", compute capability ",
        (*device)->properties().major, ".", (*device)->properties().minor,
        ") cannot run this build: ", limits.status().message()));
  }
  absl::StatusOr<std::unique_ptr<cuda::MapBuilder>> map_builder = cuda::MapBuilder::Create(*device);
  if (!map_builder.ok()) return map_builder.status();
  absl::StatusOr<std::unique_ptr<cuda::ScanFilter>> scan_filter = cuda::ScanFilter::Create(*device);
  if (!scan_filter.ok()) return scan_filter.status();
  return std::make_unique<CudaEngine>(*device, *std::move(map_builder), *std::move(scan_filter),
                                      *limits);
}

}  // namespace voxloc
