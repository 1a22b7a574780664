// SPDX-License-Identifier: Apache-2.0
//
// Autoware's scan_matching_status for one scan, made in two places: the checks before a scan is
// sent and those on the time it took are the vehicle's, those around the alignment the server's.
// Keys, their order, values, levels and which check ends the scan are Autoware's. For one thread.

#ifndef VOXLOC_CLIENTS_ROS_CORE_SCAN_STATUS_H_
#define VOXLOC_CLIENTS_ROS_CORE_SCAN_STATUS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "clients/ros/core/parameters.h"
#include "clients/ros/core/status_report.h"
#include "voxloc/v1/alignment.pb.h"

namespace voxloc::ros {

// Scans in a row without a pose.
class SkippedScans {
 public:
  int64_t Count(bool published, bool active) {
    return count_ = published || !active ? 0 : count_ + 1;
  }

 private:
  int64_t count_ = 0;
};

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
  bool CheckInitialPose(bool any);  // that there can be a guess at all

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

#endif  // VOXLOC_CLIENTS_ROS_CORE_SCAN_STATUS_H_
