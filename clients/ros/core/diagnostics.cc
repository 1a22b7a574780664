// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/diagnostics.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "clients/cpp/messages.h"

namespace voxloc::ros {
namespace {

// Keys whose values come from the server. The vehicle sets the others: it sees the original message
// and the whole execution time.
bool IsServerKey(const std::string& key) {
  static constexpr const char* kKeys[] = {
      "is_succeed_interpolate_initial_pose",
      "is_set_map_points",
      "iteration_num",
      "local_optimal_solution_oscillation_num",
      "transform_probability",
      "nearest_voxel_transformation_likelihood",
      "transform_probability_diff",
      "transform_probability_before",
      "nearest_voxel_transformation_likelihood_diff",
      "nearest_voxel_transformation_likelihood_before",
      "distance_initial_to_result",
  };
  return std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

void AddEntry(const v1::DiagnosticEntry& entry, StatusReport& report) {
  switch (entry.value_case()) {
    case v1::DiagnosticEntry::kBoolValue:
      report.SetBool(entry.key(), entry.bool_value());
      break;
    case v1::DiagnosticEntry::kIntValue:
      report.SetInt(entry.key(), entry.int_value());
      break;
    case v1::DiagnosticEntry::kDoubleValue:
      report.SetDouble(entry.key(), entry.double_value());
      break;
    case v1::DiagnosticEntry::VALUE_NOT_SET:
      break;
  }
}

}  // namespace

StatusReport::StatusReport(absl::string_view node_name, absl::string_view status_name) {
  status_.name = absl::StrCat(node_name, ": ", status_name);
  status_.hardware_id = std::string(node_name);
}

void StatusReport::SetText(absl::string_view key, absl::string_view value) {
  for (DiagnosticStatus::KeyValue& entry : status_.values) {
    if (entry.key == key) {
      entry.value = std::string(value);
      return;
    }
  }
  status_.values.push_back({std::string(key), std::string(value)});
}

void StatusReport::Report(DiagnosticStatus::Level level, absl::string_view text) {
  absl::StrAppend(&status_.message, status_.message.empty() ? "" : "; ", text);
  if (level > status_.level) status_.level = level;
}

DiagnosticStatus StatusReport::Status() const {
  DiagnosticStatus status = status_;
  if (status.level == DiagnosticStatus::kOk) status.message = "OK";
  return status;
}

DiagnosticStatus FusionStatus(const std::string& node_name, int64_t stamp_ns,
                              const v1::FusedPose& fused, uint32_t resets_before) {
  StatusReport report(node_name, kFusionStatus);
  report.SetInt("topic_time_stamp", stamp_ns);
  report.SetBool("is_scan_used", fused.scan_used());
  report.SetText("detail", fused.detail());
  report.SetInt("resets", fused.resets());
  static constexpr const char* kAxes[] = {"x", "y", "z", "rx", "ry", "rz"};
  for (int i = 0; i < fused.distance_since_observed_m_size() && i < 6; ++i) {
    report.SetDouble(absl::StrCat("distance_since_observed_", kAxes[i]),
                     fused.distance_since_observed_m(i));
  }
  report.SetDouble("odometry_scale", fused.odometry_scale());
  report.SetDouble("odometry_scale_sigma", fused.odometry_scale_sigma());
  if (resets_before > 0 && fused.resets() > resets_before) {
    report.Warn("the filter was set anew, to a pose that does not follow from its past");
  }
  return report.Status();
}

ScanStatus::ScanStatus(const std::string& node_name, const Parameters& parameters, int64_t stamp_ns)
    : parameters_(&parameters), report_(node_name, kScanMatchingStatus) {
  report_.SetInt("topic_time_stamp", stamp_ns);
}

bool ScanStatus::CheckSize(size_t points) {
  report_.SetInt("sensor_points_size", points);
  if (points == 0) report_.Warn("the scan has no points");
  return points > 0;
}

void ScanStatus::CheckDelay(double delay_s) {
  report_.SetDouble("sensor_points_delay_time_sec", delay_s);
  const double limit_s = parameters_->sensor_points.timeout_sec;
  if (delay_s > limit_s) {
    report_.Warn(
        absl::StrCat("the scan must be at most ", limit_s, " s old (got ", delay_s, " s)"));
  } else if (delay_s < -limit_s) {
    report_.Warn(absl::StrCat("the stamp of the scan must be at most ", limit_s,
                              " s in the future of the node's clock (got ", -delay_s, " s)"));
  }
}

bool ScanStatus::CheckPoints(const absl::Status& readable) {
  if (readable.ok()) return true;
  report_.Error(absl::StrCat("the cloud cannot be read: ", readable.message()));
  return false;
}

bool ScanStatus::CheckTransform(const absl::Status& found) {
  if (!found.ok()) {
    report_.Error(absl::StrCat("the points cannot be moved into frame '",
                               parameters_->frame.base_frame, "': ", found.message()));
  }
  report_.SetBool("is_succeed_transform_sensor_points", found.ok());
  return found.ok();
}

bool ScanStatus::CheckMaxDistance(double max_distance_m) {
  report_.SetDouble("sensor_points_max_distance", max_distance_m);
  const double required_m = parameters_->sensor_points.required_distance;
  if (max_distance_m >= required_m) return true;
  report_.Warn(absl::StrCat("the farthest point must be at least ", required_m,
                            " m from the base (got ", max_distance_m, " m)"));
  return false;
}

bool ScanStatus::CheckActivated(bool activated) {
  report_.SetBool("is_activated", activated);
  if (!activated) report_.Warn("the node is not activated");
  return activated;
}

bool ScanStatus::CheckInitialPose(bool any) {
  if (any) return true;
  report_.SetBool("is_succeed_interpolate_initial_pose", false);
  report_.Warn("no pose has come on ekf_pose_with_covariance since the node was activated");
  return false;
}

void ScanStatus::AddAnswer(const v1::AlignmentResult& result) {
  const v1::Diagnostics& record = result.diagnostics();
  for (const v1::DiagnosticEntry& entry : record.entries()) {
    if (IsServerKey(entry.key())) AddEntry(entry, report_);
  }
  if (record.level() == v1::DIAGNOSTIC_LEVEL_ERROR) {
    report_.Error(record.message());
  } else if (record.level() == v1::DIAGNOSTIC_LEVEL_WARN) {
    report_.Warn(record.message());
  } else if (!result.accepted()) {
    report_.Warn(absl::StrCat(client::StatusName(result.status()), ": ", result.detail()));
  }
}

void ScanStatus::AddFailure(const absl::Status& status) {
  report_.Warn(absl::StrCat("the scan was not sent: ", status.message()));
}

void ScanStatus::CheckExecutionTime(double execution_time_ms) {
  report_.SetDouble("execution_time", execution_time_ms);
  const double limit_ms = parameters_->validation.critical_upper_bound_exe_time_ms;
  if (execution_time_ms > limit_ms) {
    report_.Warn(absl::StrCat("the scan should take at most ", limit_ms, " ms (got ",
                              execution_time_ms, " ms)"));
  }
}

DiagnosticStatus ScanStatus::Finish(bool published, bool active, SkippedScans& skipped) {
  const int64_t count = skipped.Count(published, active);
  report_.SetInt("skipping_publish_num", count);
  if (count >= parameters_->validation.skipping_publish_num) {
    report_.Warn(absl::StrCat("no pose was published for the last ", count, " scans"));
  }
  return report_.Status();
}

}  // namespace voxloc::ros
