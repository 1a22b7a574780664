// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/map/recorded_drives.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/map/kept_drives.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/terminal.h"
#include "clients/cli/replay/replay_drive.h"
#include "core/cloud/io/file_bytes.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxListBytes = size_t{16} << 20;

struct ListedDrive {
  std::string server;  // that has kept drives; empty: the rest says where one is recorded
  std::string vehicle;
  std::string base_T_sensor;
  std::optional<double> start_s;
  DriveFlags files;
};

ListedDrive DriveFrom(const Json& json, const fs::path& folder) {
  static const auto& known = *new std::set<std::string>{
      "vehicle", "scans", "poses",  "pose_format", "calib", "base_t_sensor",
      "start_s", "bag",   "points", "poses_topic", "server"};
  for (const auto& [key, value] : json.items()) {
    if (known.count(key) == 0) throw std::invalid_argument("'" + key + "' is not known");
  }
  ListedDrive drive;
  drive.server = json.value("server", "");
  if (!drive.server.empty()) {
    if (json.size() > 1) throw std::invalid_argument("'server' must be the only key");
    return drive;
  }
  const auto path = [&](const char* key) {
    return json.contains(key) ? (folder / json.at(key).get<std::string>()).string() : std::string();
  };
  drive.vehicle = json.at("vehicle").get<std::string>();
  drive.base_T_sensor = json.value("base_t_sensor", "");
  if (json.contains("start_s")) drive.start_s = json.at("start_s").get<double>();
  drive.files.files.poses = path("poses");
  drive.files.files.calibration = path("calib");
  drive.files.files.pose_format = json.value("pose_format", "kitti");
  if (json.contains("bag")) {
    drive.files.bag.paths = {path("bag")};
    drive.files.bag.points_topic = json.value("points", "");
    drive.files.bag.poses_topic = json.value("poses_topic", "");
  } else {
    drive.files.files.scans = path("scans");
    if (drive.files.files.scans.empty() || drive.files.files.poses.empty()) {
      throw std::invalid_argument("it must have 'scans' and 'poses', or 'bag'");
    }
    if (drive.files.files.pose_format == "kitti" && !drive.start_s.has_value()) {
      throw std::invalid_argument(
          "it must have 'start_s', since poses in KITTI's form have no times");
    }
  }
  return drive;
}

absl::StatusOr<std::vector<ListedDrive>> ReadList(const std::string& path) {
  VOXLOC_ASSIGN_OR_RETURN(const FileBytes bytes, ReadFileBytes(path, kMaxListBytes));
  std::vector<ListedDrive> drives;
  try {
    const Json json = Json::parse(bytes.view());
    if (!json.is_array()) throw std::invalid_argument("it must be a list of drives");
    for (const Json& drive : json) {
      drives.push_back(DriveFrom(drive, fs::path(path).parent_path()));
    }
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ", drive ", drives.size() + 1, ": ", error.what()));
  }
  if (drives.empty()) return absl::InvalidArgumentError(absl::StrCat(path, " lists no drive"));
  return drives;
}

absl::Status AddDrive(const ListedDrive& listed, RecordedDrives& all) {
  VOXLOC_ASSIGN_OR_RETURN(ReplayDrive drive,
                          OpenReplayDrive(listed.files, {}, listed.base_T_sensor));
  const std::vector<StampedPose>& poses = drive.input.truth;
  RecordedDrive& recorded = all.drives.emplace_back();
  recorded.name = listed.files.Name();
  recorded.vehicle = listed.vehicle;
  recorded.start_ns = listed.start_s.has_value() ? static_cast<int64_t>(1e9 * *listed.start_s)
                                                 : poses.front().stamp_ns;
  const Pose base_T_sensor = drive.base_T_sensor.value_or(Pose{});
  ProgressBar bar(absl::StrCat("reading ", recorded.name), "scans", poses.size());
  std::optional<Pose> last;
  for (size_t i = 0; i < poses.size(); ++i) {
    VOXLOC_ASSIGN_OR_RETURN(const SourceScan source, drive.scans());
    bar.Update(i + 1);
    if (last.has_value() && TranslationDistance(*last, poses[i].pose) < kUpdateSpacingM) continue;
    last = poses[i].pose;
    if (all.scans.size() == kMaxProposalScans) {
      return absl::InvalidArgumentError(
          absl::StrCat("there must be at most ", kMaxProposalScans, " scans, one a metre driven"));
    }
    UpdateScan& scan = all.scans.emplace_back();
    scan.pass = all.drives.size() - 1;
    scan.map_T_base = poses[i].pose;
    scan.sensor_position_base = base_T_sensor.translation;
    scan.points_base = std::make_shared<const PointCloud>(
        ThinForUpdate(Transform(base_T_sensor, source.cloud), scan.sensor_position_base));
    ++recorded.scans;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RecordedDrives> ReadRecordedDrives(const std::string& path, const std::string& map,
                                                  const ServerFlags& server) {
  RecordedDrives drives;
  if (path == "server") {
    VOXLOC_TRY(AddKeptDrives(server, map, drives));
    return drives;
  }
  VOXLOC_ASSIGN_OR_RETURN(const std::vector<ListedDrive> listed, ReadList(path));
  for (const ListedDrive& drive : listed) {
    ServerFlags listed_server = server;
    listed_server.server = drive.server;
    VOXLOC_TRY(drive.server.empty() ? AddDrive(drive, drives)
                                    : AddKeptDrives(listed_server, map, drives));
  }
  return drives;
}

}  // namespace voxloc::cli
