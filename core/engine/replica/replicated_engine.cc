// SPDX-License-Identifier: Apache-2.0
//
// One file, because all calls of the engine share one way of splitting work over replicas.

#include "core/engine/replica/replicated_engine.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <new>
#include <numeric>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "core/engine/bound.h"
#include "core/engine/out_of_memory.h"
#include "core/engine/replica/replica_set.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

// Work is counted in points scored at one pose. An alignment evaluates its scan some ten times,
// with derivatives, which cost about three times as much as a score.
constexpr uint64_t kAlignmentWork = 32;
// Poses are distributed in slices of this many: a GPU scores fewer in less time than a thread takes
// to start.
constexpr size_t kPosesPerSlice = 256;
// The number of slices per engine that the blocks of a search are distributed in, and the number of
// bounds that cost as much as scoring one point.
constexpr size_t kBoundSlicesPerEngine = 2;
constexpr uint64_t kBoundsPerWork = 16;

struct PoseRange {
  ptrdiff_t first;
  ptrdiff_t count;
};
PoseRange PosesOf(size_t slice, const ScoreRequest& request) {
  const size_t first = slice * kPosesPerSlice;
  const size_t end = std::min(first + kPosesPerSlice, request.map_T_base.size());
  return {static_cast<ptrdiff_t>(first), static_cast<ptrdiff_t>(end - first)};
}

uint64_t PointsOf(const std::shared_ptr<const PointCloud>& scan) {
  return scan == nullptr ? 1 : std::max<uint64_t>(scan->size(), 1);
}

class ReplicatedEngine : public Engine {
 public:
  explicit ReplicatedEngine(std::vector<std::unique_ptr<Engine>> engines)
      : replicas_(std::move(engines)), ledger_(replicas_.size()) {}

  EngineInfo Info() const override {
    EngineInfo info;
    std::map<std::string, size_t> devices;
    size_t failed = 0;
    for (size_t i = 0; i < replicas_.size(); ++i) {
      EngineInfo part = replicas_.engine(i).Info();
      part.healthy = replicas_.InService(i);
      ++devices[part.device];
      if (!part.healthy) {
        ++failed;
      } else if (info.parts.size() == failed) {  // the first of those that can compute
        info.threads = part.threads;
        info.memory_bytes_total = part.memory_bytes_total;
        info.memory_bytes_free = part.memory_bytes_free;
      } else {
        info.threads += part.threads;
        info.memory_bytes_total = std::min(info.memory_bytes_total, part.memory_bytes_total);
        info.memory_bytes_free = std::min(info.memory_bytes_free, part.memory_bytes_free);
      }
      info.parts.push_back(std::move(part));
    }
    info.name = info.parts[0].name;
    info.healthy = failed < replicas_.size();
    const auto append = [](std::string* out, const std::pair<const std::string, size_t>& device) {
      if (device.second > 1) absl::StrAppend(out, device.second, " x ");
      absl::StrAppend(out, device.first);
    };
    info.device = absl::StrJoin(devices, ", ", append);
    if (failed > 0) absl::StrAppend(&info.device, " (", failed, " out of service)");
    return info;
  }

  absl::Status Health() const override {
    return replicas_.InService().empty() ? replicas_.NoneInServiceError() : absl::OkStatus();
  }

 protected:
  absl::StatusOr<std::shared_ptr<const ResidentTile>> DoBuildTile(
      const PointCloud& cloud_map, absl::Span<const CellStatistics> statistics) override {
    return MakeTile([&](Engine& engine) { return engine.BuildTile(cloud_map, statistics); });
  }

  absl::StatusOr<std::shared_ptr<const ResidentTile>> DoImportTile(
      absl::string_view bytes) override {
    return MakeTile([&](Engine& engine) { return engine.ImportTile(bytes); });
  }

  // Any engine's packing serves the others.
  std::shared_ptr<const PackedJob> DoPack(const AlignJob& job) override {
    const std::vector<size_t> in_service = replicas_.InService();
    return in_service.empty() ? nullptr : replicas_.engine(in_service[0]).Pack(job);
  }

  absl::StatusOr<std::shared_ptr<const ResidentMap>> DoCompose(
      absl::Span<const std::shared_ptr<const ResidentTile>> tiles,
      absl::Span<const CellStatistics> statistics, const ResidentMap* previous) override {
    std::vector<const ReplicatedTile*> own_tiles;
    for (const auto& tile : tiles) {
      const auto* const own = CastOwned<ReplicatedTile>(tile.get());
      if (own == nullptr) {
        return absl::InvalidArgumentError("a tile does not belong to this engine");
      }
      own_tiles.push_back(own);
    }
    const auto* const own_previous = CastOwned<ReplicatedMap>(previous);
    const auto compose = [&](size_t replica) {
      std::vector<std::shared_ptr<const ResidentTile>> parts_of_tiles;
      parts_of_tiles.reserve(own_tiles.size());
      for (const ReplicatedTile* tile : own_tiles)
        parts_of_tiles.push_back(tile->all_parts()[replica]);
      const ResidentMap* const previous_part =
          own_previous == nullptr ? nullptr : own_previous->all_parts()[replica].get();
      return replicas_.engine(replica).Compose(parts_of_tiles, statistics, previous_part);
    };
    VOXLOC_ASSIGN_OR_RETURN(auto parts, MakeParts<ResidentMap>(compose));
    return std::make_shared<const ReplicatedMap>(replicas_, std::move(parts));
  }

  // By the first engine that has a part of it and can; all parts hold the same.
  absl::StatusOr<std::string> DoExportTile(const ResidentTile& tile) override {
    const auto* const own = CastOwned<ReplicatedTile>(&tile);
    if (own == nullptr) {
      return absl::InvalidArgumentError("the tile does not belong to this engine");
    }
    for (const size_t replica : replicas_.InService()) {
      const auto& part = own->all_parts()[replica];
      if (part == nullptr) continue;
      absl::StatusOr<std::string> bytes = replicas_.engine(replica).ExportTile(*part);
      if (bytes.ok() || replicas_.InService(replica)) return bytes;
    }
    return replicas_.NoneInServiceError();
  }

  absl::Status DoAlign(absl::Span<const AlignJob> jobs, absl::Span<AlignResult> results) override {
    std::vector<uint64_t> work;
    work.reserve(jobs.size());
    std::vector<size_t> of_own_maps;
    of_own_maps.reserve(jobs.size());
    for (size_t i = 0; i < jobs.size(); ++i) {
      work.push_back(PointsOf(jobs[i].scan) * kAlignmentWork);
      const bool same_map = i > 0 && jobs[i].map == jobs[i - 1].map;
      if (same_map ? results[i - 1].status.ok() : IsOwn(jobs[i].map)) {
        of_own_maps.push_back(i);
      } else {
        results[i].status = MapOfAnotherEngineError();
      }
    }
    const auto align = [&](size_t replica, absl::Span<const size_t> items) {
      AlignOnReplica(jobs, replica, items, results);
      std::vector<size_t> failed;
      for (const size_t i : items) {
        if (!results[i].status.ok()) failed.push_back(i);
      }
      return failed;
    };
    for (const size_t i : RunOnReplicas(std::move(of_own_maps), work, align)) {
      results[i].status = replicas_.NoneInServiceError();
    }
    return absl::OkStatus();
  }

  absl::StatusOr<ScoreResult> DoScore(const ScoreRequest& request) override {
    const size_t poses = request.map_T_base.size();
    if (!IsOwn(request.map)) return MapOfAnotherEngineError();
    ScoreResult result = MakeScoreResult(request);
    // A request without poses is one empty slice, so that an engine still validates it.
    const size_t slices = std::max<size_t>(1, (poses + kPosesPerSlice - 1) / kPosesPerSlice);
    std::vector<absl::Status> statuses(slices);
    const auto score = [&](size_t replica, absl::Span<const size_t> items) {
      absl::Status status = ScoreSlices(request, replica, items, result);
      for (const size_t slice : items) statuses[slice] = status;
      return status.ok() ? std::vector<size_t>() : std::vector<size_t>(items.begin(), items.end());
    };
    const std::vector<uint64_t> work(slices, PointsOf(request.scan) * kPosesPerSlice);
    if (!RunOnReplicas(AllOf(work), work, score).empty()) return replicas_.NoneInServiceError();
    for (absl::Status& status : statuses) {
      if (!status.ok()) return std::move(status);
    }
    return result;
  }

  absl::StatusOr<FilteredCloud> DoFilter(const PointCloud& cloud, const FilterOptions& options,
                                         WorkClass work_class) override {
    const std::vector<size_t> in_service = replicas_.InService();
    if (in_service.empty()) return FilterCloud(cloud, options);
    // In turn: a filter is short, and no engine has to be waited for.
    const size_t turn = filter_turn_.fetch_add(1, std::memory_order_relaxed);
    return replicas_.engine(in_service[turn % in_service.size()])
        .Filter(cloud, options, work_class);
  }

  absl::StatusOr<std::shared_ptr<const ResidentBoundGrid>> DoLoadBoundGrid(
      BoundGrid grid) override {
    const auto load = [&](size_t replica) { return replicas_.engine(replica).LoadBoundGrid(grid); };
    VOXLOC_ASSIGN_OR_RETURN(auto parts, MakeParts<ResidentBoundGrid>(load));
    return std::make_shared<const ReplicatedBoundGrid>(replicas_, std::move(parts));
  }

  absl::StatusOr<std::vector<BoundHit>> DoBound(const BoundRequest& request) override {
    const auto* const grid = CastOwned<ReplicatedBoundGrid>(request.grid.get());
    if (grid == nullptr) {
      return absl::FailedPreconditionError("the grid does not belong to this engine");
    }
    const size_t blocks = request.blocks.size();
    const size_t slices = std::min(blocks, kBoundSlicesPerEngine * replicas_.size());
    const size_t per_slice = slices == 0 ? 0 : (blocks + slices - 1) / slices;
    std::vector<absl::StatusOr<std::vector<BoundHit>>> hits(slices);
    const auto bound = [&](size_t replica, absl::Span<const size_t> items) {
      std::vector<size_t> failed;
      for (const size_t slice : items) {
        hits[slice] = BoundSlice(request, *grid, replica, slice * per_slice, per_slice);
        if (!hits[slice].ok()) failed.push_back(slice);
      }
      return failed;
    };
    const uint64_t work_of_slice = uint64_t{per_slice} * static_cast<uint64_t>(request.nodes_x) *
                                   static_cast<uint64_t>(request.nodes_y) *
                                   request.scan->points_per_heading / kBoundsPerWork;
    const std::vector<uint64_t> work(slices, std::max<uint64_t>(1, work_of_slice));
    if (!RunOnReplicas(AllOf(work), work, bound).empty()) return replicas_.NoneInServiceError();
    std::vector<BoundHit> all;
    for (const auto& slice : hits) {
      if (!slice.ok()) return slice.status();
      all.insert(all.end(), slice->begin(), slice->end());
    }
    return all;
  }

 private:
  template <typename Resident>
  using MakePart = absl::FunctionRef<absl::StatusOr<std::shared_ptr<const Resident>>(size_t)>;

  // One part for each engine in service: all, or the first error.
  template <typename Resident>
  absl::StatusOr<std::vector<std::shared_ptr<const Resident>>> MakeParts(MakePart<Resident> make) {
    const std::vector<size_t> in_service = replicas_.InService();
    std::vector<std::shared_ptr<const Resident>> parts(replicas_.size());
    std::vector<absl::Status> statuses(in_service.size());
    ReplicaSet::InParallel(in_service.size(), [&](size_t i) {
      auto part = make(in_service[i]);
      statuses[i] = part.status();
      if (part.ok()) parts[in_service[i]] = *std::move(part);
    });
    bool any = false;
    for (size_t i = 0; i < in_service.size(); ++i) {
      if (statuses[i].ok()) {
        any = true;
      } else if (replicas_.InService(in_service[i])) {
        return statuses[i];
      }
    }
    if (!any) return replicas_.NoneInServiceError();
    return parts;
  }

  using Part = std::shared_ptr<const ResidentTile>;

  // Built on one engine, round robin, and copied to the others, which takes a fraction of the time
  // and of the processor. If a copy fails for another reason than memory, the engine builds its
  // own.
  absl::StatusOr<std::shared_ptr<const ResidentTile>> MakeTile(
      absl::FunctionRef<absl::StatusOr<Part>(Engine&)> make) {
    const std::vector<size_t> in_service = replicas_.InService();
    const size_t turn = tile_turn_.fetch_add(1, std::memory_order_relaxed);
    size_t source_replica = 0;
    Part made;
    for (size_t i = 0; i < in_service.size() && made == nullptr; ++i) {
      source_replica = in_service[(turn + i) % in_service.size()];
      absl::StatusOr<Part> part = make(replicas_.engine(source_replica));
      if (part.ok()) made = *std::move(part);
      if (!part.ok() && replicas_.InService(source_replica)) return part.status();
    }
    if (made == nullptr) return replicas_.NoneInServiceError();
    const auto copy_to = [&](size_t replica) -> absl::StatusOr<Part> {
      if (replica == source_replica) return made;
      Engine& engine = replicas_.engine(replica);
      absl::StatusOr<Part> copy = engine.CopyTile(*made);
      const bool done = copy.ok() || absl::IsResourceExhausted(copy.status());
      return done || !replicas_.InService(replica) ? copy : make(engine);
    };
    VOXLOC_ASSIGN_OR_RETURN(auto parts, MakeParts<ResidentTile>(copy_to));
    return std::make_shared<const ReplicatedTile>(replicas_, std::move(parts));
  }

  [[nodiscard]] static std::vector<size_t> AllOf(absl::Span<const uint64_t> work) {
    std::vector<size_t> items(work.size());
    std::iota(items.begin(), items.end(), size_t{0});
    return items;
  }

  // Runs the waiting items, places in `work`, each on an engine in service, and retries it on
  // another if its engine has failed permanently. `run` gets the items of one engine and returns
  // those that failed; it is called from several threads at once. Returns the items that no engine
  // was left for.
  std::vector<size_t> RunOnReplicas(
      std::vector<size_t> waiting, absl::Span<const uint64_t> work,
      absl::FunctionRef<std::vector<size_t>(size_t replica, absl::Span<const size_t> items)> run) {
    while (!waiting.empty()) {
      const std::vector<size_t> in_service = replicas_.InService();
      if (in_service.empty()) break;
      std::vector<uint64_t> work_waiting;
      work_waiting.reserve(waiting.size());
      for (const size_t i : waiting) work_waiting.push_back(work[i]);
      std::vector<WorkAssignment> shares = ledger_.Split(work_waiting, in_service);
      // For exceptions; completing an assignment twice has no effect.
      const absl::Cleanup complete = [&] {
        for (WorkAssignment& share : shares) ledger_.Complete(share);
      };
      std::vector<std::vector<size_t>> failed(shares.size());
      ReplicaSet::InParallel(shares.size(), [&](size_t i) {
        WorkAssignment& share = shares[i];
        failed[i] = run(share.worker,
                        absl::MakeConstSpan(waiting).subspan(share.begin, share.end - share.begin));
        ledger_.Complete(share);
      });
      std::vector<size_t> again;
      for (size_t i = 0; i < shares.size(); ++i) {
        if (failed[i].empty() || replicas_.InService(shares[i].worker)) continue;
        again.insert(again.end(), failed[i].begin(), failed[i].end());
      }
      std::sort(again.begin(), again.end());
      waiting = std::move(again);
    }
    return waiting;
  }

  // In place, neighbouring jobs in one call: the replica finds its part of their maps.
  void AlignOnReplica(absl::Span<const AlignJob> jobs, size_t replica,
                      absl::Span<const size_t> items, absl::Span<AlignResult> results) {
    size_t end = 0;
    for (size_t begin = 0; begin < items.size(); begin = end) {
      do ++end;
      while (end < items.size() && items[end] == items[end - 1] + 1);
      const absl::Span<AlignResult> there = results.subspan(items[begin], end - begin);
      for (AlignResult& result : there) {
        if (!result.status.ok()) result = AlignResult();  // of an engine that has failed
      }
      replicas_.engine(replica).Align(jobs.subspan(items[begin], there.size()), there);
      for (AlignResult& result : there) {
        if (result.device_times.has_value()) result.device_times->device = replica;
      }
    }
  }

  // `count` blocks from `first` on, numbered as in the whole request.
  absl::StatusOr<std::vector<BoundHit>> BoundSlice(const BoundRequest& request,
                                                   const ReplicatedBoundGrid& grid, size_t replica,
                                                   size_t first, size_t count) {
    const size_t begin = std::min(first, request.blocks.size());
    const size_t end = std::min(begin + count, request.blocks.size());
    BoundRequest there = request;
    there.grid = grid.all_parts()[replica];
    there.blocks.assign(request.blocks.begin() + static_cast<ptrdiff_t>(begin),
                        request.blocks.begin() + static_cast<ptrdiff_t>(end));
    VOXLOC_ASSIGN_OR_RETURN(auto hits, replicas_.engine(replica).Bound(there));
    const auto nodes_before = static_cast<uint32_t>(begin * static_cast<size_t>(request.nodes_x) *
                                                    static_cast<size_t>(request.nodes_y));
    for (BoundHit& hit : hits) hit.node += nodes_before;
    return hits;
  }

  absl::Status ScoreSlices(const ScoreRequest& request, size_t replica,
                           absl::Span<const size_t> slices, ScoreResult& result) {
    ScoreRequest there;
    there.map = request.map;
    there.scan = request.scan;
    there.stage = request.stage;
    there.work_class = request.work_class;
    there.stop = request.stop;
    there.with_point_scores = request.with_point_scores;
    there.map_T_base.reserve(slices.size() * kPosesPerSlice);
    for (const size_t slice : slices) {
      const auto [first, count] = PosesOf(slice, request);
      const auto begin = request.map_T_base.begin() + first;
      there.map_T_base.insert(there.map_T_base.end(), begin, begin + count);
    }
    VOXLOC_ASSIGN_OR_RETURN(const ScoreResult scored, replicas_.engine(replica).Score(there));
    const auto row = static_cast<ptrdiff_t>(request.scan->size());
    auto pose = scored.poses.begin();
    auto point_score = scored.point_scores.begin();
    for (const size_t slice : slices) {
      const auto [first, count] = PosesOf(slice, request);
      std::copy_n(pose, count, result.poses.begin() + first);
      pose += count;
      if (!request.with_point_scores) continue;
      std::copy_n(point_score, count * row, result.point_scores.begin() + first * row);
      point_score += count * row;
    }
    return absl::OkStatus();
  }

  // Null where it is null or not of this engine.
  template <typename ReplicatedResident, typename Resident>
  [[nodiscard]] const ReplicatedResident* CastOwned(const Resident* resident) const {
    const auto* own = dynamic_cast<const ReplicatedResident*>(resident);
    return own != nullptr && &own->replicas() == &replicas_ ? own : nullptr;
  }

  [[nodiscard]] bool IsOwn(const std::shared_ptr<const ResidentMap>& map) const {
    return CastOwned<ReplicatedMap>(map.get()) != nullptr;
  }

  [[nodiscard]] static absl::Status MapOfAnotherEngineError() {
    return absl::FailedPreconditionError("the map does not belong to this engine");
  }

  const ReplicaSet replicas_;
  WorkLedger ledger_;
  std::atomic<size_t> filter_turn_{0};
  std::atomic<size_t> tile_turn_{0};
};

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> MakeReplicatedEngine(
    std::vector<std::unique_ptr<Engine>> engines) {
  if (engines.empty()) return absl::InvalidArgumentError("there is no engine to work with");
  for (size_t i = 0; i < engines.size(); ++i) {
    if (engines[i] == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("engine ", i, " of ", engines.size(), " is null"));
    }
    const std::string first = engines[0]->Info().name;
    const std::string name = engines[i]->Info().name;
    if (name != first) {
      return absl::InvalidArgumentError(absl::StrCat("all engines must be of one kind (got ", first,
                                                     " and ", name, " as engine ", i, ")"));
    }
  }
  if (engines.size() == 1) return std::move(engines[0]);
  return std::make_unique<ReplicatedEngine>(std::move(engines));
}

}  // namespace voxloc
