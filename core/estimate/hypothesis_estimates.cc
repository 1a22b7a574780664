// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/hypothesis_estimates.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/types/span.h"

namespace voxloc {
namespace {

// Scores of points that are held at once: 16 MiB.
constexpr size_t kHeldPointScores = size_t{1} << 22;

// The results as the engine gives them where scores of points are wanted, which a search does not.
absl::StatusOr<std::vector<AlignResult>> WithPointScores(
    Engine& engine, const PoseSearchJob& job, const StopToken& stop,
    absl::Span<const PoseHypothesis> hypotheses) {
  ScoreRequest request;
  request.map = job.map;
  request.scan = job.scan;
  request.stage = job.profile.stages[job.profile.score_stage];
  request.work_class = WorkClass::kSearching;
  request.stop = stop;
  request.want_point_scores = true;
  std::vector<AlignResult> results;
  for (const PoseHypothesis& hypothesis : hypotheses) {
    request.map_T_base.push_back(hypothesis.result.map_T_base);
    results.push_back(hypothesis.result);
  }
  auto scores = engine.Score(request);
  if (!scores.ok()) return scores.status();
  auto row = scores->point_scores.begin();
  for (AlignResult& result : results) {
    const auto end = std::next(row, static_cast<std::ptrdiff_t>(job.scan->size()));
    result.point_scores.assign(row, end);
    row = end;
  }
  return results;
}

}  // namespace

absl::StatusOr<std::vector<ScanEstimate>> EstimateHypotheses(
    Engine& engine, const PoseSearchJob& job, const EstimateOptions& options,
    const Eigen::Vector3d& sensor_position_base, const std::vector<PoseHypothesis>& hypotheses) {
  AlignJob align;
  align.map = job.map;
  align.scan = job.scan;
  align.profile = job.profile;
  align.work_class = WorkClass::kSearching;
  align.stop.cancelled = job.stop.cancelled;
  align.want_point_scores = true;
  std::vector<ScanEstimate> estimates;
  const size_t slice = std::max<size_t>(kHeldPointScores / job.scan->size(), 1);
  for (size_t first = 0; first < hypotheses.size(); first += slice) {
    auto results = WithPointScores(engine, job, align.stop,
                                   absl::MakeConstSpan(hypotheses).subspan(first, slice));
    if (!results.ok()) return results.status();
    std::vector<AlignJob> jobs(results->size(), align);
    std::vector<EstimateRequest> requests(results->size());
    for (size_t i = 0; i < results->size(); ++i) {
      jobs[i].map_T_base_guess = (*results)[i].map_T_base;
      requests[i].scan = {&jobs[i], &(*results)[i]};
      requests[i].options = &options;
      requests[i].sensor_position_base = sensor_position_base;
    }
    std::vector<ScanEstimate> part = EstimateScans(engine, requests);
    std::move(part.begin(), part.end(), std::back_inserter(estimates));
    if (align.stop.cancelled != nullptr && align.stop.cancelled->load(std::memory_order_relaxed)) {
      return absl::CancelledError("the search was cancelled");
    }
  }
  return estimates;
}

}  // namespace voxloc
