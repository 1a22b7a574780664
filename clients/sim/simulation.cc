// SPDX-License-Identifier: Apache-2.0

#include "clients/sim/simulation.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "clients/dataset/tile_spill.h"
#include "clients/dataset/trajectory_file.h"
#include "core/cloud/io/cloud_file.h"
#include "core/parallel/thread_pool.h"
#include "core/status/try.h"

namespace voxloc::sim {
namespace {

using Options = SimulationOptions;

struct SceneRow {
  absl::string_view name;
  OptionRows (*list)(const Options& options);
  absl::StatusOr<World> (*build)(const Options& options, double sight_m);
};

// In the order of SceneKind.
constexpr SceneRow kScenes[] = {
    {"town", [](const Options& o) { return ListOptions(o.town); },
     [](const Options& o, double) { return BuildTown(o.town); }},
    {"corridor", [](const Options& o) { return ListOptions(o.passage); },
     [](const Options& o, double sight_m) {
       return BuildPassage(o.passage, Roof::kNone, sight_m);
     }},
    {"tunnel", [](const Options& o) { return ListOptions(o.passage); },
     [](const Options& o, double sight_m) {
       return BuildPassage(o.passage, Roof::kVault, sight_m);
     }},
    {"field", [](const Options& o) { return ListOptions(o.field); },
     [](const Options& o, double sight_m) { return BuildField(o.field, sight_m); }},
    {"hall", [](const Options& o) { return ListOptions(o.hall); },
     [](const Options& o, double) { return BuildHall(o.hall); }},
    {"garage", [](const Options& o) { return ListOptions(o.garage); },
     [](const Options& o, double) { return BuildGarage(o.garage); }},
    {"forest", [](const Options& o) { return ListOptions(o.forest); },
     [](const Options& o, double sight_m) { return BuildForest(o.forest, sight_m); }},
    {"motorway", [](const Options& o) { return ListOptions(o.motorway); },
     [](const Options& o, double sight_m) { return BuildMotorway(o.motorway, sight_m); }},
    {"rooms", [](const Options& o) { return ListOptions(o.rooms); },
     [](const Options& o, double) { return BuildRooms(o.rooms); }},
    {"route", [](const Options& o) { return ListOptions(o.route); },
     [](const Options& o, double) { return BuildRoute(o.route); }}};

const SceneRow& RowOf(SceneKind kind) { return kScenes[static_cast<size_t>(kind)]; }

// All options by their groups in simulation.json.
std::vector<std::pair<absl::string_view, OptionRows>> ListGroups(const SimulationOptions& options) {
  const bool sweeps = options.scan_duration_s != 0.0;
  const OptionRows scan = {{"duration_s", options.scan_duration_s,
                            sweeps ? "scan duration" : nullptr, 0.001, 1.0 / options.drive.rate_hz},
                           {"stamp_at", options.stamp_at, "stamp at", 0.0, 1.0},
                           {"point_times", options.point_times}};
  const Eigen::Vector3d& origin = options.map_origin;
  OptionRows map = ListOptions(options.map);
  map.push_back({"tile_size_m", options.tile_size_m, "tile size", 5, 1000});
  map.push_back(
      {"origin", std::vector<double>(origin.data(), origin.data() + 3), "map origin", -1e8, 1e8});
  std::vector<std::pair<absl::string_view, OptionRows>> groups = {
      {ToString(options.scene), RowOf(options.scene).list(options)},
      {"lidar", ListOptions(options.lidar)},
      {"drive", ListOptions(options.drive)},
      {"scan", scan},
      {"traffic", ListOptions(options.traffic)},
      {"map", map},
      {"map_age", ListOptions(options.map_age)},
      {"map_drift", ListOptions(options.map_drift)}};
  if (options.odometry.has_value()) {
    groups.emplace_back("odometry", ListOptions(*options.odometry));
  }
  return groups;
}

namespace fs = std::filesystem;

constexpr char kRecord[] = "simulation.json";

absl::Status FileStatus(const std::string& path, const std::error_code& error) {
  if (!error) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(path, ": ", error.message()));
}

absl::Status MakeDirectory(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  return FileStatus(path, error);
}

absl::Status PrepareDirectory(const DatasetWriterOptions& writer) {
  const fs::path directory(writer.directory);
  std::error_code error;
  VOXLOC_TRY(MakeDirectory(writer.directory));
  const bool empty = fs::is_empty(directory, error);
  VOXLOC_TRY(FileStatus(writer.directory, error));
  if (empty) return absl::OkStatus();
  if (!fs::exists(directory / kRecord, error)) {
    return absl::FailedPreconditionError(
        absl::StrCat(writer.directory, " is not empty and holds no earlier simulation"));
  }
  if (!writer.replace) {
    return absl::AlreadyExistsError(
        absl::StrCat(writer.directory, " holds an earlier simulation; --force replaces it"));
  }
  for (const char* part : {"map", "scans", "odometry.txt"}) {
    fs::remove_all(directory / part, error);
    VOXLOC_TRY(FileStatus((directory / part).string(), error));
  }
  return absl::OkStatus();
}

absl::Status WriteTextFile(const std::string& path, absl::string_view text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (file.fail()) return absl::InternalError(absl::StrCat(path, ": cannot write"));
  return absl::OkStatus();
}

// Calls write(i), which returns the number of points in a file, for each of the files until the
// first error. Returns the number of all points.
absl::StatusOr<size_t> WriteFiles(ThreadPool& pool, size_t files,
                                  const std::function<absl::StatusOr<size_t>(size_t)>& write,
                                  const SampleProgress& progress) {
  std::mutex mutex;
  absl::Status status;
  size_t done = 0;
  size_t points = 0;
  pool.ParallelFor(files, [&](size_t i) {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!status.ok()) return;
    }
    const absl::StatusOr<size_t> written = write(i);
    const std::lock_guard<std::mutex> lock(mutex);
    status.Update(written.status());
    if (!written.ok()) return;
    points += *written;
    progress(++done, files);
  });
  if (!status.ok()) return status;
  return points;
}

// Writes the tiles of a map, whose edges lie on multiples of tile_size_m, in the map's coordinates,
// as Autoware keeps it. A map whose points lie around a zero `origin` is written in float32, any
// other in float64.
absl::Status WriteMapDirectory(const std::string& directory, const TileSpill& tiles,
                               const Eigen::Vector3d& origin, int tile_size_m, ThreadPool& pool,
                               const SampleProgress& progress) {
  const std::string cloud_directory = directory + "/pointcloud_map.pcd";
  VOXLOC_TRY(MakeDirectory(cloud_directory));
  std::string metadata =
      absl::StrCat("x_resolution: ", tile_size_m, ".0\ny_resolution: ", tile_size_m, ".0\n");
  std::vector<std::string> names;
  for (const TileIndex& index : tiles.tiles()) {
    const TileCloud tile = tiles.Describe(index);
    const std::string x = absl::StrCat(std::llround(tile.bounds.min.x()));
    const std::string y = absl::StrCat(std::llround(tile.bounds.min.y()));
    names.push_back(absl::StrCat(x, "_", y, ".pcd"));
    absl::StrAppend(&metadata, names.back(), ": [", x, ", ", y, "]\n");
  }

  const auto write = [&](size_t i) -> absl::StatusOr<size_t> {
    // All tiles around the map's own origin, which decides the files' precision.
    PointCloud cloud;
    cloud.origin = origin;
    VOXLOC_ASSIGN_OR_RETURN(const TileCloud tile, tiles.Load(tiles.tiles()[i]));
    Append(tile.cloud, cloud);
    VOXLOC_TRY(WritePcd(absl::StrCat(cloud_directory, "/", names[i]), cloud));
    return cloud.size();
  };
  VOXLOC_TRY(WriteFiles(pool, names.size(), write, progress).status());
  return WriteTextFile(directory + "/pointcloud_map_metadata.yaml", metadata);
}

absl::Status WriteMap(const World& world, const SimulationOptions& options,
                      const std::string& directory, ThreadPool& pool,
                      const SampleProgress& sampling, const SampleProgress& tiling,
                      SimulationSummary& summary) {
  std::optional<AgedWorld> aged;
  if (!options.map_age.IsUnchanged()) {
    aged = MakeAgedWorld(world, options.map_age);
    summary.map_age = aged->counts;
  }
  TileSpill::Options spill_options;
  spill_options.tile_size_m = options.tile_size_m;
  spill_options.directory = directory;
  VOXLOC_ASSIGN_OR_RETURN(TileSpill tiles, TileSpill::Create(spill_options));
  const MapDrift drift(options.map_drift);
  const auto receive = [&](PointCloud part) {
    if (options.map_drift.sigma_m > 0.0) drift.Apply(pool, part);
    part.origin = options.map_origin;
    return tiles.Add(part);
  };
  VOXLOC_TRY(SampleMapInParts(aged.has_value() ? aged->world : world, options.map, pool, receive,
                              sampling));
  VOXLOC_TRY(tiles.Finish());
  summary.map_points = tiles.points();
  summary.map_tiles = tiles.tiles().size();
  return WriteMapDirectory(directory + "/map", tiles, options.map_origin, options.tile_size_m, pool,
                           tiling);
}

// Takes the scan with the given number. While the sensor moves, so do the moving objects, in
// kTrafficSlices steps.
Sweep TakeScan(const World& world, const SimulationOptions& options, const Drive& drive,
               const DrivePose& first, const Traffic& traffic, const Lidar& lidar,
               uint64_t scan_number) {
  constexpr size_t kTrafficSlices = 10;
  const double duration_s = options.scan_duration_s;
  const size_t slices = duration_s > 0.0 && traffic.size() > 0 ? kTrafficSlices : 1;
  std::vector<RayCaster> casters;
  for (size_t slice = 0; slice < slices; ++slice) {
    const double since_s = duration_s * static_cast<double>(slice) / static_cast<double>(slices);
    casters.emplace_back(world.scene,
                         traffic.At(first.stamp_s + since_s, first.world_T_sensor.translation));
  }
  const auto moment = [&](double time_s) -> SweepMoment {
    if (duration_s == 0.0) return {first.world_T_sensor, &casters.front()};
    const auto slice = static_cast<size_t>(time_s / duration_s * static_cast<double>(slices));
    return {drive.At(first.stamp_s + time_s).world_T_sensor, &casters[std::min(slice, slices - 1)]};
  };
  return lidar.ScanWhileMoving(moment, duration_s, scan_number);
}

// Returns the number of points of all scans.
absl::StatusOr<size_t> WriteScans(const World& world, const SimulationOptions& options,
                                  const Drive& drive, const std::vector<DrivePose>& starts,
                                  const Traffic& traffic, const std::string& directory,
                                  ThreadPool& pool, const SampleProgress& progress) {
  VOXLOC_TRY(MakeDirectory(directory));
  const Lidar lidar(options.lidar);
  const auto write = [&](size_t i) -> absl::StatusOr<size_t> {
    Sweep sweep = TakeScan(world, options, drive, starts[i], traffic, lidar, i);
    std::vector<PcdExtraField> fields;
    if (options.point_times) {
      const auto stamp_s = static_cast<float>(options.stamp_at * options.scan_duration_s);
      for (float& time_s : sweep.time_s) time_s -= stamp_s;
      fields.push_back({"t", std::move(sweep.time_s)});
    }
    VOXLOC_TRY(WritePcd(absl::StrFormat("%s/%06u.pcd", directory, static_cast<unsigned>(i)),
                        sweep.cloud, PcdEncoding::kBinary, fields));
    return sweep.cloud.size();
  };
  return WriteFiles(pool, starts.size(), write, progress);
}

absl::Status WritePoses(const SimulationOptions& options, const std::vector<DrivePose>& drive,
                        const std::string& directory) {
  std::vector<StampedPose> poses;
  for (const DrivePose& at : drive) {
    Pose map_T_sensor = at.world_T_sensor;
    map_T_sensor.translation += options.map_origin;
    poses.push_back({std::llround(at.stamp_s * 1e9), map_T_sensor});
  }
  VOXLOC_TRY(WriteTrajectory(directory + "/poses.txt", TrajectoryFormat::kKitti, poses));
  VOXLOC_TRY(WriteTrajectory(directory + "/poses_tum.txt", TrajectoryFormat::kTum, poses));
  if (!options.odometry.has_value()) return absl::OkStatus();
  const std::vector<Pose> odometry = OdometryOf(drive, *options.odometry);
  for (size_t i = 0; i < poses.size(); ++i) poses[i].pose = odometry[i];
  return WriteTrajectory(directory + "/odometry.txt", TrajectoryFormat::kTum, poses);
}

}  // namespace

absl::string_view ToString(SceneKind kind) { return RowOf(kind).name; }

absl::StatusOr<SceneKind> ParseSceneKind(absl::string_view name) {
  std::vector<absl::string_view> names;
  for (const SceneRow& scene : kScenes) {
    if (scene.name == name) return static_cast<SceneKind>(names.size());
    names.push_back(scene.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("scene must be one of ", absl::StrJoin(names, ", "), " (got '", name, "')"));
}

absl::StatusOr<World> BuildWorld(const SimulationOptions& options) {
  return RowOf(options.scene).build(options, options.lidar.max_range_m);
}

absl::Status Validate(const SimulationOptions& options) {
  absl::Status status = CheckRanges(RowOf(options.scene).list(options));
  status.Update(Validate(options.lidar));
  for (const auto& [group, rows] : ListGroups(options)) status.Update(CheckRanges(rows));
  return status;
}

std::vector<PartOfDrive> PartsOf(const World& world, const Drive& drive, double last_stamp_s) {
  std::vector<PartOfDrive> parts;
  auto point = drive.route().begin();
  for (const WorldPart& part : world.parts) {
    point = std::find_if(point, drive.route().end(),
                         [&](const RoutePoint& at) { return at.street >= part.first_street; });
    if (point == drive.route().end() || point->time_s > last_stamp_s) break;
    parts.push_back({part.name, point->arc_m, point->time_s});
  }
  return parts;
}

std::string SimulationJson(const SimulationOptions& options, const SimulationSummary* summary) {
  nlohmann::ordered_json json;
  json["format"] = "voxloc simulation 1";
  json["complete"] = summary != nullptr;
  for (const auto& [group, rows] : ListGroups(options)) {
    nlohmann::ordered_json& written = json[std::string(group)];
    for (const OptionRow& row : rows) {
      if (row.key == nullptr) continue;
      std::visit([&](const auto& value) { written[row.key] = value; }, row.value);
    }
  }
  if (summary != nullptr) {
    json["result"] = {{"solids", summary->solids},
                      {"moving_objects", summary->moving_objects},
                      {"map_points", summary->map_points},
                      {"map_tiles", summary->map_tiles},
                      {"scans", summary->scans},
                      {"scan_points", summary->scan_points},
                      {"drive_length_m", summary->drive_length_m},
                      {"drive_duration_s", summary->drive_duration_s},
                      {"changed_places", summary->map_age.changed_places},
                      {"missing_structures", summary->map_age.missing_structures},
                      {"moved_structures", summary->map_age.moved_structures}};
    nlohmann::ordered_json drift = nlohmann::ordered_json::array();
    for (const DriftAtScan& at : summary->drift_at_scans) {
      drift.push_back({at.displacement_m.x(), at.displacement_m.y(), at.displacement_m.z(),
                       at.rotation_rad.x(), at.rotation_rad.y(), at.rotation_rad.z()});
    }
    if (!drift.empty()) json["result"]["map_drift_at_scans"] = std::move(drift);
    nlohmann::ordered_json parts = nlohmann::ordered_json::array();
    for (const PartOfDrive& part : summary->parts) {
      parts.push_back({{"name", part.name}, {"from_m", part.from_m}, {"from_s", part.from_s}});
    }
    if (!parts.empty()) json["result"]["parts"] = std::move(parts);
  }
  return json.dump(2) + "\n";
}

absl::StatusOr<SimulationSummary> WriteSimulation(const SimulationOptions& options,
                                                  const DatasetWriterOptions& writer,
                                                  const SimulationProgress& progress) {
  VOXLOC_TRY(Validate(options));
  VOXLOC_ASSIGN_OR_RETURN(const World world, BuildWorld(options));
  DriveOptions drive_options = options.drive;
  drive_options.tail_s = options.scan_duration_s;
  VOXLOC_ASSIGN_OR_RETURN(const Drive drive, Drive::Plan(world, drive_options));
  const std::vector<DrivePose> starts = drive.Scans();
  // The stamps come after the first rays by a share of the duration.
  std::vector<DrivePose> poses;
  for (const DrivePose& start : starts) {
    poses.push_back(drive.At(start.stamp_s + options.stamp_at * options.scan_duration_s));
  }
  const Traffic traffic(world, options.traffic);

  VOXLOC_TRY(PrepareDirectory(writer));
  const std::string record = absl::StrCat(writer.directory, "/", kRecord);
  VOXLOC_TRY(WriteTextFile(record, SimulationJson(options, nullptr)));

  const auto in_phase = [&](absl::string_view phase) {
    return [&progress, phase](size_t done, size_t total) {
      if (progress != nullptr) progress(phase, done, total);
    };
  };
  ThreadPool pool(ThreadCount(writer.threads));
  SimulationSummary summary;
  summary.solids = world.scene.solids().size();
  summary.moving_objects = traffic.size();
  VOXLOC_TRY(WriteMap(world, options, writer.directory, pool, in_phase("map points"),
                      in_phase("map tiles"), summary));
  VOXLOC_ASSIGN_OR_RETURN(summary.scan_points,
                          WriteScans(world, options, drive, starts, traffic,
                                     writer.directory + "/scans", pool, in_phase("scans")));
  summary.scans = starts.size();
  VOXLOC_TRY(WritePoses(options, poses, writer.directory));
  for (size_t i = 1; i < poses.size(); ++i) {
    summary.drive_length_m +=
        TranslationDistance(poses[i - 1].world_T_sensor, poses[i].world_T_sensor);
  }
  summary.drive_duration_s = poses.back().stamp_s;
  summary.parts = PartsOf(world, drive, poses.back().stamp_s);
  if (options.map_drift.sigma_m > 0.0) {
    const MapDrift drift(options.map_drift);
    for (const DrivePose& at : poses) {
      const Eigen::Vector3d& place = at.world_T_sensor.translation;
      summary.drift_at_scans.push_back({drift.DisplacementAt(place), drift.RotationAt(place)});
    }
  }
  VOXLOC_TRY(WriteTextFile(record, SimulationJson(options, &summary)));
  return summary;
}

}  // namespace voxloc::sim
