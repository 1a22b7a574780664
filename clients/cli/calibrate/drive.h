// SPDX-License-Identifier: Apache-2.0
//
// Runs a recorded drive through a session for its calibration: each scan as it is, then each of its
// halves, from the pose that the scan was found at. The guess of a scan is the last accepted
// answer, moved by the odometry since. One scan is in flight at a time.

#ifndef VOXLOC_CLIENTS_CLI_CALIBRATE_DRIVE_H_
#define VOXLOC_CLIENTS_CLI_CALIBRATE_DRIVE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cli/calibrate/drive_answers.h"
#include "clients/cli/flags/scan_flags.h"
#include "clients/cpp/session.h"

namespace voxloc::cli {

struct DriveScan {
  std::string path;
  int64_t stamp_ns = 0;
  Pose odometry_T_base;
};

struct DriveOptions {
  Pose first_guess_map_T_base;
  ScanFlags scan;           // how scans are read and thinned
  double timeout_s = 10.0;  // for each answer; 0: no limit
  // Called after each scan with the number of those that are done.
  std::function<void(size_t done)> on_scan;
};

struct DriveAnswers {
  // Of accepted scans that observe all axes.
  std::vector<DriveAnswer> scans;
  std::vector<HalvesAnswer> halves;  // where both were accepted as well
  size_t accepted = 0;
};

// `session` gives the scan part of the calibrated covariance alone, and guesses are its scans' own.
// An error of a scan's file, of the session, or a missing answer ends the drive.
[[nodiscard]] absl::StatusOr<DriveAnswers> RunDrive(const std::vector<DriveScan>& scans,
                                                    const DriveOptions& options,
                                                    client::LocalizationSession* session);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_CALIBRATE_DRIVE_H_
