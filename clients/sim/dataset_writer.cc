// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/dataset_writer.h"

#include <cmath>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/dataset/trajectory_file.h"
#include "clients/sim/map_directory.h"
#include "clients/sim/parallel.h"
#include "clients/sim/simulation_json.h"
#include "clients/sim/text_file.h"
#include "core/cloud/io/cloud_file.h"

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

absl::Status WriteScans(const World& world, const SimulationOptions& options,
                        const std::vector<DrivePose>& drive, const Traffic& traffic,
                        const DatasetWriterOptions& writer, const SimulationProgress& progress,
                        SimulationSummary& summary) {
  const std::string directory = writer.directory + "/scans";
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return absl::InternalError(absl::StrCat(directory, ": ", error.message()));
  const Lidar lidar(options.lidar);
  std::mutex mutex;
  absl::Status status;
  ParallelFor(drive.size(), writer.threads, [&](size_t i) {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!status.ok()) return;
    }
    const Pose& world_T_sensor = drive[i].world_T_sensor;
    const RayCaster caster(world.scene, traffic.At(drive[i].stamp_s, world_T_sensor.translation));
    const PointCloud scan = lidar.Scan(caster, world_T_sensor, i);
    const absl::Status written =
        WritePcd(absl::StrFormat("%s/%06u.pcd", directory, static_cast<unsigned>(i)), scan);
    const std::lock_guard<std::mutex> lock(mutex);
    status.Update(written);
    if (!written.ok()) return;
    ++summary.scans;
    summary.scan_points += scan.size();
    if (progress != nullptr) progress("scans", summary.scans, drive.size());
  });
  return status;
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
  if (absl::Status status = ValidateSimulationOptions(options); !status.ok()) return status;
  const absl::StatusOr<World> world = BuildWorld(options);
  if (!world.ok()) return world.status();
  const absl::StatusOr<std::vector<DrivePose>> drive = PlanDrive(*world, options.drive);
  if (!drive.ok()) return drive.status();
  const Traffic traffic(*world, options.traffic);

  if (absl::Status status = PrepareDirectory(writer); !status.ok()) return status;
  const std::string record = absl::StrCat(writer.directory, "/", kRecord);
  absl::Status status = WriteTextFile(record, SimulationJson(options, nullptr));
  if (!status.ok()) return status;

  const auto in_phase = [&](absl::string_view phase) {
    return [&progress, phase](size_t done, size_t total) {
      if (progress != nullptr) progress(phase, done, total);
    };
  };
  SimulationSummary summary;
  summary.solids = world->scene.solids().size();
  summary.moving_objects = traffic.size();
  {
    absl::StatusOr<PointCloud> map =
        SampleMap(*world, options.map, writer.threads, in_phase("map points"));
    if (!map.ok()) return map.status();
    map->origin = options.map_origin;
    const absl::StatusOr<size_t> tiles =
        WriteMapDirectory(writer.directory + "/map", *map, options.tile_size_m, writer.threads,
                          in_phase("map tiles"));
    if (!tiles.ok()) return tiles.status();
    summary.map_points = map->size();
    summary.map_tiles = *tiles;
  }
  status = WriteScans(*world, options, *drive, traffic, writer, progress, summary);
  if (!status.ok()) return status;
  status = WritePoses(options, *drive, writer.directory);
  if (!status.ok()) return status;
  for (size_t i = 1; i < drive->size(); ++i) {
    summary.drive_length_m +=
        TranslationDistance((*drive)[i - 1].world_T_sensor, (*drive)[i].world_T_sensor);
  }
  summary.drive_duration_s = drive->back().stamp_s;
  status = WriteTextFile(record, SimulationJson(options, &summary));
  if (!status.ok()) return status;
  return summary;
}

}  // namespace voxloc::sim
