// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/global_search/global_search.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/engine/job_check.h"
#include "core/engine/out_of_memory.h"
#include "core/engine/search_rules.h"
#include "core/estimate/global_search/candidate_alignment.h"
#include "core/estimate/global_search/leaf_search.h"
#include "core/estimate/global_search/search_grid.h"
#include "core/estimate/global_search/search_points.h"
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

// The part of the grid that the region is. InvalidArgument: there is none.
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
  if (absl::Status status =
          CheckRanges({{"yaw_rad", region.yaw_rad, Finite()},
                       {"max_tilt_rad", region.max_tilt_rad, FromTo(0.0, kMaxTilt_rad)}});
      !status.ok()) {
    return status;
  }
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
