// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/initial_pose/pose_search.h"

namespace voxloc {
namespace {

// converged_param_nearest_voxel_transformation_likelihood
constexpr double kAutowareLikelihoodThreshold = 2.3;

}  // namespace

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
