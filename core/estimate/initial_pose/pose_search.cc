// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/initial_pose/pose_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/text/number_range.h"

namespace voxloc {
namespace {

constexpr size_t kMaxHypotheses = 100;

double Likelihood(const AlignResult& result) { return result.after.nearest_voxel_likelihood; }

bool IsCandidate(const AlignResult& result) {
  return result.status.ok() && result.after.matched_points > 0 &&
         std::isfinite(Likelihood(result)) && result.map_T_base.translation.allFinite() &&
         result.map_T_base.rotation.coeffs().allFinite();
}

// A hypothesis as the index of its best candidate.
struct Cluster {
  size_t best;
  size_t support;
};

// converged_param_nearest_voxel_transformation_likelihood
constexpr double kAutowareLikelihoodThreshold = 2.3;

}  // namespace

absl::Status ValidateHypothesisOptions(const HypothesisOptions& options) {
  return CheckRanges({{"max_hypotheses", options.max_hypotheses, FromTo(1, kMaxHypotheses)},
                      {"min_separation_m", options.min_separation_m, Over(0.0)},
                      {"min_separation_rad", options.min_separation_rad, Over(0.0)},
                      {"ambiguity_gap", options.ambiguity_gap, FromTo(0.0, 1.0)}});
}

const AlignResult* BestCandidate(absl::Span<const AlignResult> candidates) {
  const AlignResult* best = nullptr;
  for (const AlignResult& candidate : candidates) {
    if (!IsCandidate(candidate)) continue;
    if (best == nullptr || Likelihood(candidate) > Likelihood(*best)) best = &candidate;
  }
  return best;
}

RankedHypotheses RankHypotheses(absl::Span<const AlignResult> candidates,
                                const HypothesisOptions& options) {
  std::vector<size_t> order;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (IsCandidate(candidates[i])) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return Likelihood(candidates[a]) > Likelihood(candidates[b]);
  });

  const auto same = [&](size_t a, size_t b) {
    const Pose& map_T_a = candidates[a].map_T_base;
    const Pose& map_T_b = candidates[b].map_T_base;
    return TranslationDistance(map_T_a, map_T_b) < options.min_separation_m &&
           RotationDistance(map_T_a, map_T_b) < options.min_separation_rad;
  };
  // The gap needs a second, also where only the best is wanted.
  const size_t most = std::clamp<size_t>(options.max_hypotheses, 2, kMaxHypotheses);
  std::vector<Cluster> clusters;
  for (const size_t candidate : order) {
    const auto home = std::find_if(clusters.begin(), clusters.end(), [&](const Cluster& cluster) {
      return same(cluster.best, candidate);
    });
    if (home != clusters.end()) {
      ++home->support;
    } else if (clusters.size() < most) {
      clusters.push_back({candidate, 1});
    }
  }

  RankedHypotheses ranked;
  if (clusters.size() == 1) ranked.ambiguity_gap = 1.0;
  if (clusters.size() > 1) {
    // A best of zero has no gap to any other.
    const double best = Likelihood(candidates[clusters[0].best]);
    const double second = Likelihood(candidates[clusters[1].best]);
    ranked.ambiguity_gap = best > 0.0 ? (best - second) / best : 0.0;
    ranked.ambiguous = ranked.ambiguity_gap < options.ambiguity_gap;
  }
  if (clusters.size() > options.max_hypotheses) clusters.resize(options.max_hypotheses);
  for (const Cluster& cluster : clusters) {
    ranked.hypotheses.push_back({candidates[cluster.best], cluster.support});
  }
  return ranked;
}

AlignJob AlignmentOf(const PoseSearchJob& job) {
  AlignJob align;
  align.map = job.map;
  align.scan = job.scan;
  align.profile = job.profile;
  align.work_class = WorkClass::kSearching;
  align.stop = job.stop;
  return align;
}

bool IsReliable(const RankedHypotheses& ranked, const PoseSearchJob& job) {
  if (ranked.hypotheses.empty()) return false;
  const bool by_likelihood = job.profile.acceptance_score == ScoreKind::kNearestVoxelLikelihood;
  const double otherwise =
      by_likelihood ? job.profile.acceptance_threshold : kAutowareLikelihoodThreshold;
  return ranked.hypotheses[0].result.after.nearest_voxel_likelihood >
         job.reliable_likelihood.value_or(otherwise);
}

}  // namespace voxloc
