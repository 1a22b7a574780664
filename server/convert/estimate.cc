// SPDX-License-Identifier: Apache-2.0

#include "server/convert/estimate.h"

#include <google/protobuf/repeated_field.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/convert/cloud.h"
#include "server/convert/covariance.h"
#include "server/convert/pose.h"
#include "server/convert/result.h"

namespace voxloc::server {
namespace {

v1::CovarianceMethod MethodToProto(CovarianceMethod method) {
  switch (method) {
    case CovarianceMethod::kFixed:
      return v1::COVARIANCE_METHOD_FIXED;
    case CovarianceMethod::kLaplace:
      return v1::COVARIANCE_METHOD_LAPLACE;
    case CovarianceMethod::kMultiNdt:
      return v1::COVARIANCE_METHOD_MULTI_NDT;
    case CovarianceMethod::kMultiNdtScore:
      return v1::COVARIANCE_METHOD_MULTI_NDT_SCORE;
    case CovarianceMethod::kCalibrated:
      return v1::COVARIANCE_METHOD_CALIBRATED;
  }
  return v1::COVARIANCE_METHOD_UNSPECIFIED;
}

v1::AxisVerdict AxisToProto(AxisObservation axis) {
  switch (axis) {
    case AxisObservation::kObserved:
      return v1::AXIS_VERDICT_OBSERVED;
    case AxisObservation::kWeak:
      return v1::AXIS_VERDICT_WEAK;
    case AxisObservation::kUnobserved:
      return v1::AXIS_VERDICT_UNOBSERVED;
  }
  return v1::AXIS_VERDICT_UNSPECIFIED;
}

void SharesToProto(const VarianceShares& shares, v1::SigmaShares& proto) {
  const auto add = [](const VarianceShares::Vector6& variances,
                      google::protobuf::RepeatedField<float>& sigmas) {
    sigmas.Reserve(6);
    for (const double variance : variances) sigmas.Add(static_cast<float>(std::sqrt(variance)));
  };
  add(shares.scan, *proto.mutable_scan());
  add(shares.map_and_mounting, *proto.mutable_map_and_mounting());
  add(shares.time, *proto.mutable_time());
  add(shares.sweep, *proto.mutable_sweep());
}

void ReportToProto(const CovarianceReport& report, CovarianceMethod asked,
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
  if (report.method != asked) {
    proto.set_detail(absl::StrCat(v1::CovarianceMethod_Name(MethodToProto(asked)),
                                  " failed: ", report.status.message()));
  }
}

void DegeneracyToProto(const Degeneracy& degeneracy, v1::Degeneracy& proto) {
  AppendRowMajor(degeneracy.eigenvalues, *proto.mutable_eigenvalues());
  AppendRowMajor(degeneracy.eigenvectors.transpose(), *proto.mutable_eigenvectors());
  proto.set_condition(degeneracy.condition);
  proto.set_rotation_scale_m(degeneracy.rotation_scale_m);
  for (const AxisObservation axis : degeneracy.axes) proto.add_axes(AxisToProto(axis));
}

}  // namespace

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

void EstimateToProto(const ScanEstimate& estimate, const Pose& map_T_base, CovarianceMethod asked,
                     const OutputChoice& output, v1::AlignmentResult& proto) {
  AppendRowMajor(estimate.covariance.covariance, *proto.mutable_map_t_base()->mutable_covariance());
  ReportToProto(estimate.covariance, asked, *proto.mutable_covariance_report());
  if (estimate.degeneracy.has_value()) {
    DegeneracyToProto(*estimate.degeneracy, *proto.mutable_degeneracy());
  }
  if (estimate.confidence.has_value() && output.confidence) {
    ConfidenceToProto(*estimate.confidence, *proto.mutable_confidence());
  }
  if (estimate.protection.has_value() && output.protection.has_value()) {
    ProtectionToProto(*estimate.protection, output.protection->risk, *proto.mutable_protection());
  }
  if (estimate.no_ground.has_value()) {
    const NoGroundScores& no_ground = *estimate.no_ground;
    v1::NoGroundResult& result = *proto.mutable_no_ground();
    ScoresToProto(no_ground.score, *result.mutable_scores());
    result.set_points(static_cast<uint32_t>(no_ground.points_base->size()));
    if (output.no_ground_cloud) {
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

}  // namespace voxloc::server
