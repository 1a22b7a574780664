// SPDX-License-Identifier: Apache-2.0

#include "server/convert/profile.h"

namespace voxloc::server {
namespace {

v1::SearchMethod SearchMethodToProto(NeighborSearch search) {
  switch (search) {
    case NeighborSearch::kRadius:
      return v1::SEARCH_METHOD_RADIUS;
    case NeighborSearch::kDirect7:
      return v1::SEARCH_METHOD_DIRECT7;
    case NeighborSearch::kDirect1:
      return v1::SEARCH_METHOD_DIRECT1;
  }
  return v1::SEARCH_METHOD_UNSPECIFIED;
}

}  // namespace

void CellStatisticsToProto(const CellStatistics& statistics, v1::CellStatistics& proto) {
  proto.set_cell_size_m(statistics.cell_size_m);
  proto.set_min_points(statistics.gaussian.min_points);
  proto.set_identity_seed(statistics.gaussian.identity_seed);
  proto.set_eigenvalue_ratio(statistics.gaussian.eigenvalue_ratio);
  proto.set_merge_tiles(statistics.merge_tiles);
  proto.set_float_index(statistics.float_index);
}

void StageToProto(const Stage& stage, v1::ProfileStage& proto) {
  CellStatisticsToProto(stage.cells, *proto.mutable_cells());
  proto.set_search_method(SearchMethodToProto(stage.search));
  proto.set_outlier_ratio(stage.outlier_ratio);
  proto.set_max_iterations(static_cast<uint32_t>(stage.max_iterations));
  proto.set_step_size_m(stage.max_step);
  proto.set_transformation_epsilon(stage.epsilon);
  proto.set_step_floor(stage.step_floor);
  proto.set_line_search(stage.line_search ? v1::LINE_SEARCH_MORE_THUENTE
                                          : v1::LINE_SEARCH_CLAMPED_STEP);
  proto.set_small_angle_shortcut(stage.small_angle_shortcut);
  proto.set_exact_pitch_curvature(stage.exact_pitch_curvature);
  proto.set_float_transform(stage.float_transform);
  proto.set_curvature(stage.curvature == Curvature::kExact ? v1::CURVATURE_EXACT
                                                           : v1::CURVATURE_REWEIGHTED);
  proto.set_observed_ratio(stage.observed_ratio);
  proto.set_rotation_scale_m(stage.rotation_scale_m);
  proto.set_point_voxel_m(stage.point_voxel_m);
}

void ProfileToProto(const Profile& profile, v1::Profile& proto) {
  proto.set_name(profile.name);
  for (const Stage& stage : profile.stages) StageToProto(stage, *proto.add_stages());
  proto.set_score_type(profile.acceptance_score == ScoreKind::kTransformProbability
                           ? v1::SCORE_TYPE_TRANSFORM_PROBABILITY
                           : v1::SCORE_TYPE_NVTL);
  proto.set_score_threshold(profile.acceptance_threshold);
  proto.set_regularization_scale_factor(profile.regularization_scale);
  proto.set_score_includes_regularization(profile.score_includes_regularization);
  proto.set_score_stage(static_cast<uint32_t>(profile.score_stage));
  proto.set_judged(profile.judged);
  proto.set_allowed_loss(profile.allowed_loss);
  proto.set_acceptance_rule(profile.acceptance_rule == AcceptanceRule::kStrict
                                ? v1::ACCEPTANCE_RULE_STRICT
                                : v1::ACCEPTANCE_RULE_REFERENCE);
}

}  // namespace voxloc::server
