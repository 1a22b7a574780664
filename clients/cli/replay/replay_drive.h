// SPDX-License-Identifier: Apache-2.0
//
// A drive whose true poses are known, opened: from files or from a bag. For one thread.

#ifndef VOXLOC_CLIENTS_CLI_REPLAY_REPLAY_DRIVE_H_
#define VOXLOC_CLIENTS_CLI_REPLAY_REPLAY_DRIVE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "clients/cli/replay/replay_input.h"
#include "clients/dataset/bag/drive.h"
#include "clients/pointcloud2/point_cloud2.h"
#include "core/cloud/io/cloud_file.h"
#include "core/geometry/pose.h"

namespace voxloc::cli {

// Where the drive is.
struct DriveFlags {
  ReplayFiles files;
  bag::DriveOptions bag;  // its paths empty: files

  // The files of the scans, for people.
  [[nodiscard]] std::string Name() const;
};

// The scans and their poses, and where the scans come from.
struct ReplayDrive {
  std::unique_ptr<bag::Drive> bag;  // nullptr: files
  ReplayInput input;
  ScanSource scans;
  std::optional<Pose> base_T_sensor;
};

// `base_T_sensor`: the mount as X,Y,Z,ROLL,PITCH,YAW; empty: by the bag's frames, or none.
// `times`: of the points, which the scans then have too; see FileScans. Prints how the drive is
// read on standard error.
[[nodiscard]] absl::StatusOr<ReplayDrive> OpenReplayDrive(
    const DriveFlags& flags, const CloudReadOptions& read, const std::string& base_T_sensor,
    const std::optional<ros::PointTimeChoice>& times = std::nullopt);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPLAY_REPLAY_DRIVE_H_
