// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/dataset_writer.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/dataset/tile_spill.h"
#include "clients/dataset/trajectory_file.h"
#include "core/cloud/io/cloud_file.h"
#include "core/parallel/thread_pool.h"
#include "core/status/try.h"

namespace voxloc::sim {
namespace {

namespace fs = std::filesystem;

constexpr char kRecord[] = "simulation.json";

absl::Status PrepareDirectory(const DatasetWriterOptions& writer) {
  const fs::path directory(writer.directory);
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return absl::InternalError(absl::StrCat(writer.directory, ": ", error.message()));
  const bool empty = fs::is_empty(directory, error);
  if (error) return absl::InternalError(absl::StrCat(writer.directory, ": ", error.message()));
  if (empty) return absl::OkStatus();
  if (!fs::exists(directory / kRecord, error)) {
    return absl::FailedPreconditionError(
        absl::StrCat(writer.directory, " is not empty and holds no earlier simulation"));
  }
  if (!writer.replace) {
    return absl::AlreadyExistsError(
        absl::StrCat(writer.directory, " holds an earlier simulation; --force replaces it"));
  }
  for (const char* part : {"map", "scans"}) {
    fs::remove_all(directory / part, error);
    if (error) {
      return absl::InternalError(absl::StrCat((directory / part).string(), ": ", error.message()));
    }
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

// Writes the tiles of a map, whose edges lie on multiples of tile_size_m, in the map's coordinates,
// as Autoware keeps it. A map whose points lie around a zero `origin` is written in float32, any
// other in float64.
absl::Status WriteMapDirectory(const std::string& directory, const TileSpill& tiles,
                               const Eigen::Vector3d& origin, int tile_size_m, ThreadPool& pool,
                               const SampleProgress& progress) {
  const std::string cloud_directory = directory + "/pointcloud_map.pcd";
  std::error_code error;
  fs::create_directories(cloud_directory, error);
  if (error) {
    return absl::InternalError(absl::StrCat(cloud_directory, ": ", error.message()));
  }

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

  std::mutex mutex;
  absl::Status status;
  size_t done = 0;
  pool.ParallelFor(names.size(), [&](size_t i) {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!status.ok()) return;
    }
    // All tiles around the map's own origin, which decides the files' precision.
    PointCloud cloud;
    cloud.origin = origin;
    const absl::StatusOr<TileCloud> tile = tiles.Load(tiles.tiles()[i]);
    absl::Status written = tile.status();
    if (tile.ok()) {
      Append(tile->cloud, cloud);
      written = WritePcd(absl::StrCat(cloud_directory, "/", names[i]), cloud);
    }
    const std::lock_guard<std::mutex> lock(mutex);
    status.Update(written);
    ++done;
    if (progress != nullptr && written.ok()) progress(done, names.size());
  });
  if (!status.ok()) return status;
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

absl::Status WriteScans(const World& world, const SimulationOptions& options, const Drive& drive,
                        const std::vector<DrivePose>& starts, const Traffic& traffic,
                        const std::string& directory, ThreadPool& pool,
                        const SimulationProgress& progress, SimulationSummary& summary) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return absl::InternalError(absl::StrCat(directory, ": ", error.message()));
  const Lidar lidar(options.lidar);
  std::mutex mutex;
  absl::Status status;
  pool.ParallelFor(starts.size(), [&](size_t i) {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!status.ok()) return;
    }
    Sweep sweep = TakeScan(world, options, drive, starts[i], traffic, lidar, i);
    std::vector<PcdExtraField> fields;
    if (options.point_times) {
      const auto stamp_s = static_cast<float>(options.stamp_at * options.scan_duration_s);
      for (float& time_s : sweep.time_s) time_s -= stamp_s;
      fields.push_back({"t", std::move(sweep.time_s)});
    }
    const absl::Status written =
        WritePcd(absl::StrFormat("%s/%06u.pcd", directory, static_cast<unsigned>(i)), sweep.cloud,
                 PcdEncoding::kBinary, fields);
    const std::lock_guard<std::mutex> lock(mutex);
    status.Update(written);
    if (!written.ok()) return;
    ++summary.scans;
    summary.scan_points += sweep.cloud.size();
    if (progress != nullptr) progress("scans", summary.scans, starts.size());
  });
  return status;
}

// The poses at the scans' stamps, which come after their first rays by a share of the duration.
std::vector<DrivePose> PosesAtStamps(const SimulationOptions& options, const Drive& drive,
                                     const std::vector<DrivePose>& starts) {
  const double after_s = options.stamp_at * options.scan_duration_s;
  if (after_s == 0.0) return starts;
  std::vector<DrivePose> poses;
  poses.reserve(starts.size());
  for (const DrivePose& start : starts) poses.push_back(drive.At(start.stamp_s + after_s));
  return poses;
}

absl::Status WritePoses(const SimulationOptions& options, const std::vector<DrivePose>& drive,
                        const std::string& directory) {
  std::vector<StampedPose> poses;
  for (const DrivePose& at : drive) {
    Pose map_T_sensor = at.world_T_sensor;
    map_T_sensor.translation += options.map_origin;
    poses.push_back({std::llround(at.stamp_s * 1e9), map_T_sensor});
  }
  absl::Status status = WriteTrajectory(directory + "/poses.txt", TrajectoryFormat::kKitti, poses);
  status.Update(WriteTrajectory(directory + "/poses_tum.txt", TrajectoryFormat::kTum, poses));
  return status;
}

}  // namespace

absl::StatusOr<SimulationSummary> WriteSimulation(const SimulationOptions& options,
                                                  const DatasetWriterOptions& writer,
                                                  const SimulationProgress& progress) {
  VOXLOC_TRY(Validate(options));
  VOXLOC_ASSIGN_OR_RETURN(const World world, BuildWorld(options));
  DriveOptions drive_options = options.drive;
  drive_options.tail_s = options.scan_duration_s;
  VOXLOC_ASSIGN_OR_RETURN(const Drive drive, Drive::Plan(world, drive_options));
  const std::vector<DrivePose> starts = drive.Scans();
  const std::vector<DrivePose> poses = PosesAtStamps(options, drive, starts);
  const Traffic traffic(world, options.traffic);

  VOXLOC_TRY(PrepareDirectory(writer));
  const std::string record = absl::StrCat(writer.directory, "/", kRecord);
  absl::Status status = WriteTextFile(record, SimulationJson(options, nullptr));
  if (!status.ok()) return status;

  const auto in_phase = [&](absl::string_view phase) {
    return [&progress, phase](size_t done, size_t total) {
      if (progress != nullptr) progress(phase, done, total);
    };
  };
  ThreadPool pool(ThreadCount(writer.threads));
  SimulationSummary summary;
  summary.solids = world.scene.solids().size();
  summary.moving_objects = traffic.size();
  status = WriteMap(world, options, writer.directory, pool, in_phase("map points"),
                    in_phase("map tiles"), summary);
  if (!status.ok()) return status;
  status = WriteScans(world, options, drive, starts, traffic, writer.directory + "/scans", pool,
                      progress, summary);
  if (!status.ok()) return status;
  status = WritePoses(options, poses, writer.directory);
  if (!status.ok()) return status;
  for (size_t i = 1; i < poses.size(); ++i) {
    summary.drive_length_m +=
        TranslationDistance(poses[i - 1].world_T_sensor, poses[i].world_T_sensor);
  }
  summary.drive_duration_s = poses.back().stamp_s;
  if (options.map_drift.sigma_m > 0.0) {
    const MapDrift drift(options.map_drift);
    for (const DrivePose& at : poses) {
      const Eigen::Vector3d& place = at.world_T_sensor.translation;
      summary.drift_at_scans.push_back({drift.DisplacementAt(place), drift.RotationAt(place)});
    }
  }
  status = WriteTextFile(record, SimulationJson(options, &summary));
  if (!status.ok()) return status;
  return summary;
}

}  // namespace voxloc::sim
