// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/replay/fused_row.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "clients/cli/output/message_text.h"
#include "clients/cli/replay/replay_results.h"
#include "clients/cpp/messages.h"

namespace voxloc::cli {

std::optional<FusedRow> FusedRowOf(const v1::FusedPose& fused, const Pose& truth_map_T_base) {
  const absl::StatusOr<Pose> pose = client::DecodePose(fused.map_t_base().pose());
  if (!pose.ok()) return std::nullopt;
  return FusedRow{*pose, PoseErrorOf(truth_map_T_base, *pose, fused.map_t_base())};
}

std::optional<FusedSummary> SummarizeFused(const std::vector<ReplayRow>& rows) {
  FusedSummary summary;
  std::vector<PoseError> errors;
  for (const ReplayRow& row : rows) {
    if (!row.fused.has_value()) continue;
    const PoseError& error = row.fused->error;
    errors.push_back(error);
    if (row.result.fused().scan_used()) ++summary.scans_used;
    summary.resets = row.result.fused().resets();
    summary.end_error = error;
    summary.consistency.Add(error);
    if (row.accepted && error.sigma_base_m.has_value() &&
        !(error.IsConsistent(0) && error.IsConsistent(1) && error.IsConsistent(2))) {
      ++summary.accepted_inconsistent;
    }
    if (row.dead_reckoned_map_T_base.has_value()) {
      const double beyond_m =
          error.translation_m -
          TranslationDistance(*row.dead_reckoned_map_T_base, row.truth_map_T_base);
      summary.beyond_dead_reckoning_m =
          std::max(summary.beyond_dead_reckoning_m.value_or(beyond_m), beyond_m);
    }
  }
  if (errors.empty()) return std::nullopt;
  summary.poses = errors.size();
  summary.error = SummarizeErrors(errors);
  return summary;
}

std::string FusedText(const FusedSummary& summary) {
  std::string text =
      absl::StrFormat("fused pose ends %.2f m off, at most %.2f m", summary.end_error.translation_m,
                      summary.error.translation_m.max);
  if (summary.beyond_dead_reckoning_m.has_value()) {
    absl::StrAppendFormat(&text, ", and at most %.2f m beyond dead reckoning",
                          *summary.beyond_dead_reckoning_m);
  }
  absl::StrAppendFormat(&text,
                        "\nfused pose within %g sigma: %s, outside at %d accepted answers\n"
                        "filter: %d of %d results used, resets %d\n",
                        kConsistentSigmas, ConsistencyText(summary.consistency),
                        summary.accepted_inconsistent, summary.scans_used, summary.poses,
                        summary.resets);
  return text;
}

Json FusedJson(const v1::FusedPose& fused, const FusedRow& row) {
  const auto& covariance = fused.map_t_base().covariance();
  Json sources = Json::array();
  for (const int source : fused.sources()) {
    sources.push_back(EnumWordOf(static_cast<v1::AxisSource>(source)));
  }
  return {{"pose", PoseJson(row.map_T_base)},
          {"translation_error_m", row.error.translation_m},
          {"rotation_error_deg", row.error.rotation_deg},
          {"error_m", AxesJson(row.error.base_m)},
          {"sigma_m", AxesJson(row.error.sigma_base_m)},
          {"within_3_sigma", ConsistentAxesJson(row.error)},
          {"covariance", covariance.size() == 36 ? Json(covariance) : Json(nullptr)},
          {"sources", std::move(sources)},
          {"distance_since_observed_m", fused.distance_since_observed_m()},
          {"resets", fused.resets()},
          {"scan_used", fused.scan_used()},
          {"detail", fused.detail()},
          {"odometry_scale", fused.odometry_scale()},
          {"odometry_scale_sigma", fused.odometry_scale_sigma()},
          {"yaw_rate_bias_radps", fused.yaw_rate_bias_radps()},
          {"yaw_rate_bias_sigma_radps", fused.yaw_rate_bias_sigma_radps()},
          {"stamp_offset_s", fused.stamp_offset_s()},
          {"stamp_offset_sigma_s", fused.stamp_offset_sigma_s()}};
}

Json FusedSummaryJson(const FusedSummary& summary) {
  const std::optional<double> beyond_m = summary.beyond_dead_reckoning_m;
  return {{"poses", summary.poses},
          {"scans_used", summary.scans_used},
          {"resets", summary.resets},
          {"translation_error_m", SummaryJson(summary.error.translation_m)},
          {"rotation_error_deg", SummaryJson(summary.error.rotation_deg)},
          {"error_m", AxisSummariesJson(summary.error.base_m)},
          {"sigma_m", AxisSummariesJson(summary.error.sigma_base_m)},
          {"within_3_sigma", ConsistencyJson(summary.consistency)},
          {"accepted_outside_3_sigma", summary.accepted_inconsistent},
          {"end_error_m", summary.end_error.translation_m},
          {"end_m", AxesJson(summary.end_error.base_m)},
          {"beyond_dead_reckoning_m", beyond_m ? Json(*beyond_m) : Json(nullptr)}};
}

}  // namespace voxloc::cli
