// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/flags/scan_flags.h"

#include <cstdio>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/terminal.h"
#include "clients/dataset/cloud_sources.h"
#include "core/cloud/io/cloud_file.h"
#include "core/status/try.h"

namespace voxloc::cli {

FilterOptions ScanFlags::filter() const {
  FilterOptions options;
  options.min_range_m = min_range_m;
  if (max_range_m > 0.0) options.max_range_m = max_range_m;
  options.voxel_leaf_m = leaf_m;
  options.max_points = points;
  options.random_seed = seed;
  return options;
}

CloudReadOptions ScanFlags::read() const {
  CloudReadOptions options;
  options.record_floats = record_floats;
  return options;
}

void ScanFlags::AddTo(v1::ScanFilter* filter) const {
  filter->set_min_range_m(min_range_m);
  filter->set_max_range_m(max_range_m);
  filter->set_voxel_leaf_m(leaf_m);
  filter->set_max_points(static_cast<uint32_t>(points));
  filter->set_random_seed(seed);
}

void AddScanFlags(CLI::App* command, ScanFlags* flags) {
  AddDefaulted(command, "--leaf", flags->leaf_m, "S",
               "Replace the points of each voxel of S metres by their centroid; 0: off")
      ->check(CLI::Range(0.0, 1e3));
  AddDefaulted(command, "--points", flags->points, "N", "Then choose N points at random; 0: all");
  AddDefaulted(
      command, "--min-range", flags->min_range_m, "M",
      "Drop points nearer to the sensor than M metres; missing returns are often written as zeros")
      ->check(CLI::Range(0.0, 1e6));
  AddDefaulted(command, "--max-range", flags->max_range_m, "M",
               "Drop points farther from the sensor than M metres; 0: no limit")
      ->check(CLI::Range(0.0, 1e6));
  AddDefaulted(command, "--record-floats", flags->record_floats, "N",
               "Take the points of .bin files to have N float32 each (KITTI: 4, nuScenes: 5), 3 to "
               "32; 0: by their names and values, which has to be certain")
      ->check(CLI::Range(size_t{0}, kMaxRecordFloats));
  AddDefaulted(command, "--seed", flags->seed, "N", "Set the seed of every random choice");
}

void AddScanFile(CLI::App* command, std::string* file) {
  command->add_option("FILE", *file, "Read the scan from FILE: PCD, PLY or KITTI .bin")->required();
}

absl::StatusOr<PointCloud> FilterScan(const std::string& name, const PointCloud& scan,
                                      const FilterOptions& filter) {
  absl::StatusOr<FilteredCloud> filtered = FilterCloud(scan, filter);
  if (filtered.ok()) return std::move(filtered->cloud);
  return absl::Status(filtered.status().code(),
                      absl::StrCat(name, ": ", filtered.status().message()));
}

absl::StatusOr<PointCloud> ReadScan(const std::string& path, const ScanFlags& flags) {
  VOXLOC_ASSIGN_OR_RETURN(const PointCloud scan, ReadCloud(path, flags.read()));
  return FilterScan(path, scan, flags.filter());
}

absl::StatusOr<PointCloud> LoadScan(const std::string& path, const ScanFlags& flags) {
  for (const std::string& remark : DescribeClouds({path}, flags.read())) {
    absl::FPrintF(stderr, "%s\n", remark);
  }
  return ReadScan(path, flags);
}

CLI::Option* AddBagFlags(CLI::App* command, bag::DriveOptions* options) {
  CLI::Option* bag =
      AddOption(command, "--bag", options->paths, "FILE",
                "Read scans and poses from a bag of ROS: rosbag2 (SQLite, MCAP; a file or its "
                "directory) or ROS 1; can be repeated for several files of one recording")
          ->allow_extra_args(false);
  AddOption(command, "--points-topic", options->points_topic, "TOPIC",
            "Take the scans from this topic (sensor_msgs/PointCloud2); default: the only one")
      ->needs(bag);
  AddOption(command, "--poses-topic", options->poses_topic, "TOPIC",
            "Take the poses from this topic (PoseStamped, PoseWithCovarianceStamped, Odometry or "
            "/tf); default: the only one, or tf")
      ->needs(bag);
  AddOption(command, "--map-frame", options->frames.map, "FRAME",
            "Give the poses in this frame; default: the frame that they are recorded in")
      ->needs(bag);
  AddOption(command, "--base-frame", options->frames.base, "FRAME",
            "Take this frame as the vehicle's base; default: the one that the poses name")
      ->needs(bag);
  return bag;
}

absl::StatusOr<std::unique_ptr<bag::Drive>> OpenDrive(bag::DriveOptions options,
                                                      const std::string& base_T_sensor) {
  if (!base_T_sensor.empty()) {
    VOXLOC_ASSIGN_OR_RETURN(options.base_T_sensor, ParsePoseText(base_T_sensor));
  }
  std::optional<LiveLine> line(std::in_place, 3.0, 0.1);
  options.on_progress = [&line](uint64_t messages, uint64_t of) {
    if (messages == 0 || !line->due()) return;
    line->Show(absl::StrCat("reading the bag: ", GroupDigits(messages), " of ", GroupDigits(of),
                            " messages"));
  };
  absl::StatusOr<std::unique_ptr<bag::Drive>> opened = bag::Drive::Open(options);
  line.reset();  // ends it
  if (!opened.ok()) return opened;
  for (const std::string& remark : (*opened)->remarks()) absl::FPrintF(stderr, "%s\n", remark);
  return opened;
}

}  // namespace voxloc::cli
