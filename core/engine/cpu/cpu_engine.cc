// SPDX-License-Identifier: Apache-2.0

#include "core/engine/cpu/cpu_engine.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/engine/cpu/cpu_map.h"
#include "core/engine/cpu/host_bound.h"
#include "core/engine/cpu/kernels.h"
#include "core/engine/cpu/newton_search.h"
#include "core/engine/cpu/scan_evaluator.h"
#include "core/engine/job_check.h"
#include "core/engine/out_of_memory.h"
#include "core/engine/search_rules.h"
#include "core/engine/stage_points.h"
#include "core/map/tile_codec.h"
#include "core/map/tile_moments.h"
#include "core/parallel/processors.h"
#include "core/parallel/spin_team.h"
#include "core/parallel/thread_pool.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

using cpu::CpuMap;
using cpu::CpuTile;
using cpu::ScanEvaluator;

// One thread works on a scan for every this many chunks of it. A chunk is evaluated in about 3 us,
// and a step of a team starts and ends within 1 us.
constexpr size_t kChunksPerThread = 2;
// A scan of at least this many chunks uses several threads even in a batch, as long as threads are
// idle. A smaller one does so only alone, since one thread per scan has the highest throughput.
constexpr size_t kLargeScanChunks = 32;
// Poses scored by one thread in a row; also how often the stop token is looked at.
constexpr size_t kPosesPerTask = 16;

// The memory in which one scan is aligned or scored.
struct AlignWorkspace {
  StagePoints points;
  ScanEvaluator evaluator;
  ScanEvaluator pass_evaluator;  // of passes over other clouds
};

// Idle workspaces, kept to reuse their memory.
class WorkspacePool {
 public:
  std::unique_ptr<AlignWorkspace> Acquire() {
    absl::MutexLock lock(&mutex_);
    if (idle_.empty()) return std::make_unique<AlignWorkspace>();
    std::unique_ptr<AlignWorkspace> workspace = std::move(idle_.back());
    idle_.pop_back();
    return workspace;
  }
  void Release(std::unique_ptr<AlignWorkspace> workspace) {
    absl::MutexLock lock(&mutex_);
    idle_.push_back(std::move(workspace));
  }

 private:
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<AlignWorkspace>> idle_ ABSL_GUARDED_BY(mutex_);
};

// Binds an evaluator to the map of a job.
class MapEvaluator : public PoseEvaluator {
 public:
  MapEvaluator(const CpuMap& map, const AlignJob& job, AlignWorkspace& workspace, SpinTeam* team)
      : map_(map),
        scan_(*job.scan),
        stages_(job.profile.stages),
        thinned_(HasThinnedStage(job.profile)),
        workspace_(workspace),
        team_(team) {
    if (!thinned_) {
      workspace.evaluator.SetScan(*job.scan);
      return;
    }
    workspace.points.Select(*job.scan, job.profile);
    workspace.evaluator.SetScan(*job.scan, workspace.points.order());
  }

  void BeginStage(size_t stage) override {
    stage_ = stage;
    workspace_.evaluator.SetStage(map_.Grid(stages_[stage].cells), stages_[stage], stage);
  }
  Evaluation Evaluate(const ChartVector& chart, bool all_points) override {
    const size_t points = all_points || !thinned_ ? workspace_.evaluator.points()
                                                  : workspace_.points.counts()[stage_];
    return workspace_.evaluator.Evaluate(chart, /*with_derivatives=*/true, points, team_, nullptr);
  }
  // The rules of the evaluator's own job. If points were selected, the scan's scale is known.
  [[nodiscard]] ndt::SearchRules Rules(const AlignJob& job) const {
    if (!thinned_) return MakeSearchRules(job);
    return MakeSearchRules(job, RotationScaleOf(workspace_.points.root_mean_square_range()));
  }
  // What a pass wants at this pose; `stage` is the one whose cells it takes by default.
  void RunPass(const EvaluationPass& pass, const ChartVector& chart, size_t stage,
               PassResult& result) {
    Stage rules = stages_[stage];
    if (pass.own_cell_only) rules.search = NeighborSearch::kDirect1;
    const bool of_scan = pass.cloud == nullptr && !pass.own_cell_only;
    ScanEvaluator& evaluator = of_scan ? workspace_.evaluator : workspace_.pass_evaluator;
    const PointCloud& cloud = pass.cloud != nullptr ? *pass.cloud : scan_;
    if (!of_scan) evaluator.SetScan(cloud);
    evaluator.SetStage(map_.Grid(rules.cells), rules, of_scan ? stage : 0);
    float* scores = nullptr;
    if (pass.with_point_scores) {
      result.point_scores.assign(cloud.size(), 0.0F);
      scores = result.point_scores.data();
    }
    if (pass.groups != nullptr) {
      evaluator.EvaluateGroups(chart, *pass.groups, team_, scores, result.groups);
    } else if (scores != nullptr) {
      (void)evaluator.Evaluate(chart, /*with_derivatives=*/false, evaluator.points(), team_,
                               scores);
    }
  }
  // `scores`: room for one value a point of the scan.
  void ScorePoints(const ChartVector& chart, float* scores) {
    (void)workspace_.evaluator.Evaluate(chart, /*with_derivatives=*/false,
                                        workspace_.evaluator.points(), team_, scores);
  }

 private:
  const CpuMap& map_;
  const PointCloud& scan_;
  const std::vector<Stage>& stages_;
  const bool thinned_;
  AlignWorkspace& workspace_;
  SpinTeam* const team_;
  size_t stage_ = 0;
};

absl::StatusOr<const CpuMap*> CheckMap(const Engine& engine, const ResidentMap* map,
                                       absl::Span<const Stage> stages) {
  const CpuMap* const cpu_map = FindOwnPart<CpuMap>(map, [&engine, map](const CpuMap& part) {
    return &part == map || &part.engine() == &engine;
  });
  if (cpu_map == nullptr) {
    return absl::FailedPreconditionError("the map does not belong to the CPU engine");
  }
  VOXLOC_TRY(CheckCells(*cpu_map, stages));
  return cpu_map;
}

class CpuEngine : public Engine {
 public:
  explicit CpuEngine(size_t threads) : pool_(threads) {}

  EngineInfo Info() const override {
    EngineInfo info;
    info.name = "cpu";
    info.device = absl::StrCat("processor, ", cpu::SelectKernels().instruction_set, ", ",
                               pool_.threads(), pool_.threads() == 1 ? " thread" : " threads");
    info.threads = pool_.threads();
    return info;
  }

  absl::Status Health() const override { return absl::OkStatus(); }

 protected:
  absl::StatusOr<std::shared_ptr<const ResidentTile>> DoBuildTile(
      const PointCloud& cloud_map, absl::Span<const CellStatistics> statistics) override {
    std::map<double, bool> sizes;  // of cells: whether float sums are wanted
    for (const CellStatistics& s : statistics) sizes[s.cell_size_m] |= s.float_index;
    std::vector<TileMoments> lattices;
    for (const auto& [cell_size_m, float_sums] : sizes) {
      // From the next finer lattice rather than from the points, which are many more.
      const std::optional<int> bits =
          float_sums || lattices.empty() ? std::nullopt
                                         : CoarseningBits(lattices.back().cell_size_m, cell_size_m);
      if (bits.has_value()) {
        lattices.push_back(CoarsenMoments(lattices.back(), *bits));
        continue;
      }
      VOXLOC_ASSIGN_OR_RETURN(TileMoments moments,
                              BuildTileMoments(cloud_map, cell_size_m, {float_sums, &pool_}));
      lattices.push_back(std::move(moments));
    }
    return std::make_shared<const CpuTile>(std::move(lattices));
  }

  absl::StatusOr<std::string> DoExportTile(const ResidentTile& tile) override {
    const auto* cpu_tile = dynamic_cast<const CpuTile*>(&tile);
    if (cpu_tile == nullptr) {
      return absl::InvalidArgumentError("the tile does not belong to the CPU engine");
    }
    std::vector<const TileMoments*> lattices;
    for (const TileMoments& lattice : cpu_tile->lattices()) lattices.push_back(&lattice);
    return EncodeTile(lattices);
  }

  absl::StatusOr<std::shared_ptr<const ResidentTile>> DoImportTile(
      absl::string_view bytes) override {
    VOXLOC_ASSIGN_OR_RETURN(std::vector<TileMoments> lattices, DecodeTile(bytes));
    return std::make_shared<const CpuTile>(std::move(lattices));
  }

  absl::StatusOr<std::shared_ptr<const ResidentTile>> DoCopyTile(
      const ResidentTile& tile) override {
    const auto* cpu_tile = dynamic_cast<const CpuTile*>(&tile);
    if (cpu_tile == nullptr) {
      return absl::InvalidArgumentError("the tile does not belong to a CPU engine");
    }
    return std::make_shared<const CpuTile>(*cpu_tile);
  }

  absl::StatusOr<std::shared_ptr<const ResidentMap>> DoCompose(
      absl::Span<const std::shared_ptr<const ResidentTile>> tiles,
      absl::Span<const CellStatistics> statistics, const ResidentMap* previous) override {
    std::vector<std::shared_ptr<const CpuTile>> cpu_tiles;
    for (const auto& tile : tiles) {
      auto cpu_tile = std::dynamic_pointer_cast<const CpuTile>(tile);
      if (cpu_tile == nullptr) {
        return absl::InvalidArgumentError("a tile does not belong to the CPU engine");
      }
      for (const CellStatistics& s : statistics) {
        const TileMoments* const lattice = cpu_tile->Lattice(s.cell_size_m);
        VOXLOC_TRY(CheckLattice(s, lattice != nullptr,
                                lattice != nullptr && !lattice->float_sums.empty()));
      }
      cpu_tiles.push_back(std::move(cpu_tile));
    }
    return std::make_shared<const CpuMap>(
        *this, std::move(cpu_tiles),
        std::vector<CellStatistics>(statistics.begin(), statistics.end()),
        dynamic_cast<const CpuMap*>(previous), &pool_);
  }

  absl::StatusOr<FilteredCloud> DoFilter(const PointCloud& cloud, const FilterOptions& options,
                                         WorkClass /*work_class*/) override {
    return FilterCloud(cloud, options);
  }

  absl::Status DoAlign(absl::Span<const AlignJob> jobs, absl::Span<AlignResult> results) override {
    for (size_t i = 0; i < jobs.size(); ++i) {
      const size_t threads = ThreadsFor(jobs[i], jobs.size());
      if (threads == 1) continue;
      SpinTeam::Run(&pool_, threads, [&](SpinTeam& team) { AlignOne(jobs[i], &team, results[i]); });
    }
    pool_.ParallelFor(jobs.size(), [&](size_t i) {
      if (ThreadsFor(jobs[i], jobs.size()) == 1) AlignOne(jobs[i], nullptr, results[i]);
    });
    return absl::OkStatus();
  }

  absl::StatusOr<std::shared_ptr<const ResidentBoundGrid>> DoLoadBoundGrid(
      BoundGrid grid) override {
    return std::make_shared<const HostBoundGrid>(std::move(grid));
  }

  absl::StatusOr<std::vector<BoundHit>> DoBound(const BoundRequest& request) override {
    return BoundOnHost(request, [this](size_t count, absl::FunctionRef<void(size_t)> body) {
      pool_.ParallelFor(count, body);
    });
  }

  absl::StatusOr<ScoreResult> DoScore(const ScoreRequest& request) override {
    VOXLOC_TRY(CheckPoses(request.map_T_base));
    VOXLOC_ASSIGN_OR_RETURN(
        const CpuMap* const map,
        CheckMap(*this, request.map.get(), absl::MakeConstSpan(&request.stage, 1)));
    const size_t poses = request.map_T_base.size();
    const size_t points = request.scan->size();
    ScoreResult result = MakeScoreResult(request);
    const size_t tasks = (poses + kPosesPerTask - 1) / kPosesPerTask;
    pool_.ParallelFor(tasks, [&](size_t task) {
      if (!CheckStopped(request.stop, "scoring").ok()) return;
      std::unique_ptr<AlignWorkspace> workspace = workspaces_.Acquire();
      ScanEvaluator& evaluator = workspace->evaluator;
      evaluator.SetScan(*request.scan);
      evaluator.SetStage(map->Grid(request.stage.cells), request.stage);
      const size_t end = std::min(poses, (task + 1) * kPosesPerTask);
      for (size_t i = task * kPosesPerTask; i < end; ++i) {
        float* rows = request.with_point_scores ? result.point_scores.data() + i * points : nullptr;
        result.poses[i] =
            evaluator
                .Evaluate(ChartFromPose(request.map_T_base[i]), /*with_derivatives=*/false,
                          evaluator.points(), nullptr, rows)
                .score;
      }
      workspaces_.Release(std::move(workspace));
    });
    VOXLOC_TRY(CheckStopped(request.stop, "scoring"));
    return result;
  }

 private:
  // The number of threads that work on one of this many jobs.
  [[nodiscard]] size_t ThreadsFor(const AlignJob& job, size_t jobs) const {
    if (job.scan == nullptr || jobs >= pool_.threads()) return 1;
    const size_t chunks = job.scan->size() / cpu::kPointsPerChunk;
    if (jobs > 1 && chunks < kLargeScanChunks) return 1;
    return std::clamp<size_t>(chunks / kChunksPerThread, 1, pool_.threads());
  }

  void AlignOne(const AlignJob& job, SpinTeam* team, AlignResult& result) {
    result.status =
        CatchOutOfMemory([&] { return TryAlign(job, team, result); },
                         [&] {
                           const size_t points = job.scan == nullptr ? 0 : job.scan->size();
                           return absl::StrCat("no memory to align a scan of ", points, " points");
                         });
  }

  absl::Status TryAlign(const AlignJob& job, SpinTeam* team, AlignResult& result) {
    VOXLOC_TRY(CheckInputs(job));
    VOXLOC_TRY(ValidateProfile(job.profile));
    VOXLOC_ASSIGN_OR_RETURN(const CpuMap* const map,
                            CheckMap(*this, job.map.get(), job.profile.stages));
    // If memory runs out it is destroyed instead of released, since its state is then unknown.
    std::unique_ptr<AlignWorkspace> workspace = workspaces_.Acquire();
    MapEvaluator on_map(*map, job, *workspace, team);
    if (workspace->evaluator.points() == 0) {
      workspaces_.Release(std::move(workspace));
      return NoFinitePointError(*job.scan);
    }
    if (job.passes_only) {
      result.map_T_base = job.map_T_base_guess;
      result.stage = static_cast<int>(job.profile.stages.size()) - 1;
    } else {
      RunSchedule(job, on_map.Rules(job), on_map, result);
    }
    const ChartVector chart = ChartFromPose(result.map_T_base);
    if (job.with_point_scores) {
      result.point_scores.assign(job.scan->size(), 0.0F);
      on_map.BeginStage(job.profile.score_stage);
      on_map.ScorePoints(chart, result.point_scores.data());
    }
    for (const EvaluationPass& pass : job.passes) {
      const size_t stage =
          pass.score_stage ? job.profile.score_stage : static_cast<size_t>(result.stage);
      on_map.RunPass(pass, chart, stage, result.passes.emplace_back());
    }
    workspaces_.Release(std::move(workspace));
    return absl::OkStatus();
  }

  ThreadPool pool_;
  WorkspacePool workspaces_;
};

}  // namespace

std::unique_ptr<Engine> MakeCpuEngine(const CpuEngineOptions& options) {
  return std::make_unique<CpuEngine>(options.threads == 0 ? UsableProcessors() : options.threads);
}

}  // namespace voxloc
