// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/global_search/global_search.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <new>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/cloud/filters.h"
#include "core/engine/job_check.h"
#include "core/engine/out_of_memory.h"
#include "core/engine/search_rules.h"
#include "core/estimate/global_search/leaf_search.h"
#include "core/estimate/global_search/search_grid.h"
#include "core/estimate/global_search/search_points.h"
#include "core/geometry/euler.h"
#include "core/status/try.h"
#include "core/text/number_range.h"

namespace voxloc {
namespace {

// Of the time until the deadline that the search for leaves may take; the rest is for alignments.
constexpr double kLeafSearchTimeShare = 0.7;
constexpr double kMaxTilt_rad = 0.5;

absl::Status CheckJob(const PoseSearchJob& job, const PoseRegion& region) {
  if (job.map == nullptr) return absl::InvalidArgumentError("there is no map to search");
  VOXLOC_TRY(ValidatePoseRegion(region));
  VOXLOC_TRY(ValidateHypothesisOptions(job.hypotheses));
  VOXLOC_TRY(ValidateProfile(job.profile));
  VOXLOC_TRY(CheckInputs(AlignmentOf(job)));
  return CheckCells(*job.map, job.profile.stages);
}

std::vector<CellStatistics> StatisticsOf(const Profile& profile) {
  std::vector<CellStatistics> statistics;
  for (const Stage& stage : profile.stages) statistics.push_back(stage.cells);
  return statistics;
}

std::optional<SearchArea> AreaOf(const PoseRegion& region) {
  if (!region.box.has_value()) return std::nullopt;
  return SearchArea{region.box->min.head<2>(), region.box->max.head<2>()};
}

// The part of the grid that the region covers. InvalidArgument: it covers none.
absl::Status SetExtent(const PoseRegion& region, const SearchGrid& grid, LeafSearchJob& leaves) {
  leaves.begin = grid.begin;
  leaves.end = grid.end;
  leaves.begin_z = 0;
  leaves.end_z = grid.z_levels;
  if (!region.box.has_value()) return absl::OkStatus();
  // In double: a box may reach far beyond any voxel.
  const Eigen::Array3d low = ((region.box->min - grid.corner_map).array() / grid.voxel_m).floor();
  const Eigen::Array3d high =
      ((region.box->max - grid.corner_map).array() / grid.voxel_m).floor() + 1.0;
  const Eigen::Array3d least(grid.begin.x(), grid.begin.y(), 0.0);
  const Eigen::Array3d most(grid.end.x(), grid.end.y(), grid.z_levels);
  const Eigen::Array3d begin = low.max(least);
  const Eigen::Array3d end = high.min(most);
  if ((begin >= end).any()) {
    const Eigen::Vector3d from = grid.corner_map + grid.voxel_m * least.matrix();
    const Eigen::Vector3d to = grid.corner_map + grid.voxel_m * most.matrix();
    return absl::InvalidArgumentError(
        absl::StrCat("the region does not touch the map, which is at x ", from.x(), " to ", to.x(),
                     ", y ", from.y(), " to ", to.y(), ", z ", from.z(), " to ", to.z()));
  }
  leaves.begin = begin.head<2>().cast<int>();
  leaves.end = end.head<2>().cast<int>();
  leaves.begin_z = static_cast<int32_t>(begin.z());
  leaves.end_z = static_cast<int32_t>(end.z());
  return absl::OkStatus();
}

// Until the leaves must be found. Past deadlines stay.
absl::Time LeafDeadline(absl::Time deadline) {
  if (deadline == absl::InfiniteFuture()) return deadline;
  const absl::Time now = absl::Now();
  return deadline <= now ? deadline : now + kLeafSearchTimeShare * (deadline - now);
}

constexpr size_t kJobsPerCall = 64;
// Candidates are distinguished with no more points than this, of a voxel grid as coarse as that
// takes.
constexpr size_t kCandidatePoints = 2500;
constexpr double kFinestLeaf_m = 0.4;
constexpr double kCoarsestLeaf_m = 10.0;
// What comes before the alignments has this share of the work, as progress reports it.
constexpr double kLeafSearchProgress = 0.7;

std::shared_ptr<const PointCloud> ThinForCandidates(std::shared_ptr<const PointCloud> scan) {
  for (double leaf_m = kFinestLeaf_m; scan->size() > kCandidatePoints && leaf_m < kCoarsestLeaf_m;
       leaf_m *= 1.4) {
    absl::StatusOr<PointCloud> thin = VoxelDownsample(*scan, leaf_m);
    if (thin.ok() && !thin->empty()) {
      scan = std::make_shared<const PointCloud>(*std::move(thin));
    }
  }
  return scan;
}

// Aligns the hypotheses with the whole scan and ranks them again. Hypotheses that merge add up
// their support.
absl::Status RefineHypotheses(Engine& engine, const PoseSearchJob& job,
                              const std::function<bool(const Pose&)>& accepts,
                              PoseSearchResult& result) {
  std::vector<Pose> starts;
  for (const PoseHypothesis& hypothesis : result.ranked.hypotheses) {
    starts.push_back(hypothesis.result.map_T_base);
  }
  const std::vector<AlignResult> refined = engine.Align(JobsFrom(AlignmentOf(job), starts));
  std::vector<AlignResult> supported;
  for (size_t i = 0; i < refined.size(); ++i) {
    if (!refined[i].status.ok()) return refined[i].status;
    if (refined[i].termination == Termination::kDeadline) result.timed_out = true;
    if (!accepts(refined[i].map_T_base)) continue;
    supported.insert(supported.end(), result.ranked.hypotheses[i].support, refined[i]);
  }
  result.ranked = RankHypotheses(supported, job.hypotheses);
  return absl::OkStatus();
}

// Whether a pose lies in the region, and half a voxel and a step of heading around it.
bool IsInRegion(const PoseRegion& region, double slack_m, double slack_rad,
                const Pose& map_T_base) {
  if (region.box.has_value()) {
    const Eigen::Array3d at = map_T_base.translation.array();
    if ((at < region.box->min.array() - slack_m).any() ||
        (at > region.box->max.array() + slack_m).any()) {
      return false;
    }
  }
  const Eigen::Vector3d ahead = map_T_base.rotation * Eigen::Vector3d::UnitX();
  const double off = std::abs(WrapAngle(std::atan2(ahead.y(), ahead.x()) - region.yaw_rad));
  return off <= region.yaw_half_range_rad + slack_rad;
}

// Aligns the starts, in their order, as long as the deadline allows, and fills in the result's
// hypotheses and counts: candidates in batches, with a thinned scan where the scan is large, and
// the best of them once more with all of it. `accepts` says which poses may be answered. Cancelled;
// what the engine says.
absl::Status AlignCandidates(Engine& engine, const PoseSearchJob& job,
                             const std::vector<Pose>& starts,
                             const std::function<bool(const Pose&)>& accepts,
                             const PoseSearchObserver& observer, PoseSearchResult& result) {
  AlignJob thin = AlignmentOf(job);
  thin.scan = ThinForCandidates(job.scan);
  std::vector<AlignResult> ends;
  for (size_t begin = 0; begin < starts.size(); begin += kJobsPerCall) {
    const Interrupt interrupt = CheckInterrupt(job.stop);
    if (interrupt == Interrupt::kCancelled) return absl::CancelledError("the search was cancelled");
    if (interrupt == Interrupt::kDeadline) {
      result.timed_out = true;
      break;
    }
    const auto batch = absl::MakeConstSpan(starts).subspan(begin, kJobsPerCall);
    std::vector<AlignResult> results = engine.Align(JobsFrom(thin, batch));
    std::vector<SearchParticle> particles;
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].status.ok()) return results[i].status;
      if (results[i].termination == Termination::kDeadline) result.timed_out = true;
      if (accepts(results[i].map_T_base)) ends.push_back(results[i]);
      particles.push_back({begin + i, batch[i], std::move(results[i])});
    }
    result.candidates_aligned += batch.size();
    result.largest_batch = std::max(result.largest_batch, batch.size());
    if (!observer) continue;
    PoseSearchProgress progress;
    progress.phase = PoseSearchPhase::kAligning;
    progress.fraction = kLeafSearchProgress + (1.0 - kLeafSearchProgress) *
                                                  static_cast<double>(result.candidates_aligned) /
                                                  static_cast<double>(starts.size());
    progress.candidates_scored = result.candidates_scored;
    progress.candidates_aligned = result.candidates_aligned;
    progress.best = BestCandidate(ends);
    progress.particles = particles;
    observer(progress);
  }
  const Interrupt interrupt = CheckInterrupt(job.stop);
  if (interrupt == Interrupt::kCancelled) return absl::CancelledError("the search was cancelled");
  if (thin.scan == job.scan || interrupt == Interrupt::kDeadline) {
    result.ranked = RankHypotheses(ends, job.hypotheses);
    return absl::OkStatus();
  }
  // The gap needs a second, also where only the best is wanted.
  HypothesisOptions options = job.hypotheses;
  options.max_hypotheses = std::max<size_t>(2, options.max_hypotheses);
  result.ranked = RankHypotheses(ends, options);
  return RefineHypotheses(engine, job, accepts, result);
}

absl::StatusOr<PoseSearchResult> SearchWithGrid(Engine& engine, const PoseSearchJob& job,
                                                const PoseRegion& region, const SearchGrid& grid,
                                                const std::vector<Eigen::Vector3d>& points,
                                                const PoseSearchObserver& observer) {
  LeafSearchJob leaf_job;
  leaf_job.grid = &grid;
  VOXLOC_TRY(SetExtent(region, grid, leaf_job));
  leaf_job.headings =
      SpreadHeadings(points, grid.voxel_m, region.yaw_rad, region.yaw_half_range_rad);
  leaf_job.scan = RotatePoints(points, leaf_job.headings, grid.voxel_m, region.max_tilt_rad,
                               grid.resident->shape().tolerances);
  leaf_job.stop = job.stop;
  leaf_job.stop.deadline = LeafDeadline(job.stop.deadline);

  PoseSearchResult result;
  const auto on_progress = [&](double fraction, uint64_t nodes) {
    PoseSearchProgress progress;
    progress.phase = PoseSearchPhase::kSearching;
    progress.fraction = kLeafSearchTimeShare * fraction;
    progress.candidates_scored = nodes;
    observer(progress);
  };
  VOXLOC_ASSIGN_OR_RETURN(
      const LeafSearchResult found,
      SearchLeaves(engine, leaf_job, LeafSearchOptions(),
                   observer ? LeafSearchProgress(on_progress) : LeafSearchProgress()));
  result.timed_out = found.timed_out;
  result.candidates_scored = found.nodes;

  std::vector<Pose> starts;
  for (const Leaf& leaf : found.leaves) {
    const Eigen::AngleAxisd turn(leaf_job.headings.At(leaf.heading), Eigen::Vector3d::UnitZ());
    starts.push_back({grid.Centre(leaf.x, leaf.y, leaf.z), Eigen::Quaterniond(turn)});
  }
  const auto accepts = [&](const Pose& map_T_base) {
    return IsInRegion(region, grid.voxel_m, leaf_job.headings.step_rad, map_T_base);
  };
  VOXLOC_TRY(AlignCandidates(engine, job, starts, accepts, observer, result));
  result.reliable = IsReliable(result.ranked, job);
  if (observer) {
    PoseSearchProgress progress;
    progress.phase = PoseSearchPhase::kRanking;
    progress.fraction = 1.0;
    progress.candidates_scored = result.candidates_scored;
    progress.candidates_aligned = result.candidates_aligned;
    if (!result.ranked.hypotheses.empty()) progress.best = &result.ranked.hypotheses[0].result;
    observer(progress);
  }
  return result;
}

}  // namespace

absl::Status ValidatePoseRegion(const PoseRegion& region) {
  if (region.box.has_value()) {
    const char* const names[] = {"x", "y", "z"};
    for (int axis = 0; axis < 3; ++axis) {
      const double low = region.box->min[axis];
      const double high = region.box->max[axis];
      if (std::isfinite(low) && std::isfinite(high) && low <= high) continue;
      return absl::InvalidArgumentError(absl::StrCat("the region's ", names[axis],
                                                     " must be finite and ascending (got ", low,
                                                     " to ", high, ")"));
    }
  }
  VOXLOC_TRY(CheckRanges({{"yaw_rad", region.yaw_rad, Finite()},
                          {"max_tilt_rad", region.max_tilt_rad, FromTo(0.0, kMaxTilt_rad)}}));
  // Pi as it comes through a conversion from degrees.
  if (!(region.yaw_half_range_rad > 0.0 && region.yaw_half_range_rad <= M_PI + 1e-9)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "yaw_half_range_rad must be over 0 and at most pi (got ", region.yaw_half_range_rad, ")"));
  }
  return absl::OkStatus();
}

GlobalSearch::GlobalSearch(Engine& engine, size_t cache_bytes)
    : engine_(engine), cache_(std::make_unique<GridCache>(engine, cache_bytes)) {}

GlobalSearch::~GlobalSearch() = default;

absl::StatusOr<PoseSearchResult> GlobalSearch::Search(const PoseSearchJob& job,
                                                      const PoseRegion& region,
                                                      const PoseSearchObserver& observer) {
  VOXLOC_TRY(CheckJob(job, region));
  try {
    if (observer) observer(PoseSearchProgress());
    const Interrupt interrupt = CheckInterrupt(job.stop);
    if (interrupt == Interrupt::kCancelled) {
      return absl::CancelledError("the search was cancelled");
    }
    if (interrupt == Interrupt::kDeadline) {
      PoseSearchResult result;
      result.timed_out = true;
      return result;
    }
    SearchGridOptions grid_options;
    SearchPointOptions point_options;
    point_options.voxel_m = grid_options.voxel_m;
    point_options.reach_m = grid_options.reach_m;
    const std::vector<Eigen::Vector3d> points = ChooseSearchPoints(*job.scan, point_options);
    if (points.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("none of the scan's ", job.scan->size(),
                                                     " points is within ", point_options.reach_m,
                                                     " m of the sensor"));
    }
    VOXLOC_ASSIGN_OR_RETURN(
        const std::shared_ptr<const SearchGrid> grid,
        cache_->Get(job.map, ChooseStatistics(StatisticsOf(job.profile), grid_options.voxel_m),
                    AreaOf(region), grid_options));
    return SearchWithGrid(engine_, job, region, *grid, points, observer);
  } catch (const std::bad_alloc&) {
    return OutOfMemory([] { return "no memory to search the map"; });
  }
}

}  // namespace voxloc
