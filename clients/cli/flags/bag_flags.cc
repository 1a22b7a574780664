// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/flags/bag_flags.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/flags/pose_flag.h"
#include "clients/cli/output/progress.h"
#include "clients/cli/output/text_table.h"
#include "core/status/try.h"

namespace voxloc::cli {

CLI::Option* AddBagFlags(CLI::App* command, BagFlags* flags) {
  CLI::Option* bag =
      AddOption(command, "--bag", flags->paths, "FILE",
                "Read scans and poses from a bag of ROS: rosbag2 (SQLite, MCAP; a file or its "
                "directory) or ROS 1; can be repeated for several files of one recording")
          ->allow_extra_args(false);
  AddOption(command, "--points-topic", flags->points_topic, "TOPIC",
            "Take the scans from this topic (sensor_msgs/PointCloud2); default: the only one")
      ->needs(bag);
  AddOption(command, "--poses-topic", flags->poses_topic, "TOPIC",
            "Take the poses from this topic (PoseStamped, PoseWithCovarianceStamped, Odometry or "
            "/tf); default: the only one, or tf")
      ->needs(bag);
  AddOption(command, "--map-frame", flags->map_frame, "FRAME",
            "Give the poses in this frame; default: the frame that they are recorded in")
      ->needs(bag);
  AddOption(command, "--base-frame", flags->base_frame, "FRAME",
            "Take this frame as the vehicle's base; default: the one that the poses name")
      ->needs(bag);
  return bag;
}

absl::StatusOr<std::unique_ptr<bag::Drive>> OpenDrive(const BagFlags& flags,
                                                      const BagDriveFlags& drive) {
  bag::DriveOptions options;
  options.paths = flags.paths;
  options.points_topic = flags.points_topic;
  options.poses_topic = flags.poses_topic;
  options.poses_file = drive.poses_file;
  options.guesses_topic = drive.guesses_topic;
  options.frames = {flags.map_frame, flags.base_frame};
  options.max_scans = drive.max_scans;
  if (!drive.base_T_sensor.empty()) {
    VOXLOC_ASSIGN_OR_RETURN(options.base_T_sensor, ParsePoseText(drive.base_T_sensor));
  }
  absl::StatusOr<std::unique_ptr<bag::Drive>> opened = absl::InternalError("not opened");
  {
    LiveLine line(3.0, 0.1);
    options.on_progress = [&line](uint64_t messages, uint64_t of) {
      if (messages == 0 || !line.due()) return;
      line.Show(
          absl::StrCat("reading the bag: ", Grouped(messages), " of ", Grouped(of), " messages"));
    };
    opened = bag::Drive::Open(options);
  }
  if (!opened.ok()) return opened.status();
  for (const std::string& remark : (*opened)->remarks()) absl::FPrintF(stderr, "%s\n", remark);
  return opened;
}

}  // namespace voxloc::cli
