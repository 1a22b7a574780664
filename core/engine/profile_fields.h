// SPDX-License-Identifier: Apache-2.0
//
// The fields of a profile by the names that they have in files, as in the contract
// (voxloc.v1.Profile), with the values that are allowed: the one list that reading and checking
// share. The values of an enum are named in its order, as the command line names them. Thread-safe:
// no shared state.
//
// visit(name, field, range) is called for a number, visit(name, field, names) for an enum or one of
// two alternatives, and visit(name, field) for a switch. The profile may be const.

#ifndef VOXLOC_CORE_ENGINE_PROFILE_FIELDS_H_
#define VOXLOC_CORE_ENGINE_PROFILE_FIELDS_H_

#include "absl/strings/string_view.h"
#include "core/engine/profile.h"
#include "core/map/cells.h"
#include "core/text/number_range.h"

namespace voxloc {

inline constexpr absl::string_view kNeighborSearchNames[] = {"radius", "direct7", "direct1"};
inline constexpr absl::string_view kCurvatureNames[] = {"exact", "reweighted"};
inline constexpr absl::string_view kLineSearchNames[] = {"clamped-step", "more-thuente"};
inline constexpr absl::string_view kScoreKindNames[] = {"transform-probability", "nvtl"};
inline constexpr absl::string_view kAcceptanceRuleNames[] = {"reference", "strict"};
inline constexpr absl::string_view kCovarianceMethodNames[] = {"calibrated", "fixed"};

template <typename Cells, typename Visit>
void VisitCellFields(Cells& cells, const Visit& visit) {
  visit("cell_size_m", cells.cell_size_m, kCellSizeRange);
  visit("min_points", cells.gaussian.min_points, kCellMinPointsRange);
  visit("identity_seed", cells.gaussian.identity_seed);
  visit("eigenvalue_ratio", cells.gaussian.eigenvalue_ratio, kCellEigenvalueRatioRange);
  visit("merge_tiles", cells.merge_tiles);
  visit("float_index", cells.float_index);
}

// Of a stage, but for its cells.
template <typename AnyStage, typename Visit>
void VisitStageFields(AnyStage& stage, const Visit& visit) {
  visit("search_method", stage.search, kNeighborSearchNames);
  visit("point_voxel_m", stage.point_voxel_m, FromTo(0.05, 100.0).OrZero());
  visit("outlier_ratio", stage.outlier_ratio, Over(0.0).Below(1.0));
  visit("curvature", stage.curvature, kCurvatureNames);
  visit("step_size_m", stage.max_step, Over(0.0).AtMost(100.0));
  visit("transformation_epsilon", stage.epsilon, FromTo(0.0, 100.0));
  visit("step_floor", stage.step_floor);
  visit("max_iterations", stage.max_iterations, FromTo(1, 1000));
  visit("line_search", stage.line_search, kLineSearchNames);
  visit("exact_pitch_curvature", stage.exact_pitch_curvature);
  visit("small_angle_shortcut", stage.small_angle_shortcut);
  visit("float_transform", stage.float_transform);
  visit("observed_ratio", stage.observed_ratio, AtLeast(0.0).Below(1.0));
  visit("rotation_scale_m", stage.rotation_scale_m, FromTo(0.01, 1e4).OrZero());
}

// Of a profile with stages, but for its name and its stages.
template <typename AnyProfile, typename Visit>
void VisitProfileFields(AnyProfile& profile, const Visit& visit) {
  visit("score_stage", profile.score_stage,
        FromTo(0, static_cast<double>(profile.stages.size() - 1)));
  visit("judged", profile.judged);
  visit("allowed_loss", profile.allowed_loss, AtLeast(0.0).Below(1.0));
  visit("score_type", profile.acceptance_score, kScoreKindNames);
  visit("score_threshold", profile.acceptance_threshold, Over(-1e9).Below(1e9));
  visit("acceptance_rule", profile.acceptance_rule, kAcceptanceRuleNames);
  visit("required_distance_m", profile.required_distance_m, FromTo(0.0, 1e9));
  visit("covariance_method", profile.fixed_covariance, kCovarianceMethodNames);
  visit("independent_points", profile.independent_points, FromTo(0.001, 1e6).OrZero());
  visit("observed_share", profile.observed_share, Over(0.0).AtMost(1.0));
  visit("regularization_scale_factor", profile.regularization_scale, FromTo(0.0, 1e6));
  visit("score_includes_regularization", profile.score_includes_regularization);
}

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_PROFILE_FIELDS_H_
