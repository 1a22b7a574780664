// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/flags/request_flags.h"

#include <cstdio>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/output/message_text.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/terminal.h"
#include "clients/cli/report/map_view.h"
#include "clients/cpp/messages.h"
#include "clients/dataset/cloud_sources.h"
#include "core/cloud/io/cloud_file.h"
#include "core/geometry/euler.h"
#include "core/status/try.h"

namespace voxloc::cli {

void AlignmentFlags::AddTo(v1::ScanSetup* setup) const {
  if (!overrides.empty()) SetFields(overrides, setup->mutable_options()->mutable_overrides());
  if (!gate.empty()) SetFields(gate, setup->mutable_options()->mutable_gate());
  if (!vehicle.empty()) setup->set_vehicle(vehicle);
  if (base_T_sensor.empty()) return;
  if (const absl::StatusOr<Pose> mount = ParsePoseText(base_T_sensor); mount.ok()) {
    client::EncodePose(*mount, setup->mutable_base_t_sensor());
  }
}

void AddAlignmentFlags(CLI::App* command, AlignmentFlags* flags) {
  AddScoringFlags(command, flags);
  AddFieldFlag(command, "--gate",
               "Replace a limit that decides whether a result is accepted, SI units",
               v1::GateOptions::default_instance(), &flags->gate);
}

void AddScoringFlags(CLI::App* command, AlignmentFlags* flags) {
  AddFieldFlag(command, "--override", "Replace a value of the profile's stages, SI units",
               v1::AlignmentOverrides::default_instance(), &flags->overrides);
  AddVehicleFlags(command, flags);
}

void AddVehicleFlags(CLI::App* command, AlignmentFlags* flags) {
  AddPoseFlag(command, "--base-t-sensor",
              "Place the sensor on the vehicle by this pose, metres and degrees, ROS angles; "
              "default: the scans are in base axes",
              &flags->base_T_sensor);
  AddOption(command, "--vehicle", flags->vehicle, "NAME",
            "Tell the server this name of the vehicle, which may decide what the caller may do; "
            "default: the command's own name");
}

void EstimateFlags::AddTo(v1::AlignmentOptions* options, v1::OutputOptions* output) const {
  if (!covariance.empty()) {
    options->mutable_covariance()->set_method(EnumWords<v1::CovarianceMethod>().at(covariance));
  }
  if (!sensor.empty()) options->set_sensor(sensor);
  if (systematic_time_sigma_s) {
    options->mutable_covariance()->mutable_systematic_time_sigma_s()->set_value(
        *systematic_time_sigma_s);
  }
  if (systematic_skew_sigma_s) {
    options->mutable_covariance()->mutable_systematic_skew_sigma_s()->set_value(
        *systematic_skew_sigma_s);
  }
  if (no_confidence) output->set_no_confidence(true);
  if (protection_risk) output->mutable_protection()->mutable_risk()->set_value(*protection_risk);
  for (int axis = 0; axis < 3; ++axis) {
    if (systematic_position_sigma_m) {
      options->mutable_covariance()->add_systematic_position_sigma_m(*systematic_position_sigma_m);
    }
    if (systematic_rotation_sigma_deg) {
      options->mutable_covariance()->add_systematic_rotation_sigma_rad(
          *systematic_rotation_sigma_deg * kRadiansPerDegree);
    }
  }
}

void AddEstimateFlags(CLI::App* command, EstimateFlags* flags) {
  AddOptional(command, "--covariance", flags->covariance, "M",
              "Estimate the covariance by fixed, laplace, multi-ndt, multi-ndt-score or "
              "calibrated; default: the profile's method")
      ->check(CLI::IsMember(EnumWords<v1::CovarianceMethod>()));
  AddOptional(command, "--systematic-position", flags->systematic_position_sigma_m, "M",
              "Add errors of this standard deviation that scans share (map, mounting, time) to "
              "the calibrated covariance, along each axis of the base, m (0 to 100); default: "
              "the sensor's, 0.04")
      ->check(CLI::Range(0.0, 100.0));
  AddOptional(command, "--systematic-rotation", flags->systematic_rotation_sigma_deg, "DEG",
              "Add the same about each axis of the base, deg (0 to 180); default: the "
              "sensor's, 0.2")
      ->check(CLI::Range(0.0, 180.0));
  AddOptional(command, "--protection-risk", flags->protection_risk, "P",
              "Compute distances that the position's error exceeds with at most this "
              "probability (over 0, below 1), even if one cluster of points is wrong; needs "
              "the calibrated covariance")
      ->check(CLI::Range(0.0, 1.0));
  AddOptional(command, "--systematic-time", flags->systematic_time_sigma_s, "S",
              "Add errors of the time of scans: what the base moves in so many seconds (0 to "
              "10); default: the sensor's, 0.02")
      ->check(CLI::Range(0.0, 10.0));
  AddOptional(command, "--systematic-skew", flags->systematic_skew_sigma_s, "S",
              "Add errors of sweeps that are not deskewed: the base's speed for so many seconds "
              "in all directions (0 to 10); default: the sensor's, 0.01")
      ->check(CLI::Range(0.0, 10.0));
  AddOptional(command, "--sensor", flags->sensor, "NAME",
              "Use the server's calibration of this sensor; `voxloc info` lists them; default: "
              "default");
  command->add_flag("--no-confidence", flags->no_confidence,
                    "Do not compute the confidence, which saves time");
}

void OutputFlags::AddTo(v1::OutputOptions* output) const {
  if (trace) output->set_trace(true);
  if (diagnostics) output->set_diagnostics(true);
  if (point_scores) {
    output->set_point_scores(true);
    output->set_aligned_cloud(true);  // which points they are of
  }
  if (no_ground_margin_m) output->mutable_no_ground()->set_z_margin_m(*no_ground_margin_m);
}

void AddOutputFlags(CLI::App* command, OutputFlags* flags) {
  AddTraceFlag(command, &flags->trace);
  AddDiagnosticsFlag(command, &flags->diagnostics);
  AddPointScoresFlag(command, &flags->point_scores);
  AddOptional(command, "--no-ground-margin", flags->no_ground_margin_m, "M",
              "Report also the scores of the points more than M metres above the result's "
              "position, finite; Autoware has 0.8");
}

void AddTraceFlag(CLI::App* command, bool* trace) {
  command->add_flag("--trace", *trace, "Report every Newton step of the alignment");
}

void AddDiagnosticsFlag(CLI::App* command, bool* diagnostics) {
  command->add_flag("--diagnostics", *diagnostics,
                    "Report Autoware's checks: level, message and values of scan_matching_status");
}

void AddPointScoresFlag(CLI::App* command, bool* point_scores) {
  command->add_flag("--point-scores", *point_scores,
                    "Write every point that was used, and its score, to the JSON");
}

CLI::Option* AddMapFlag(CLI::App* command, std::string* map, const std::string& description) {
  return AddOption(command, "--map", *map, "NAME", description);
}

void AddMapFlags(CLI::App* command, MapFlags* flags) {
  AddMapFlag(command, &flags->map, "Use this map")->required();
  AddProfileFlag(command, &flags->profile);
}

void MapFlags::AddTo(const char* vehicle, v1::ScanSetup* setup) const {
  setup->set_map(map);
  setup->set_vehicle(vehicle);
  setup->mutable_options()->set_profile(profile);
}

void AddProfileFlag(CLI::App* command, std::string* profile) {
  AddOption(command, "--profile", *profile, "P",
            "Align with this profile: autoware, precise, or another that the server lists");
}

absl::StatusOr<v1::Profile> ProfileNamed(const v1::GetServerInfoResponse& info,
                                         const std::string& name) {
  const std::string& wanted = name.empty() ? info.default_profile() : name;
  std::vector<std::string> names;
  for (const v1::Profile& profile : info.profiles()) {
    if (profile.name() == wanted) return profile;
    names.push_back(profile.name());
  }
  return absl::NotFoundError(absl::StrCat("--profile must be one of ", absl::StrJoin(names, ", "),
                                          " (got '", wanted, "')"));
}

void CommitFlags::AddTo(v1::BeginUpdate* begin, v1::CommitUpdate* commit) const {
  begin->set_request_id(request_id);
  begin->set_base_revision(base_revision);
  commit->set_comment(comment);
  commit->set_stage(stages());
  for (const std::string& vehicle : NamesOf(canary)) commit->add_canary_vehicles(vehicle);
}

void AddCommitFlags(CLI::App* command, CommitFlags* flags) {
  AddDefaulted(command, "--comment", flags->comment, "TEXT", "Note this in the map's history");
  command->add_flag("--stage", flags->stage,
                    "Commit the revision without putting it in use; voxloc map activate does that");
  AddOption(command, "--canary", flags->canary, "V,...",
            "Stage the revision and let these vehicles try it, separated by commas");
  AddOption(command, "--request-id", flags->request_id, "ID",
            "Name the change, so that repeating the command after a failure does not commit it "
            "twice; at most 128 bytes");
  AddDefaulted(command, "--base-revision", flags->base_revision, "N",
               "Change the map only if it is at this revision; 0: any revision");
}

std::vector<std::string> NamesOf(const std::string& comma_separated) {
  return absl::StrSplit(comma_separated, ',', absl::SkipEmpty());
}

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
  command
      ->add_option("FILE", *file,
                   "Read the scan from FILE: a cloud in any format of `voxloc map load`")
      ->required();
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

CLI::Option* AddViewPointsFlag(CLI::App* command, size_t* points) {
  return AddDefaulted(
             command, "--points", *points, "N",
             "Show at most N points in the page, thinned evenly; each takes 8 bytes of the file")
      ->check(CLI::Range(size_t{1000}, kMaxMapPoints));
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

std::optional<ros::PointTimeChoice> PointTimesOf(const std::string& field) {
  if (field == "none") return std::nullopt;
  if (field == "auto") return ros::PointTimeChoice{true, ""};
  return ros::PointTimeChoice{false, field};
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
