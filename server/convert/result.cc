// SPDX-License-Identifier: Apache-2.0

#include "server/convert/result.h"

#include <cstdint>
#include <string>
#include <vector>

#include "core/estimate/quality/score_colors.h"
#include "server/convert/cloud.h"
#include "server/convert/covariance.h"
#include "server/convert/pose.h"

namespace voxloc::server {
namespace {

v1::TerminationReason ReasonToProto(const AlignResult& result) {
  switch (result.termination) {
    case Termination::kConverged:
      return v1::TERMINATION_REASON_CONVERGED;
    case Termination::kMaxIterations:
      return v1::TERMINATION_REASON_MAX_ITERATIONS;
    case Termination::kZeroStep:
      return v1::TERMINATION_REASON_ZERO_STEP;
    case Termination::kNotFinite:
      return v1::TERMINATION_REASON_NUMERICAL;
    case Termination::kCancelled:
      return v1::TERMINATION_REASON_STOPPED;
    case Termination::kDeadline:
      return v1::TERMINATION_REASON_DEADLINE;
    case Termination::kNoImprovement:
      return v1::TERMINATION_REASON_NO_IMPROVEMENT;
  }
  return v1::TERMINATION_REASON_UNSPECIFIED;
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

}  // namespace

v1::AlignmentStatus StatusToProto(AlignmentStatus status) {
  switch (status) {
    case AlignmentStatus::kDeadline:
      return v1::ALIGNMENT_STATUS_DEADLINE;
    case AlignmentStatus::kOutOfMap:
      return v1::ALIGNMENT_STATUS_OUT_OF_MAP;
    case AlignmentStatus::kNotConverged:
      return v1::ALIGNMENT_STATUS_NOT_CONVERGED;
    case AlignmentStatus::kLowScore:
      return v1::ALIGNMENT_STATUS_LOW_SCORE;
    case AlignmentStatus::kLowOverlap:
      return v1::ALIGNMENT_STATUS_LOW_OVERLAP;
    case AlignmentStatus::kLowConfidence:
      return v1::ALIGNMENT_STATUS_LOW_CONFIDENCE;
    case AlignmentStatus::kAmbiguous:
      return v1::ALIGNMENT_STATUS_AMBIGUOUS;
    case AlignmentStatus::kDegenerate:
      return v1::ALIGNMENT_STATUS_DEGENERATE;
    case AlignmentStatus::kOk:
      return v1::ALIGNMENT_STATUS_OK;
  }
  return v1::ALIGNMENT_STATUS_UNSPECIFIED;
}

void SettledByToProto(const SettledBy& settled_by, v1::AlignmentResult& proto) {
  v1::Degeneracy& degeneracy = *proto.mutable_degeneracy();
  degeneracy.set_settled_by(settled_by.source == PriorSource::kGuess ? v1::PRIOR_SOURCE_GUESS
                                                                     : v1::PRIOR_SOURCE_ODOMETRY);
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
                        const OutputChoice& output, v1::AlignmentResult& proto) {
  PoseToProto(result.map_T_base, *proto.mutable_map_t_base()->mutable_pose());
  ScoresToProto(result.after, *proto.mutable_scores());
  ScoresToProto(result.before, *proto.mutable_initial_scores());
  proto.set_iterations(static_cast<uint32_t>(result.iterations));
  proto.set_evaluations(static_cast<uint32_t>(result.evaluations));
  proto.set_oscillation_count(static_cast<uint32_t>(result.oscillations));
  proto.set_termination_reason(ReasonToProto(result));
  if (output.hessian) {
    AppendRowMajor(result.gradient, *proto.mutable_gradient());
    AppendRowMajor(result.hessian, *proto.mutable_hessian());
  }
  if (output.trace) {
    v1::AlignmentTrace& trace = *proto.mutable_trace();
    for (const IterationTrace& step : result.trace) IterationToProto(step, *trace.add_iterations());
  }
  if (output.point_scores) {
    proto.mutable_point_scores()->mutable_best_score()->Add(result.point_scores.begin(),
                                                            result.point_scores.end());
  }
  if (output.point_colors) {
    const std::vector<uint8_t> rgb = ColorsOfScores(result.point_scores);
    proto.mutable_point_scores()->mutable_rgb()->assign(rgb.begin(), rgb.end());
  }
  if (output.aligned_cloud) {
    EncodeCloud(Transform(result.map_T_base, scan_base), *proto.mutable_aligned_cloud());
  }
}

}  // namespace voxloc::server
