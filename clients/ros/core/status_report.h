// SPDX-License-Identifier: Apache-2.0
//
// StatusReport: one DiagnosticStatus as Autoware's DiagnosticsInterface writes it: the name is
// "<node>: <status>", the hardware id the node, booleans are "True" and "False", numbers are as
// std::to_string prints them; a key that comes again keeps its place and takes the new value; the
// level is the worst of all, the message their texts joined by "; ", or "OK". For one thread.

#ifndef VOXLOC_CLIENTS_ROS_CORE_STATUS_REPORT_H_
#define VOXLOC_CLIENTS_ROS_CORE_STATUS_REPORT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "clients/ros/core/messages.h"

namespace voxloc::ros {

// The groups of Autoware's node, by name.
inline constexpr char kScanMatchingStatus[] = "scan_matching_status";
inline constexpr char kInitialPoseStatus[] = "initial_pose_subscriber_status";
inline constexpr char kRegularizationPoseStatus[] = "regularization_pose_subscriber_status";
inline constexpr char kMapUpdateStatus[] = "map_update_status";
inline constexpr char kAlignServiceStatus[] = "ndt_align_service_status";
inline constexpr char kTriggerServiceStatus[] = "trigger_node_service_status";
// The one that Autoware does not have: the connection to the server.
inline constexpr char kServerStatus[] = "server_connection_status";

class StatusReport {
 public:
  StatusReport(absl::string_view node_name, absl::string_view status_name);

  void SetBool(absl::string_view key, bool value);
  void SetInt(absl::string_view key, int64_t value);
  void SetDouble(absl::string_view key, double value);
  void SetText(absl::string_view key, absl::string_view value);

  void Warn(absl::string_view text);
  void Error(absl::string_view text);

  [[nodiscard]] DiagnosticStatus::Level level() const { return status_.level; }
  // As it is to be published.
  [[nodiscard]] DiagnosticStatus Status() const;

 private:
  void Report(DiagnosticStatus::Level level, absl::string_view text);

  DiagnosticStatus status_;
};

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_STATUS_REPORT_H_
