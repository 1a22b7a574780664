// SPDX-License-Identifier: Apache-2.0

#include "server/localization/score_work.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/engine/align.h"
#include "core/status/try.h"
#include "server/convert/options.h"
#include "server/convert/pose.h"
#include "server/convert/result.h"
#include "server/convert/scan.h"
#include "server/observe/seconds.h"
#include "server/session/session_setup.h"

namespace voxloc::server {
namespace {

// Point evaluations in one call of the engine: some 10 ms of a processor's core.
constexpr size_t kSlicePoints = 200'000;
// Point scores in one message: 1 MiB.
constexpr size_t kMessageScores = 262'144;

}  // namespace

absl::Status ScoreWork::Open(const v1::ScoreSetup& setup, const StopToken& stop) {
  if (!setup.has_scan()) return absl::InvalidArgumentError("the setup has no scan");
  VOXLOC_TRY(
      CheckScanClouds(setup.scan(), parts_.live_config.limits()->max_points_per_scan).status());
  VOXLOC_ASSIGN_OR_RETURN(auto hints, ScanHintsFromProto(setup.scan()));
  VOXLOC_ASSIGN_OR_RETURN(auto checked,
                          CheckSetup(*parts_.live_config.Get(), parts_.maps, setup.setup()));
  const ScanRecipe& recipe = checked.source.recipe;
  map_ = std::move(checked.map);
  const Profile& profile = checked.profile_on_map;
  const size_t stages = profile.stages.size();
  const size_t stage = setup.has_stage() ? setup.stage().value() : profile.score_stage;
  if (stage >= stages) {
    return absl::InvalidArgumentError(absl::StrCat("stage is ", stage, "; profile ", profile.name,
                                                   " has stages 0 to ", stages - 1));
  }
  VOXLOC_ASSIGN_OR_RETURN(
      scan_, PrepareScan(setup.scan(), recipe, DeskewTwist(hints, hints.base_twist), parts_.engine,
                         WorkClass::kScoring));
  VOXLOC_TRY(RequirePoints(scan_.counts));
  request_.map = map_.resident();
  request_.scan = scan_.base;
  request_.stage = profile.stages[stage];
  request_.work_class = WorkClass::kScoring;
  request_.stop = stop;
  request_.with_point_scores = recipe.output.point_scores();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Pose>> ScoreWork::ParsePoses(const v1::PoseSet& set) const {
  const auto size = static_cast<size_t>(set.map_t_base_size());
  if (size == 0 || size % 7 != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "map_t_base must have 7 values for each of one or more poses (got ", size, ")"));
  }
  const uint32_t most = parts_.live_config.limits()->max_poses_per_set;
  if (size / 7 > most) {
    return absl::InvalidArgumentError(
        absl::StrCat("the set must have at most ", most, " poses (got ", size / 7, ")"));
  }
  std::vector<Pose> poses;
  poses.reserve(size / 7);
  for (size_t i = 0; i < size; i += 7) {
    VOXLOC_ASSIGN_OR_RETURN(auto pose, PoseFromNumbers(set.map_t_base().data() + i,
                                                       absl::StrCat("map_t_base of pose ", i / 7)));
    poses.push_back(pose);
  }
  Eigen::Vector2d min = poses.front().translation.head<2>();
  Eigen::Vector2d max = min;
  for (const Pose& pose : poses) {
    min = min.cwiseMin(pose.translation.head<2>());
    max = max.cwiseMax(pose.translation.head<2>());
  }
  VOXLOC_TRY(parts_.residency_check.EnsureResident(map_, min, max));
  return poses;
}

size_t ScoreWork::SliceSize() const {
  const size_t points = scan_.base->size();
  size_t slice = kSlicePoints / points;
  if (request_.with_point_scores) slice = std::min(slice, kMessageScores / points);
  return std::max<size_t>(slice, 1);
}

absl::Status ScoreWork::Score(absl::Span<const Pose> poses, v1::PoseScores& scores) {
  const auto start = std::chrono::steady_clock::now();
  request_.map_T_base.assign(poses.begin(), poses.end());
  auto scored = ScoreAnywhere(parts_.engine, map_.snapshot->tiles.bounds(), request_);
  if (!scored.ok()) {
    return parts_.engine_faults.WasReplaced(map_) ? parts_.engine_faults.Error() : scored.status();
  }
  for (const PoseScore& score : scored->poses) {
    scores.add_score(score.score);
    scores.add_transform_probability(score.transform_probability);
    scores.add_nvtl(score.nearest_voxel_likelihood);
    scores.add_matched_points(static_cast<uint32_t>(score.matched_points));
    scores.add_matched_ratio(score.matched_ratio());
  }
  scores.mutable_point_scores()->Add(scored->point_scores.begin(), scored->point_scores.end());
  const double seconds = ToSeconds(std::chrono::steady_clock::now() - start);
  scores.mutable_timings()->set_align_s(seconds);
  scores.mutable_timings()->set_server_s(seconds);
  parts_.metrics.stage_score_s.Observe(seconds);
  parts_.metrics.poses_scored.Increment(static_cast<double>(poses.size()));
  return absl::OkStatus();
}

void ScoreWork::DescribeTo(v1::ScoreReady& ready) const {
  ready.set_map_revision(map_.snapshot->revision);
  PointCountsToProto(scan_.counts, *ready.mutable_points());
  ready.set_engine(parts_.engine.name());
  StageToProto(request_.stage, *ready.mutable_stage());
}

}  // namespace voxloc::server
