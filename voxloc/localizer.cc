// SPDX-License-Identifier: Apache-2.0

#include "voxloc/localizer.h"

#include <new>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "core/cloud/io/file_bytes.h"
#include "core/engine/engine.h"
#include "core/engine/job_check.h"
#include "core/engine/out_of_memory.h"
#include "core/engine/profile_set.h"
#include "core/engine/profile_text.h"
#include "core/estimate/global_search/global_search.h"
#include "core/estimate/scan_estimate.h"
#include "core/parallel/processors.h"
#include "core/parallel/thread_pool.h"
#include "core/status/try.h"
#include "core/tracking/verdict.h"
#include "voxloc/device_engine.h"

namespace voxloc {
namespace {

// Of what searches keep of the map: the limit of one grid.
constexpr size_t kSearchBytes = size_t{1} << 30;

absl::StatusOr<Profile> FindProfile(const std::string& name) {
  if (!absl::EndsWith(name, ".yaml") && !absl::EndsWith(name, ".yml")) {
    auto profile = ProfileSet().Find(name);
    if (profile.ok()) return profile;
    return absl::InvalidArgumentError(
        absl::StrCat("profile ", profile.status().message(), ", or a file *.yaml"));
  }
  VOXLOC_ASSIGN_OR_RETURN(const FileBytes file, ReadFileBytes(name, kMaxProfileBytes));
  return ParseProfile(file.view(), name);
}

absl::StatusOr<std::shared_ptr<const PointCloud>> FinitePoints(PointCloud cloud) {
  VOXLOC_TRY(CheckColumns(cloud, "points_base"));
  size_t kept = 0;
  for (size_t i = 0; i < cloud.size(); ++i) {
    if (!cloud.IsFinite(i)) continue;
    cloud.x[kept] = cloud.x[i];
    cloud.y[kept] = cloud.y[i];
    cloud.z[kept] = cloud.z[i];
    ++kept;
  }
  if (kept == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "points_base must have a point that is finite (got ", cloud.size(), " points)"));
  }
  cloud.x.resize(kept);
  cloud.y.resize(kept);
  cloud.z.resize(kept);
  cloud.intensity.clear();
  return std::make_shared<const PointCloud>(std::move(cloud));
}

absl::StatusOr<StopToken> StopAfter(double timeout_s) {
  if (!(timeout_s >= 0.0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("timeout_s must be at least 0 (got ", timeout_s, ")"));
  }
  StopToken stop;
  if (timeout_s > 0.0) stop.deadline = absl::Now() + absl::Seconds(timeout_s);
  return stop;
}

}  // namespace

struct Localizer::Impl {
  // What is held of one map. Immutable.
  struct Resident {
    struct Tile {
      std::weak_ptr<const PointCloud> points;  // that it was built of
      std::shared_ptr<const ResidentTile> resident;
      Bounds bounds;
    };
    std::map<std::string, Tile> tiles;
    std::shared_ptr<const ResidentMap> map;
    Bounds bounds;
  };

  // A scan on its way through the engine and the estimates.
  struct Task {
    AlignJob job;
    EstimateRequest estimate;
    double reach_m = 0.0;
  };

  Impl(std::unique_ptr<Engine> an_engine, Profile a_profile, size_t threads)
      : engine(std::move(an_engine)),
        profile(std::move(a_profile)),
        statistics(RequiredStatistics({profile})),
        limits(LimitsOf(profile)),
        pool(threads == 0 ? UsableProcessors() : threads),
        search(*engine, kSearchBytes) {
    gate.required_distance_m = profile.required_distance_m;
    estimate.covariance.method = CovarianceMethodOf(profile);
    estimate.rival_confidence = kDoubtfulConfidence;
  }

  [[nodiscard]] std::shared_ptr<const Resident> Current() const {
    const absl::MutexLock lock(&mutex);
    return current;
  }

  absl::Status SetMap(const Map& map);
  absl::StatusOr<Resident::Tile> TileOf(const Resident* last, const std::string& id,
                                        const std::shared_ptr<const PointCloud>& points) const;
  absl::StatusOr<Task> Prepare(const Resident& resident, AlignRequest& request);
  Alignment Describe(const AlignResult& result, const ScanEstimate* scan_estimate,
                     Verdict verdict) const;
  [[nodiscard]] Verdict Judge(const AlignJob& job, const AlignResult& result,
                              const ScanEstimate& scan_estimate) const;
  std::vector<absl::StatusOr<Alignment>> AlignBatch(std::vector<AlignRequest> requests);
  absl::StatusOr<Location> Locate(LocateRequest request);

  const std::unique_ptr<Engine> engine;
  const Profile profile;
  const std::vector<CellStatistics> statistics;
  const AcceptanceLimits limits;
  GateOptions gate;
  EstimateOptions estimate;
  ThreadPool pool;
  GlobalSearch search;

  absl::Mutex setting;  // one map after the other
  mutable absl::Mutex mutex;
  std::shared_ptr<const Resident> current ABSL_GUARDED_BY(mutex);
};

absl::StatusOr<Localizer::Impl::Resident::Tile> Localizer::Impl::TileOf(
    const Resident* last, const std::string& id,
    const std::shared_ptr<const PointCloud>& points) const {
  if (last != nullptr) {
    const auto found = last->tiles.find(id);
    if (found != last->tiles.end() && found->second.points.lock() == points) return found->second;
  }
  Resident::Tile tile;
  tile.points = points;
  VOXLOC_ASSIGN_OR_RETURN(tile.resident, engine->BuildTile(*points, statistics));
  tile.bounds = ComputeBounds(*points);
  return tile;
}

absl::Status Localizer::Impl::SetMap(const Map& map) {
  const absl::MutexLock one_at_a_time(&setting);
  const std::shared_ptr<const Resident> last = Current();
  auto next = std::make_shared<Resident>();
  std::vector<std::shared_ptr<const ResidentTile>> tiles;
  for (const auto& [id, points] : map.tiles()) {
    VOXLOC_ASSIGN_OR_RETURN(auto tile, TileOf(last.get(), id, points));
    tiles.push_back(tile.resident);
    Enlarge(tile.bounds, next->bounds);
    next->tiles.emplace(id, std::move(tile));
  }
  VOXLOC_ASSIGN_OR_RETURN(next->map,
                          engine->Compose(tiles, statistics, last ? last->map.get() : nullptr));
  const absl::MutexLock lock(&mutex);
  current = std::move(next);
  return absl::OkStatus();
}

absl::StatusOr<Localizer::Impl::Task> Localizer::Impl::Prepare(const Resident& resident,
                                                               AlignRequest& request) {
  Task task;
  AlignJob& job = task.job;
  VOXLOC_ASSIGN_OR_RETURN(job.scan, FinitePoints(std::move(request.points_base)));
  VOXLOC_ASSIGN_OR_RETURN(
      job.map_T_base_guess,
      PoseFromQuaternion(request.map_T_base_guess.translation, request.map_T_base_guess.rotation));
  VOXLOC_ASSIGN_OR_RETURN(job.stop, StopAfter(request.timeout_s));
  if (request.guess_covariance.has_value()) {
    VOXLOC_TRY(CheckPositiveDefinite(*request.guess_covariance, "guess_covariance"));
  }
  task.reach_m = MaxPointDistance(*job.scan);
  if (task.reach_m < gate.required_distance_m) {
    return absl::InvalidArgumentError(absl::StrCat("the farthest point must be at least ",
                                                   gate.required_distance_m,
                                                   " m from the base (got ", task.reach_m, " m)"));
  }
  job.map = resident.map;
  job.profile = profile;
  job.guess_covariance = job.prior_covariance = task.estimate.guess_covariance =
      request.guess_covariance;
  job.with_trace = request.with_trace;
  job.with_point_scores = request.with_point_scores;
  task.estimate.options = &estimate;
  task.estimate.base_twist = request.base_twist;
  if (!CanTouch(resident.bounds, job.map_T_base_guess, task.reach_m, MatchMargin(profile))) {
    return task;
  }
  task.estimate.features =
      ComputeScanFeatures(*job.scan, task.estimate.rays, job.map_T_base_guess, estimate);
  RequestPasses(*task.estimate.features, job);
  job.packed = engine->Pack(job);
  return task;
}

Verdict Localizer::Impl::Judge(const AlignJob& job, const AlignResult& result,
                               const ScanEstimate& scan_estimate) const {
  PriorKnowledge known;
  known.map_T_base_guess = job.map_T_base_guess;
  if (job.guess_covariance.has_value()) {
    known.priors.push_back({PriorSource::kGuess, job.map_T_base_guess, *job.guess_covariance});
  }
  return JudgeResult(result, &scan_estimate, profile, gate, limits, known);
}

Alignment Localizer::Impl::Describe(const AlignResult& result, const ScanEstimate* scan_estimate,
                                    Verdict verdict) const {
  Alignment alignment;
  alignment.map_T_base = result.map_T_base;
  alignment.accepted = verdict.accepted;
  alignment.status = verdict.status;
  alignment.detail = std::move(verdict.detail);
  alignment.score = result.after;
  alignment.iterations = result.iterations;
  alignment.trace = result.trace;
  alignment.point_scores = result.point_scores;
  if (scan_estimate != nullptr) {
    alignment.covariance = scan_estimate->covariance.covariance;
    if (scan_estimate->confidence.has_value()) {
      alignment.confidence = scan_estimate->confidence->value;
    }
  }
  return alignment;
}

std::vector<absl::StatusOr<Alignment>> Localizer::Impl::AlignBatch(
    std::vector<AlignRequest> requests) {
  const std::shared_ptr<const Resident> resident = Current();
  std::vector<absl::StatusOr<Task>> tasks(requests.size());
  pool.ParallelFor(requests.size(), [&](size_t i) {
    tasks[i] = CatchOutOfMemory([&] { return Prepare(*resident, requests[i]); },
                                [] { return std::string("no memory to prepare the scan"); });
  });

  std::vector<size_t> places;  // of the scans that the engine aligns
  std::vector<AlignJob> jobs;
  std::vector<absl::StatusOr<Alignment>> alignments(requests.size());
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!tasks[i].ok()) {
      alignments[i] = tasks[i].status();
    } else if (tasks[i]->estimate.features == nullptr) {
      const AlignJob& job = tasks[i]->job;
      alignments[i] =
          Describe(ResultOutOfMap(*job.scan, job.map_T_base_guess, job.with_point_scores), nullptr,
                   OutOfMapVerdict(resident->bounds, job.map_T_base_guess, tasks[i]->reach_m));
    } else {
      places.push_back(i);
      jobs.push_back(std::move(tasks[i]->job));
    }
  }
  const std::vector<AlignResult> results = engine->Align(jobs);

  std::vector<EstimateRequest> doubtful;  // whose estimates need the engine
  std::vector<size_t> doubtful_places;
  std::vector<std::optional<ScanEstimate>> estimates(places.size());
  for (size_t k = 0; k < places.size(); ++k) {
    EstimateRequest& request = tasks[places[k]]->estimate;
    request.scan = {&jobs[k], &results[k]};
  }
  pool.ParallelFor(places.size(), [&](size_t k) {
    if (results[k].status.ok()) estimates[k] = EstimateFromPasses(tasks[places[k]]->estimate);
  });
  for (size_t k = 0; k < places.size(); ++k) {
    if (!results[k].status.ok() || estimates[k].has_value()) continue;
    doubtful.push_back(tasks[places[k]]->estimate);
    doubtful_places.push_back(k);
  }
  std::vector<ScanEstimate> found = EstimateScans(*engine, doubtful, &pool);
  for (size_t d = 0; d < found.size(); ++d) estimates[doubtful_places[d]] = std::move(found[d]);

  for (size_t k = 0; k < places.size(); ++k) {
    absl::StatusOr<Alignment>& alignment = alignments[places[k]];
    if (results[k].status.ok()) {
      alignment = Describe(results[k], &*estimates[k], Judge(jobs[k], results[k], *estimates[k]));
    } else {
      alignment = results[k].status;
    }
  }
  return alignments;
}

absl::StatusOr<Location> Localizer::Impl::Locate(LocateRequest request) {
  const std::shared_ptr<const Resident> resident = Current();
  PoseSearchJob job;
  VOXLOC_ASSIGN_OR_RETURN(job.scan, FinitePoints(std::move(request.points_base)));
  VOXLOC_ASSIGN_OR_RETURN(job.stop, StopAfter(request.timeout_s));
  job.map = resident->map;
  job.profile = profile;
  job.seed = request.seed;
  job.hypotheses.max_hypotheses = request.max_hypotheses;
  VOXLOC_TRY(ValidateHypothesisOptions(job.hypotheses));
  PoseRegion region;
  if (request.within_map.finite_points > 0) {
    region.box = PoseRegion::Box{request.within_map.min, request.within_map.max};
  }
  VOXLOC_TRY(ValidatePoseRegion(region));
  VOXLOC_ASSIGN_OR_RETURN(PoseSearchResult found, search.Search(job, region, nullptr));
  EstimateOptions options = estimate;
  options.rival_confidence = 0.0;  // hypotheses are each other's rivals
  VOXLOC_ASSIGN_OR_RETURN(auto estimates,
                          EstimateHypotheses(*engine, job, options, {}, found.ranked.hypotheses));
  RankByConfidence(found.ranked, estimates);
  Location location;
  for (size_t i = 0; i < estimates.size(); ++i) {
    const AlignResult& result = found.ranked.hypotheses[i].result;
    location.hypotheses.push_back(
        Describe(result, &estimates[i], JudgeResult(result, &estimates[i], profile, gate, limits)));
  }
  location.reliable = IsReliable(found.ranked, job);
  location.ambiguous = found.ranked.ambiguous;
  location.timed_out = found.timed_out;
  return location;
}

absl::StatusOr<std::unique_ptr<Localizer>> Localizer::Create(const Map& map,
                                                             const LocalizerOptions& options) {
  VOXLOC_ASSIGN_OR_RETURN(auto profile, FindProfile(options.profile));
  VOXLOC_ASSIGN_OR_RETURN(auto engine, MakeDeviceEngine(options.device, options.threads));
  auto localizer = std::unique_ptr<Localizer>(new Localizer(
      std::make_unique<Impl>(std::move(engine), std::move(profile), options.threads)));
  VOXLOC_TRY(localizer->SetMap(map));
  return localizer;
}

Localizer::Localizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Localizer::~Localizer() = default;

absl::Status Localizer::SetMap(const Map& map) {
  return CatchOutOfMemory([&] { return impl_->SetMap(map); },
                          [] { return std::string("no memory for the map"); });
}

absl::StatusOr<Alignment> Localizer::Align(AlignRequest request) const {
  std::vector<AlignRequest> requests;
  requests.push_back(std::move(request));
  return std::move(AlignBatch(std::move(requests)).front());
}

absl::StatusOr<Alignment> Localizer::Align(PointCloud points_base,
                                           const Pose& map_T_base_guess) const {
  AlignRequest request;
  request.points_base = std::move(points_base);
  request.map_T_base_guess = map_T_base_guess;
  return Align(std::move(request));
}

std::vector<absl::StatusOr<Alignment>> Localizer::AlignBatch(
    std::vector<AlignRequest> requests) const {
  const size_t count = requests.size();
  try {
    return impl_->AlignBatch(std::move(requests));
  } catch (const std::bad_alloc&) {
    return std::vector<absl::StatusOr<Alignment>>(
        count, absl::ResourceExhaustedError("no memory for the batch"));
  }
}

absl::StatusOr<Location> Localizer::Locate(LocateRequest request) const {
  return CatchOutOfMemory([&] { return impl_->Locate(std::move(request)); },
                          [] { return std::string("no memory to search the pose"); });
}

absl::StatusOr<std::vector<PoseScore>> Localizer::Score(PointCloud points_base,
                                                        absl::Span<const Pose> map_T_base) const {
  const auto resident = impl_->Current();
  ScoreRequest request;
  VOXLOC_ASSIGN_OR_RETURN(request.scan, FinitePoints(std::move(points_base)));
  for (const Pose& pose : map_T_base) {
    VOXLOC_ASSIGN_OR_RETURN(request.map_T_base.emplace_back(),
                            PoseFromQuaternion(pose.translation, pose.rotation));
  }
  request.map = resident->map;
  request.stage = impl_->profile.stages[impl_->profile.score_stage];
  VOXLOC_ASSIGN_OR_RETURN(ScoreResult result,
                          ScoreAnywhere(*impl_->engine, resident->bounds, std::move(request)));
  return std::move(result.poses);
}

std::string Localizer::device() const {
  const EngineInfo info = impl_->engine->Info();
  return absl::StrCat(info.name, ": ", info.device);
}

size_t Localizer::MemoryBytes() const { return impl_->Current()->map->MemoryBytes(); }

}  // namespace voxloc
