// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/replay/replay_drive.h"

#include <utility>

#include "absl/strings/str_join.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/output/terminal.h"
#include "clients/cpp/messages.h"
#include "core/status/try.h"

namespace voxloc::cli {

std::string DriveFlags::Name() const {
  return bag.paths.empty() ? files.scans : absl::StrJoin(bag.paths, " ");
}

absl::StatusOr<ReplayDrive> OpenReplayDrive(const DriveFlags& flags, const CloudReadOptions& read,
                                            const std::string& base_T_sensor,
                                            const std::optional<ros::PointTimeChoice>& times) {
  ReplayDrive drive;
  if (!base_T_sensor.empty()) {
    VOXLOC_ASSIGN_OR_RETURN(drive.base_T_sensor, ParsePoseText(base_T_sensor));
  }
  if (flags.bag.paths.empty()) {
    ReplayFiles files = flags.files;
    files.read = read;
    VOXLOC_ASSIGN_OR_RETURN(drive.input, ReadReplayInput(files));
    // With a mount the poses may be those of a camera.
    if (drive.base_T_sensor.has_value()) drive.input.notes.warnings.clear();
    PrintNotes(drive.input.notes);
    drive.scans = FileScans(drive.input.scans, read, times);
    return drive;
  }
  bag::DriveOptions of_bag = flags.bag;
  of_bag.poses_file = flags.files.poses;
  of_bag.max_scans = flags.files.max_scans;
  VOXLOC_ASSIGN_OR_RETURN(drive.bag, OpenDrive(std::move(of_bag), base_T_sensor));
  drive.base_T_sensor = drive.bag->base_T_sensor();
  for (const bag::DriveScan& scan : drive.bag->scans()) {
    drive.input.scans.push_back(SecondsFromNanoseconds(scan.stamp_ns));
    drive.input.truth.push_back({scan.stamp_ns, scan.map_T_base});
    if (!flags.bag.guesses_topic.empty()) drive.input.guesses.push_back(scan.guess_map_T_base);
  }
  VOXLOC_ASSIGN_OR_RETURN(std::unique_ptr<bag::DriveClouds> clouds, drive.bag->ReadClouds());
  // Functions can be copied, which an owner cannot.
  const std::shared_ptr<bag::DriveClouds> shared = std::move(clouds);
  drive.scans = [shared, times]() -> absl::StatusOr<SourceScan> {
    SourceScan scan;
    if (!times.has_value()) {
      VOXLOC_ASSIGN_OR_RETURN(scan.cloud, shared->Next());
      return scan;
    }
    VOXLOC_ASSIGN_OR_RETURN(scan.timed, shared->NextWithTimes(*times));
    VOXLOC_TRY(client::DecodePoints(*scan.timed, &scan.cloud));
    return scan;
  };
  return drive;
}

}  // namespace voxloc::cli
