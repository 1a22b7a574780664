// SPDX-License-Identifier: Apache-2.0

#include "server/convert/result.h"

#include <google/protobuf/repeated_field.h>

#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/convert/pose.h"
#include "server/convert/range.h"
#include "server/convert/scan.h"
#include "server/convert/score_colors.h"

namespace voxloc::server {
namespace {

// In the order of the contract.
constexpr Termination kTerminations[] = {Termination::kConverged,    Termination::kMaxIterations,
                                         Termination::kZeroStep,     Termination::kCancelled,
                                         Termination::kNotFinite,    Termination::kDeadline,
                                         Termination::kNoImprovement};
constexpr AxisObservation kAxisObservations[] = {AxisObservation::kObserved, AxisObservation::kWeak,
                                                 AxisObservation::kUnobserved};
constexpr DiagnosticLevel kDiagnosticLevels[] = {DiagnosticLevel::kOk, DiagnosticLevel::kWarn,
                                                 DiagnosticLevel::kError};
constexpr ProposalState kProposalStates[] = {ProposalState::kNone, ProposalState::kPending,
                                             ProposalState::kConfirmed, ProposalState::kDropped};
constexpr PriorSource kPriorSources[] = {PriorSource::kGuess, PriorSource::kOdometry,
                                         PriorSource::kFilter};
static_assert(std::size(kTerminations) == v1::TerminationReason_MAX &&
              std::size(kAxisObservations) == v1::AxisVerdict_MAX &&
              std::size(kDiagnosticLevels) == v1::DiagnosticLevel_MAX &&
              std::size(kProposalStates) == v1::RecoveryState_MAX &&
              std::size(kPriorSources) == v1::PriorSource_MAX);

v1::CovarianceMethod MethodToProto(CovarianceMethod method) {
  return EnumToProto<v1::CovarianceMethod>(kCovarianceMethods, method);
}

void IterationToProto(const IterationTrace& step, v1::TraceIteration& proto) {
  proto.set_stage(static_cast<uint32_t>(step.stage));
  PoseToProto(step.map_T_base, *proto.mutable_map_t_base());
  ScoresToProto(step.score, *proto.mutable_scores());
  AppendRowMajor(step.gradient, *proto.mutable_gradient());
  AppendRowMajor(step.hessian, *proto.mutable_hessian());
  AppendRowMajor(step.newton_step, *proto.mutable_newton_step());
  proto.set_newton_step_norm(step.newton_step_norm);
  proto.set_step_length(step.step_length);
  proto.set_reversed(step.reversed);
  proto.set_slope(step.slope);
  PoseToProto(step.map_T_base_after, *proto.mutable_map_t_base_after());
}

void SharesToProto(const VarianceShares& shares, v1::SigmaShares& proto) {
  const auto add = [](const Vector6& variances, google::protobuf::RepeatedField<float>& sigmas) {
    sigmas.Reserve(6);
    for (const double variance : variances) sigmas.Add(static_cast<float>(std::sqrt(variance)));
  };
  add(shares.scan, *proto.mutable_scan());
  add(shares.map_and_mounting, *proto.mutable_map_and_mounting());
  add(shares.time, *proto.mutable_time());
  add(shares.sweep, *proto.mutable_sweep());
}

void ReportToProto(const CovarianceReport& report, CovarianceMethod requested,
                   v1::CovarianceReport& proto) {
  proto.set_method(MethodToProto(report.method));
  for (const Pose& pose : report.offset_map_T_base) {
    PoseToProto(pose, *proto.add_offset_map_t_base());
  }
  for (const Pose& pose : report.aligned_map_T_base) {
    PoseToProto(pose, *proto.add_aligned_map_t_base());
  }
  proto.mutable_nvtl()->Add(report.nvtl.begin(), report.nvtl.end());
  if (report.shares.has_value()) SharesToProto(*report.shares, *proto.mutable_sigma_shares());
  if (report.method != requested) {
    proto.set_detail(absl::StrCat(v1::CovarianceMethod_Name(MethodToProto(requested)),
                                  " failed: ", report.status.message()));
  }
}

void DegeneracyToProto(const Degeneracy& degeneracy, v1::Degeneracy& proto) {
  AppendRowMajor(degeneracy.eigenvalues, *proto.mutable_eigenvalues());
  AppendRowMajor(degeneracy.eigenvectors.transpose(), *proto.mutable_eigenvectors());
  proto.set_condition(degeneracy.condition);
  proto.set_rotation_scale_m(degeneracy.rotation_scale_m);
  for (const AxisObservation axis : degeneracy.axes) {
    proto.add_axes(EnumToProto<v1::AxisVerdict>(kAxisObservations, axis));
  }
}

void PoseFoundToProto(const AlignResult& result, std::optional<double> confidence,
                      v1::RecoveryProposal& proto) {
  PoseToProto(result.map_T_base, *proto.mutable_map_t_base()->mutable_pose());
  ScoresToProto(result.after, *proto.mutable_scores());
  proto.set_confidence(confidence.value_or(0.0));
}

// The message around a result adds a tag and a length.
constexpr size_t kEnvelopeBytes = 16;

}  // namespace

v1::AlignmentStatus StatusToProto(AlignmentStatus status) {
  v1::AlignmentStatus result = v1::ALIGNMENT_STATUS_UNSPECIFIED;
  v1::AlignmentStatus_Parse(absl::StrCat("ALIGNMENT_STATUS_", ToString(status)), &result);
  return result;
}

void SettledByToProto(const SettledBy& settled_by, v1::AlignmentResult& proto) {
  v1::Degeneracy& degeneracy = *proto.mutable_degeneracy();
  degeneracy.set_settled_by(EnumToProto<v1::PriorSource>(kPriorSources, settled_by.source));
  degeneracy.set_settled_within_m(settled_by.within_m);
}

void ScoresToProto(const PoseScore& scores, v1::Scores& proto) {
  proto.set_score(scores.score);
  proto.set_transform_probability(scores.transform_probability);
  proto.set_nvtl(scores.nearest_voxel_likelihood);
  proto.set_matched_points(static_cast<uint32_t>(scores.matched_points));
  proto.set_point_cell_pairs(static_cast<uint32_t>(scores.pairs));
  proto.set_matched_ratio(scores.matched_ratio());
}

void PointCountsToProto(const FilterCounts& counts, v1::PointCounts& proto) {
  proto.set_received(static_cast<uint32_t>(counts.received));
  proto.set_not_finite(static_cast<uint32_t>(counts.not_finite));
  proto.set_filtered_out(static_cast<uint32_t>(counts.out_of_limits));
  proto.set_thinned(static_cast<uint32_t>(counts.thinned));
  proto.set_used(static_cast<uint32_t>(counts.kept));
}

void AlignResultToProto(const AlignResult& result, const PointCloud& scan_base,
                        const v1::OutputOptions& output, v1::AlignmentResult& proto) {
  PoseToProto(result.map_T_base, *proto.mutable_map_t_base()->mutable_pose());
  ScoresToProto(result.after, *proto.mutable_scores());
  ScoresToProto(result.before, *proto.mutable_initial_scores());
  proto.set_iterations(static_cast<uint32_t>(result.iterations));
  proto.set_evaluations(static_cast<uint32_t>(result.evaluations));
  proto.set_oscillation_count(static_cast<uint32_t>(result.oscillations));
  proto.set_termination_reason(
      EnumToProto<v1::TerminationReason>(kTerminations, result.termination));
  if (output.hessian()) {
    AppendRowMajor(result.gradient, *proto.mutable_gradient());
    AppendRowMajor(result.hessian, *proto.mutable_hessian());
  }
  if (output.trace()) {
    v1::AlignmentTrace& trace = *proto.mutable_trace();
    for (const IterationTrace& step : result.trace) IterationToProto(step, *trace.add_iterations());
  }
  if (output.point_scores()) {
    proto.mutable_point_scores()->mutable_best_score()->Add(result.point_scores.begin(),
                                                            result.point_scores.end());
  }
  if (output.point_colors()) {
    const std::vector<uint8_t> rgb = ColorsOfScores(result.point_scores);
    proto.mutable_point_scores()->mutable_rgb()->assign(rgb.begin(), rgb.end());
  }
  if (output.aligned_cloud()) {
    EncodeCloud(Transform(result.map_T_base, scan_base), *proto.mutable_aligned_cloud());
  }
}

void ConfidenceToProto(const Confidence& confidence, v1::Confidence& proto) {
  const QualitySignals& signals = confidence.signals;
  proto.set_value(confidence.value);
  proto.set_sharp_ratio(signals.sharp_ratio);
  proto.set_raised_points(static_cast<uint32_t>(signals.raised_points));
  proto.set_raised_ratio(signals.raised_ratio);
  proto.set_rays(static_cast<uint32_t>(signals.rays));
  proto.set_seen_through_ratio(signals.seen_through_ratio);
  proto.set_remaining_step_m(signals.pull.step_m);
  proto.set_remaining_turn_rad(signals.pull.step_rad);
  proto.set_cluster_step_m(signals.pull.spread_m);
  proto.set_cluster_turn_rad(signals.pull.spread_rad);
  proto.set_cell_size_m(signals.answer_cell_size_m);
  proto.set_innovation(signals.innovation);
}

void ProtectionToProto(const ScanProtection& protection, double risk, v1::ProtectionLevels& proto) {
  proto.set_horizontal_m(protection.horizontal_m);
  proto.set_vertical_m(protection.vertical_m);
  PoseToProto(protection.map_T_base, *proto.mutable_map_t_base());
  proto.set_fault_detected(protection.fault_detected);
  proto.set_excluded_points(static_cast<uint32_t>(protection.excluded_points));
  if (protection.excluded_points > 0) {
    VectorToProto(protection.excluded_center_map, *proto.mutable_excluded_center_map());
  }
  proto.set_risk(risk);
}

void EstimateToProto(const ScanEstimate& estimate, const Pose& map_T_base, const ScanRecipe& recipe,
                     v1::AlignmentResult& proto) {
  AppendRowMajor(estimate.covariance.covariance, *proto.mutable_map_t_base()->mutable_covariance());
  ReportToProto(estimate.covariance, recipe.estimate.covariance.method,
                *proto.mutable_covariance_report());
  if (estimate.degeneracy.has_value()) {
    DegeneracyToProto(*estimate.degeneracy, *proto.mutable_degeneracy());
  }
  if (estimate.confidence.has_value() && !recipe.output.no_confidence()) {
    ConfidenceToProto(*estimate.confidence, *proto.mutable_confidence());
  }
  if (estimate.protection.has_value() && recipe.protection.has_value()) {
    ProtectionToProto(*estimate.protection, recipe.protection->risk, *proto.mutable_protection());
  }
  if (estimate.no_ground.has_value()) {
    const NoGroundScores& no_ground = *estimate.no_ground;
    v1::NoGroundResult& result = *proto.mutable_no_ground();
    ScoresToProto(no_ground.score, *result.mutable_scores());
    result.set_points(static_cast<uint32_t>(no_ground.points_base->size()));
    if (recipe.output.no_ground().cloud()) {
      EncodeCloud(Transform(map_T_base, *no_ground.points_base), *result.mutable_cloud());
    }
  }
}

void SweepReportToProto(const SweepReport& report, v1::SweepCheck& proto) {
  proto.set_unexplained_motion(report.unexplained_motion);
  proto.set_sigma(report.sigma);
  proto.set_scans(static_cast<uint32_t>(report.scans));
  proto.set_suspect(report.suspect);
  if (!report.suspect) return;
  proto.set_detail(absl::StrFormat(
      "the points show a motion that is %+.0f %% (sigma %.0f %%) off the one that they were "
      "deskewed by: the times of the points, the stamps of the clouds or the motion look wrong, or "
      "the points had been deskewed before",
      100.0 * report.unexplained_motion, 100.0 * report.sigma));
}

void DiagnosticsToProto(const Diagnostics& diagnostics, v1::Diagnostics& proto) {
  proto.set_level(EnumToProto<v1::DiagnosticLevel>(kDiagnosticLevels, diagnostics.level()));
  proto.set_message(diagnostics.message());
  for (const DiagnosticEntry& entry : diagnostics.entries()) {
    v1::DiagnosticEntry& target = *proto.add_entries();
    target.set_key(entry.key);
    if (const auto* flag = std::get_if<bool>(&entry.value)) {
      target.set_bool_value(*flag);
    } else if (const auto* count = std::get_if<int64_t>(&entry.value)) {
      target.set_int_value(*count);
    } else if (const auto* number = std::get_if<double>(&entry.value)) {
      target.set_double_value(*number);
    }
  }
}

void RecoverySearchToProto(const RecoveryReport& report, v1::RecoveryProposal& proto) {
  proto.set_search_radius_m(report.radius_m);
  proto.set_candidates(static_cast<uint32_t>(report.candidates));
  proto.set_detail(report.detail);
  if (report.proposal.has_value()) PoseFoundToProto(*report.proposal, report.confidence, proto);
}

void ProposalCheckToProto(const ProposalCheck& check, v1::RecoveryProposal& proto) {
  proto.set_candidates(1);
  proto.set_detail(check.detail);
  if (check.agrees()) PoseFoundToProto(check.result, check.confidence, proto);
}

void RecoveryOutcomeToProto(const RecoveryOutcome& outcome, v1::RecoveryProposal& proto) {
  proto.set_state(EnumToProto<v1::RecoveryState>(kProposalStates, outcome.state));
  proto.set_checked_scans(static_cast<uint32_t>(outcome.checked_scans));
  proto.set_agreeing_scans(static_cast<uint32_t>(outcome.agreeing_scans));
  proto.set_applied(outcome.applied);
}

void FusedPoseToProto(const FusedPose& fused, const Matrix6& systematic_covariance,
                      const std::optional<Pose>& odom_T_base, v1::FusedPose& proto) {
  PoseToProto(fused.map_T_base, *proto.mutable_map_t_base()->mutable_pose());
  AppendRowMajor(Matrix6(fused.covariance + systematic_covariance),
                 *proto.mutable_map_t_base()->mutable_covariance());
  if (odom_T_base.has_value()) {
    PoseToProto(fused.map_T_base * odom_T_base->Inverse(), *proto.mutable_map_t_odom());
  }
  for (const double way_m : fused.since_observed_m) {
    proto.add_sources(way_m == 0.0 ? v1::AXIS_SOURCE_SCAN : v1::AXIS_SOURCE_MOTION);
    proto.add_distance_since_observed_m(way_m);
  }
  proto.set_resets(fused.resets);
  proto.set_scan_used(fused.refusal.empty());
  proto.set_detail(fused.refusal);
  proto.set_odometry_scale(fused.scale);
  proto.set_odometry_scale_sigma(fused.scale_sigma);
  proto.set_yaw_rate_bias_radps(fused.yaw_rate_bias_radps);
  proto.set_yaw_rate_bias_sigma_radps(fused.yaw_rate_bias_sigma_radps);
  proto.set_stamp_offset_s(fused.stamp_offset_s);
  proto.set_stamp_offset_sigma_s(fused.stamp_sigma_s);
  if (fused.base_twist.has_value()) {
    VectorToProto(fused.base_twist->twist.linear_m_s,
                  *proto.mutable_base_twist()->mutable_linear());
    VectorToProto(fused.base_twist->twist.angular_rad_s,
                  *proto.mutable_base_twist()->mutable_angular());
    AppendRowMajor(fused.base_twist->covariance, *proto.mutable_base_twist_covariance());
  }
}

void TrimToMessageSize(uint64_t max_bytes, v1::AlignmentResult& result) {
  const bool may_be_large = result.has_aligned_cloud() || result.has_no_ground() ||
                            result.has_point_scores() || result.has_trace();
  if (!may_be_large) return;
  const auto leave_out = [&](const char* field, bool is_there, const auto& clear) {
    if (!is_there || result.ByteSizeLong() + kEnvelopeBytes <= max_bytes) return;
    clear();
    result.add_omitted(field);
  };
  leave_out("aligned_cloud", result.has_aligned_cloud(), [&] { result.clear_aligned_cloud(); });
  leave_out("no_ground.cloud", result.no_ground().has_cloud(),
            [&] { result.mutable_no_ground()->clear_cloud(); });
  leave_out("point_scores", result.has_point_scores(), [&] { result.clear_point_scores(); });
  leave_out("trace", result.has_trace(), [&] { result.clear_trace(); });
}

}  // namespace voxloc::server
