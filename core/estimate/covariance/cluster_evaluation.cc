// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/covariance/cluster_evaluation.h"

#include <utility>

#include "core/ndt/chart_derivatives.h"

namespace voxloc {

AlignJob ClusterJob(const AlignJob& job, const Stage& stage,
                    std::shared_ptr<const PointGroups> clusters, const Pose& map_T_base) {
  AlignJob evaluation;
  evaluation.map = job.map;
  evaluation.scan = job.scan;
  evaluation.map_T_base_guess = map_T_base;
  evaluation.profile.name = job.profile.name;
  evaluation.profile.stages = {stage};
  evaluation.work_class = job.work_class;
  evaluation.passes_only = true;
  evaluation.passes.resize(1);
  evaluation.passes[0].groups = std::move(clusters);
  return evaluation;
}

ScoreTerms ScaledTerms(const GroupSums& cluster, const Vector6& scale) {
  ScoreTerms terms;
  for (int i = 0; i < 6; ++i) {
    terms.gradient[i] = scale[i] * cluster.derivatives.gradient[i];
    for (int j = i; j < 6; ++j) {
      terms.information(i, j) = terms.information(j, i) =
          -scale[i] * scale[j] * cluster.derivatives.hessian[ndt::UpperIndex(i, j)];
    }
  }
  return terms;
}

Vector6 ScaledGradient(absl::Span<const GroupSums> clusters, const Vector6& scale) {
  Vector6 gradient = Vector6::Zero();
  for (const GroupSums& cluster : clusters) {
    for (int i = 0; i < 6; ++i) gradient[i] += scale[i] * cluster.derivatives.gradient[i];
  }
  return gradient;
}

double MatchedPoints(absl::Span<const GroupSums> clusters) {
  double matched = 0.0;
  for (const GroupSums& cluster : clusters) matched += cluster.score.matched_points;
  return matched;
}

}  // namespace voxloc
