// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/scan_features.h"

#include <utility>

#include "core/estimate/covariance/point_clusters.h"

namespace voxloc {

std::shared_ptr<const ScanFeatures> ComputeScanFeatures(const PointCloud& scan_base,
                                                        const ScanRays& rays,
                                                        const Pose& map_T_base_guess,
                                                        const EstimateOptions& options,
                                                        ThreadPool* pool) {
  auto features = std::make_shared<ScanFeatures>();
  const bool by_neighbours =
      options.confidence || options.covariance.method == CovarianceMethod::kCalibrated;
  const auto group = [&] {
    features->groups = std::make_shared<const PointGroups>(by_neighbours ? ClusterPoints(scan_base)
                                                                         : SlicePoints(scan_base));
  };
  const auto find_shape = [&] {
    features->shape = ShapeOf(scan_base, rays, map_T_base_guess.rotation);
  };
  ParallelFor(pool, options.confidence ? 2 : 1,
              [&](size_t part) { part == 0 ? group() : find_shape(); });
  return features;
}

void RequestPasses(const ScanFeatures& features, AlignJob& job) {
  job.passes.clear();
  EvaluationPass& clusters = job.passes.emplace_back();
  clusters.groups = features.groups;
  if (!features.shape.has_value()) return;
  job.with_point_scores = true;
  clusters.with_point_scores = true;
  EvaluationPass& free_space = job.passes.emplace_back();
  free_space.cloud = features.shape->free_space.points_base;
  free_space.score_stage = true;
  free_space.own_cell_only = true;
  free_space.with_point_scores = true;
  if (job.profile.stages.size() < 2) return;
  EvaluationPass& score_stage = job.passes.emplace_back();
  score_stage.groups = features.groups;
  score_stage.score_stage = true;
}

}  // namespace voxloc
