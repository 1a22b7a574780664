// SPDX-License-Identifier: Apache-2.0
//
// Diagnostics as Autoware's node writes them: one status, and the one of a scan. For one thread.

#ifndef VOXLOC_CLIENTS_ROS_CORE_DIAGNOSTICS_H_
#define VOXLOC_CLIENTS_ROS_CORE_DIAGNOSTICS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "clients/ros/core/messages.h"
#include "clients/ros/core/parameters.h"
#include "voxloc/v1/alignment.pb.h"

namespace voxloc::ros {

// The groups of Autoware's node, by name.
inline constexpr char kScanMatchingStatus[] = "scan_matching_status";
inline constexpr char kInitialPoseStatus[] = "initial_pose_subscriber_status";
inline constexpr char kRegularizationPoseStatus[] = "regularization_pose_subscriber_status";
inline constexpr char kMapUpdateStatus[] = "map_update_status";
inline constexpr char kAlignServiceStatus[] = "ndt_align_service_status";
inline constexpr char kTriggerServiceStatus[] = "trigger_node_service_status";
// Those that Autoware does not have: the connection to the server, the session's filter, the
// comparison of shadow mode, and the map of a topic.
inline constexpr char kServerStatus[] = "server_connection_status";
inline constexpr char kFusionStatus[] = "fusion_status";
inline constexpr char kShadowStatus[] = "shadow_status";
inline constexpr char kPointCloudMapStatus[] = "pointcloud_map_status";

// One DiagnosticStatus as Autoware's DiagnosticsInterface writes it: the name is "<node>:
// <status>", the hardware id the node, booleans are "True" and "False", numbers are as
// std::to_string prints them; setting a key again replaces its value in place; the level is the
// maximum of all, the message their texts joined by "; ", or "OK".
class StatusReport {
 public:
  StatusReport(absl::string_view node_name, absl::string_view status_name);

  void SetBool(absl::string_view key, bool value) { SetText(key, value ? "True" : "False"); }
  template <typename Integer>
  void SetInt(absl::string_view key, Integer value) {
    SetText(key, std::to_string(value));
  }
  void SetDouble(absl::string_view key, double value) { SetText(key, std::to_string(value)); }
  void SetText(absl::string_view key, absl::string_view value);

  void Warn(absl::string_view text) { Report(DiagnosticStatus::kWarn, text); }
  void Error(absl::string_view text) { Report(DiagnosticStatus::kError, text); }

  [[nodiscard]] DiagnosticStatus::Level level() const { return status_.level; }
  // As it is to be published.
  [[nodiscard]] DiagnosticStatus Status() const;

 private:
  void Report(DiagnosticStatus::Level level, absl::string_view text);

  DiagnosticStatus status_;
};

// The fusion_status of a scan. WARN where the filter was set anew: its pose does not follow from
// the past. `resets_before`: of the scan before; 0: none.
[[nodiscard]] DiagnosticStatus FusionStatus(const std::string& node_name, int64_t stamp_ns,
                                            const v1::FusedPose& fused, uint32_t resets_before);

// Scans in a row without a pose.
class SkippedScans {
 public:
  int64_t Count(bool published, bool active) {
    return count_ = published || !active ? 0 : count_ + 1;
  }

 private:
  int64_t count_ = 0;
};

// Autoware's scan_matching_status for one scan, made in two places: the checks before a scan is
// sent and those on the time it took are the vehicle's, those around the alignment the server's.
// Keys, their order, values, levels and which check ends the scan are Autoware's.
class ScanStatus {
 public:
  ScanStatus(const std::string& node_name, const Parameters& parameters, int64_t stamp_ns);

  // The checks before a scan is sent, in their order. False: the scan ends here.
  bool CheckSize(size_t points);
  void CheckDelay(double delay_s);  // from the stamp to now; also warns of stamps in the future
  // The points, and the transform that they need: not ok ends the scan, with an ERROR.
  bool CheckPoints(const absl::Status& readable);
  bool CheckTransform(const absl::Status& found);
  bool CheckMaxDistance(double max_distance_m);
  bool CheckActivated(bool activated);
  bool CheckInitialPose(bool any);  // `any`: there is a guess

  // The server's part of the record, and its verdict.
  void AddAnswer(const v1::AlignmentResult& result);
  // In place of an answer: the scan could not be sent.
  void AddFailure(const absl::Status& status);

  // After the answer of a scan that was aligned.
  void CheckExecutionTime(double execution_time_ms);

  // Counts the scan. `published`: its pose was; `active`: the node is.
  [[nodiscard]] DiagnosticStatus Finish(bool published, bool active, SkippedScans& skipped);

 private:
  const Parameters* parameters_;  // outlive this object
  StatusReport report_;
};

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_DIAGNOSTICS_H_
