// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/global_search/candidate_alignment.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "core/cloud/filters.h"
#include "core/engine/search_rules.h"
#include "core/geometry/euler.h"

namespace voxloc {
namespace {

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

}  // namespace

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

}  // namespace voxloc
