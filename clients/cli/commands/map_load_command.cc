// SPDX-License-Identifier: Apache-2.0

#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/map/map_load.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/terminal.h"
#include "clients/cpp/map_upload.h"
#include "clients/dataset/bag/drive.h"
#include "clients/dataset/cloud_sources.h"
#include "clients/dataset/map_yaml.h"
#include "clients/dataset/tile_spill.h"
#include "core/cloud/filters.h"
#include "core/cloud/io/cloud_file.h"
#include "core/cloud/io/cloud_pieces.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

// A single cloud over this many points is cut: 60 MB as they are sent. A tile is what the server
// replaces, checks and keeps as one, and what is in memory as one here.
constexpr uint64_t kMaxSingleTile_points = 5'000'000;

struct MapLoadFlags {
  ServerFlags server;
  CommitFlags commit;
  std::string projector;     // a map_projector_info.yaml
  std::string wgs84_origin;  // LAT,LON[,ALT[,YAW]]
  std::string map;
  std::vector<std::string> paths;
  bag::DriveOptions bag;
  ScanFlags scan;
  double scan_distance_m = 0.0;  // between the scans of a bag that are taken; 0: all
  std::string point_times = "none";
  std::string base_T_sensor;  // X,Y,Z,ROLL,PITCH,YAW; empty: by the bag's frames
  std::string poses;
  std::string calibration;
  std::optional<double> tile_size_m;  // nullopt: one tile per cloud, unless a single one is large
  std::string spill_dir;
  bool add = false;
  std::string profiles;  // comma-separated
  double cell_size_m = 0.0;
};

struct MapLoadPlan {
  std::vector<client::UploadTile> tiles;
  size_t clouds = 0;
  uint64_t points_not_finite = 0;  // that are in none of the tiles
  // Covers what has been read: all points once the tiles are loaded.
  std::shared_ptr<MapSurvey> survey = std::make_shared<MapSurvey>();
  InputNotes notes;
  // Files of directories that have no finite point: their tiles load without one.
  std::shared_ptr<std::set<std::string>> skipped = std::make_shared<std::set<std::string>>();
};

v1::BeginUpdate BeginOf(const MapLoadFlags& options) {
  v1::BeginUpdate begin;
  begin.set_map(options.map);
  begin.set_create(true);
  begin.set_clear(!options.add);
  for (const std::string& profile : NamesOf(options.profiles)) {
    begin.mutable_options()->add_profiles(profile);
  }
  if (options.cell_size_m > 0.0) {
    begin.mutable_options()->mutable_cell_size_m()->set_value(options.cell_size_m);
  }
  return begin;
}

absl::StatusOr<CloudPieceReader> OpenPieces(const TileSource& source) {
  CloudPieceOptions options;
  options.read.record_floats = source.record_floats;
  return CloudPieceReader::Open(source.path, options);
}

// The size of the tiles that the points are to be cut into; 0: one tile per cloud.
absl::StatusOr<double> TileSizeOf(const MapLoadFlags& options,
                                  const std::vector<TileSource>& sources) {
  if (options.tile_size_m.has_value()) return *options.tile_size_m;
  if (sources.size() != 1) return 0.0;
  VOXLOC_ASSIGN_OR_RETURN(const CloudPieceReader reader, OpenPieces(sources[0]));
  if (reader.points() <= kMaxSingleTile_points) return 0.0;
  absl::FPrintF(stderr,
                "%s has %s%s points and is cut into tiles of %g m (--tile-size 0: one tile)\n",
                sources[0].path, reader.points_known() ? "" : "about ",
                GroupDigits(reader.points()), client::kTileSize_m);
  return client::kTileSize_m;
}

absl::StatusOr<TileSpill> CreateSpill(const MapLoadFlags& options, double tile_size_m) {
  TileSpill::Options spill;
  spill.tile_size_m = tile_size_m;
  spill.directory = options.spill_dir;
  return TileSpill::Create(spill);
}

// Cuts points into the tiles of one grid, so that points of several clouds meet in the same tile,
// through a TileSpill, and shows how far it is.
class TileCutter {
 public:
  // `clouds`: how many will be added.
  TileCutter(const std::string& map, size_t clouds, TileSpill spill)
      : map_(map), clouds_(clouds), spill_(std::make_shared<TileSpill>(std::move(spill))) {}

  // A piece of a cloud, in the map's frame. As TileSpill::Add.
  absl::Status Add(const PointCloud& piece) {
    VOXLOC_TRY(spill_->Add(piece));
    plan_.survey->Add(absl::StrCat(plan_.clouds), piece);
    if (!line_.due()) return absl::OkStatus();
    const uint64_t points = spill_->points();
    line_.Show(absl::StrFormat("cutting %s: %d of %d clouds, %s points, %.1f million a second",
                               map_, plan_.clouds, clouds_, GroupDigits(points),
                               static_cast<double>(points) * 1e-6 / watch_.seconds()));
    return absl::OkStatus();
  }

  // The last piece of a cloud has been added.
  void EndCloud() { ++plan_.clouds; }

  // Once. The tiles hold the points' file until they are gone.
  absl::StatusOr<MapLoadPlan> Finish() {
    VOXLOC_TRY(spill_->Finish());
    plan_.points_not_finite = spill_->points_not_finite();
    for (const TileIndex& index : spill_->tiles()) {
      const auto load = [spill = spill_, index]() -> absl::StatusOr<PointCloud> {
        VOXLOC_ASSIGN_OR_RETURN(TileCloud tile, spill->Load(index));
        return std::move(tile.cloud);
      };
      plan_.tiles.push_back({spill_->Describe(index).id, load, std::nullopt});
    }
    return std::move(plan_);
  }

 private:
  const std::string map_;
  const size_t clouds_;
  const std::shared_ptr<TileSpill> spill_;
  MapLoadPlan plan_;
  const Stopwatch watch_;
  LiveLine line_{3.0, 0.1};
};

absl::Status CutCloud(const TileSource& source, TileCutter& cutter) {
  VOXLOC_ASSIGN_OR_RETURN(CloudPieceReader reader, OpenPieces(source));
  while (true) {
    VOXLOC_ASSIGN_OR_RETURN(PointCloud piece, reader.Next());
    if (piece.empty()) break;
    if (source.map_T_cloud.has_value()) piece = Transform(*source.map_T_cloud, piece);
    if (absl::Status status = cutter.Add(piece); !status.ok()) {
      return absl::Status(status.code(), absl::StrCat(source.path, ": ", status.message()));
    }
  }
  cutter.EndCloud();
  return absl::OkStatus();
}

// Memory: that of TileSpill, one scan, and what bag::Drive needs.
absl::StatusOr<MapLoadPlan> PlanBagLoad(const MapLoadFlags& options) {
  bag::DriveOptions drive_options = options.bag;
  drive_options.poses_file = options.poses;
  VOXLOC_ASSIGN_OR_RETURN(const std::unique_ptr<bag::Drive> drive,
                          OpenDrive(std::move(drive_options), options.base_T_sensor));
  VOXLOC_ASSIGN_OR_RETURN(const std::unique_ptr<bag::DriveClouds> clouds, drive->ReadClouds());
  VOXLOC_ASSIGN_OR_RETURN(TileSpill spill,
                          CreateSpill(options, options.tile_size_m.value_or(client::kTileSize_m)));
  TileCutter cutter(options.map, drive->scans().size(), std::move(spill));
  const std::optional<Pose>& base_T_sensor = drive->base_T_sensor();
  std::optional<Pose> last_map_T_base;
  const std::optional<ros::PointTimeChoice> times = PointTimesOf(options.point_times);
  size_t without_motion = 0;  // scans
  for (const bag::DriveScan& scan : drive->scans()) {
    VOXLOC_ASSIGN_OR_RETURN(const std::optional<PointCloud> cloud, clouds->NextDeskewed(times));
    if (last_map_T_base.has_value() &&
        TranslationDistance(*last_map_T_base, scan.map_T_base) < options.scan_distance_m) {
      continue;
    }
    without_motion += cloud.has_value() ? 0 : 1;
    if (!cloud.has_value()) continue;
    last_map_T_base = scan.map_T_base;
    const absl::StatusOr<FilteredCloud> thinned = FilterCloud(*cloud, options.scan.filter());
    absl::Status status = thinned.status();
    if (status.ok()) {
      const Pose map_T_sensor =
          base_T_sensor.has_value() ? scan.map_T_base * *base_T_sensor : scan.map_T_base;
      status = cutter.Add(Transform(map_T_sensor, thinned->cloud));
    }
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat("the scan with the stamp ",
                                                      SecondsFromNanoseconds(scan.stamp_ns),
                                                      " s: ", status.message()));
    }
    cutter.EndCloud();
  }
  VOXLOC_ASSIGN_OR_RETURN(MapLoadPlan plan, cutter.Finish());
  if (without_motion > 0) {
    plan.notes.remarks.push_back(
        absl::StrCat(without_motion,
                     " scans are left out: the poses do not say how the base moved during them"));
    PrintNotes(plan.notes);
  }
  return plan;
}

// Removes the empty files of directories from `sources`.
absl::Status SkipEmpty(std::vector<TileSource>* sources, MapLoadPlan* plan) {
  std::vector<TileSource> kept;
  for (TileSource& source : *sources) {
    CloudReadOptions read;
    read.record_floats = source.record_floats;
    const absl::StatusOr<CloudFileInfo> info = InspectCloud(source.path, read);
    // An unreadable file is reported when it is loaded.
    const bool empty = source.listed && info.ok() && info->points == 0;
    if (empty) {
      plan->skipped->insert(source.path);
      plan->notes.remarks.push_back(absl::StrCat(source.path, " has no point and is left out"));
    } else {
      kept.push_back(std::move(source));
    }
  }
  *sources = std::move(kept);
  if (!sources->empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the map must have points, but none of its ",
                                                 plan->skipped->size(), " clouds has one"));
}

// One tile per cloud. Clouds of a directory without a finite point are skipped like empty ones.
void AddTilePerCloud(const std::vector<TileSource>& sources, MapLoadPlan* plan) {
  plan->clouds = sources.size();
  const std::shared_ptr<MapSurvey> survey = plan->survey;
  const std::shared_ptr<std::set<std::string>> skipped = plan->skipped;
  const auto loaded = std::make_shared<std::set<std::string>>();
  for (const TileSource& source : sources) {
    const auto load = [source, survey, skipped, loaded,
                       all = sources.size()]() -> absl::StatusOr<PointCloud> {
      absl::StatusOr<PointCloud> cloud = LoadTile(source);
      if (!cloud.ok()) return cloud;
      survey->Begin(source.id, source.bounds, source.map_T_cloud.has_value());
      survey->Add(source.id, *cloud);
      loaded->insert(source.id);
      if (!source.listed || survey->PointsOf(source.id) > 0) return cloud;
      if (loaded->size() == all && survey->points() == 0) {
        return absl::InvalidArgumentError("the map must have finite points (got none)");
      }
      skipped->insert(source.path);
      return PointCloud();
    };
    plan->tiles.push_back({source.id, load, std::nullopt});
  }
}

absl::StatusOr<MapLoadPlan> PlanLoad(const MapLoadFlags& options) {
  if (!options.bag.paths.empty()) return PlanBagLoad(options);
  MapSourceOptions source_options;
  source_options.poses = options.poses;
  source_options.record_floats = options.scan.record_floats;
  source_options.calibration = options.calibration;
  if (!options.base_T_sensor.empty()) {
    VOXLOC_ASSIGN_OR_RETURN(source_options.base_T_sensor, ParsePoseText(options.base_T_sensor));
  }
  MapLoadPlan plan;
  VOXLOC_ASSIGN_OR_RETURN(std::vector<TileSource> sources,
                          ResolveMapSources(options.paths, source_options, &plan.notes));
  absl::Status filled = SkipEmpty(&sources, &plan);
  PrintNotes(plan.notes);
  if (!filled.ok()) return filled;
  VOXLOC_ASSIGN_OR_RETURN(const double tile_size_m, TileSizeOf(options, sources));
  if (tile_size_m > 0.0) {
    VOXLOC_ASSIGN_OR_RETURN(TileSpill spill, CreateSpill(options, tile_size_m));
    TileCutter cutter(options.map, sources.size(), std::move(spill));
    for (const TileSource& source : sources) VOXLOC_TRY(CutCloud(source, cutter));
    VOXLOC_ASSIGN_OR_RETURN(MapLoadPlan cut, cutter.Finish());
    cut.notes = std::move(plan.notes);
    cut.skipped = plan.skipped;
    return cut;
  }
  AddTilePerCloud(sources, &plan);
  return plan;
}

absl::StatusOr<ExitCode> LoadMap(const MapLoadFlags& options) {
  const Stopwatch watch;
  v1::BeginUpdate begin = BeginOf(options);
  VOXLOC_ASSIGN_OR_RETURN(std::optional<v1::MapFrame> frame,
                          MapFrameOf(options.projector, options.wgs84_origin, options.paths));
  if (frame.has_value()) *begin.mutable_frame() = *std::move(frame);
  VOXLOC_ASSIGN_OR_RETURN(MapLoadPlan plan, PlanLoad(options));
  if (plan.tiles.empty()) {
    return absl::InvalidArgumentError("the map must have finite points (got none)");
  }
  size_t tiles = plan.tiles.size();
  const size_t skipped_before = plan.skipped->size();
  VOXLOC_ASSIGN_OR_RETURN(
      const client::UploadResult result,
      UploadWithProgress(options.server, options.commit, std::move(begin), std::move(plan.tiles)));
  const size_t skipped = plan.skipped->size() - skipped_before;
  tiles -= skipped;
  plan.clouds -= skipped;
  const double seconds = watch.seconds();
  const uint64_t not_finite = plan.points_not_finite + result.counts.points_not_finite;
  std::string text = absl::StrFormat(
      "map %s, revision %d: %s points, clouds %d, tiles %d, %.1f s\n%s", options.map,
      result.committed.map().revision(), GroupDigits(result.counts.points_kept + not_finite),
      plan.clouds, tiles, seconds, UploadNotes(result, options.commit.stages(), not_finite));
  if (!plan.skipped->empty()) {
    absl::StrAppend(&text, "left out, since they have no finite point: ",
                    absl::StrJoin(*plan.skipped, ", "), "\n");
  }
  absl::StrAppend(&text, plan.survey->Text());
  Json json = UploadJson(result);
  json["clouds"] = plan.clouds;
  json["tiles"] = tiles;
  json["points"] = result.counts.points_kept;
  json["points_not_finite"] = not_finite;
  json["elapsed_s"] = seconds;
  json["skipped"] = *plan.skipped;
  json["remarks"] = plan.notes.remarks;
  json["doubts"] = plan.notes.warnings;
  plan.survey->AddTo(&json);
  return Report(options.server.json, text, json);
}

}  // namespace

void AddMapLoadCommand(CLI::App* parent, Work* chosen) {
  auto options = std::make_shared<MapLoadFlags>();
  options->server.timeout_s = 120.0;
  options->commit.comment = "voxloc map load";
  CLI::App* command = parent->add_subcommand("load", "Load a map from clouds in one transaction");
  command->footer(
      R"(A PATH is a cloud (PCD, PLY, KITTI .bin, LAS, .npy, or text .xyz, .csv, .txt), a directory
of clouds, or an Autoware map directory with pointcloud_map_metadata.yaml. In directories,
.txt and .csv are no clouds. Each cloud becomes a tile of the map, named after its file;
with --tile-size, all points are cut into square tiles instead. A single cloud of over
5,000,000 points is cut into tiles of 50 m unless --tile-size says otherwise.
The map is created or replaced in one step: vehicles use either the old map or the new one.

Where the map lies on the earth is kept with it: Autoware's map_projector_info.yaml of a
PATH that is a directory, or --projector, and --wgs84-origin. Where both are known the
projector decides, unless its type is Local. A map gets its frame once; another one is
refused.

With --bag the map is made of a recorded drive, of ROS 1 or ROS 2; no ROS is needed. Each
scan is moved by the pose of its stamp. With --point-times, turning and driving during a
sweep are corrected before. All points are cut into tiles, of 50 m without --tile-size. A
point that many scans saw is there many times, so take a scan every few metres with
--scan-distance, and thin each one with --leaf. Poses are the bag's, or with --poses those
of a file in the format tum (stamp x y z qx qy qz qw). `voxloc bag info` lists the topics.

Only tiles whose points the server does not have are sent. Where the connection breaks, the
load goes on from there, for about a minute; repeating the command does the same.

Memory: without cutting, the largest cloud and 64 MiB. When points are cut, about 150 MiB
whatever their number, and 12 bytes a point in a file in --spill-dir that has no name and is
gone when the command ends in any way; but PCD and PLY ascii and PCD binary_compressed are
read whole, one at a time.

Examples:
  voxloc map load --server localhost:50051 --map town map.pcd
  voxloc map load --map town --tile-size 50 map.ply
  voxloc map load --map town --canary bus-7,bus-9 --comment "new bridge" map/
  voxloc map load --map yard --poses poses.txt scans/
  voxloc map load --map yard --bag drive.mcap --leaf 0.2 --scan-distance 2 --min-range 2
  voxloc map load --map yard --bag drive.mcap --point-times auto --scan-distance 2
  voxloc map load --map yard --wgs84-origin 48.13743,11.57549,519,90 yard.pcd)");
  AddMapFlag(command, &options->map, "Load this map")->required();
  AddOption(command, "--tile-size", options->tile_size_m, "S",
            "Cut the points into square tiles of S metres (1 to 1000000); 0: one tile per cloud, "
            "whatever its size, but not of a bag")
      ->check(CLI::Range(0.0, 1e6));
  AddOption(command, "--spill-dir", options->spill_dir, "DIR",
            "Keep points that are being cut in this directory; default: the system's for temporary "
            "files");
  AddOption(command, "--poses", options->poses, "FILE",
            "Place each cloud by its pose map_T_cloud: 12 numbers of a 3x4 row-major matrix per "
            "line, in the order of the clouds; of a bag: by stamps, format tum");
  AddCalibrationFlag(command, &options->calibration);
  command->add_flag("--add", options->add,
                    "Keep the other tiles of the map; tiles with the same name are replaced");
  AddOption(command, "--profiles", options->profiles, "P,...",
            "Build the map for these profiles, separated by commas; default: all");
  AddDefaulted(
      command, "--cell-size", options->cell_size_m, "S",
      "Set the cell size of each profile's score stage, metres (0.1 to 100); 0: the profiles' own")
      ->check(CLI::Range(0.0, 100.0));
  AddOption(command, "--projector", options->projector, "FILE",
            "Read how x and y follow from latitude and longitude from this file, as Autoware "
            "writes it; default: map_projector_info.yaml in a PATH");
  AddNumbersFlag(command, "--wgs84-origin", kOriginNames, 2, 4,
                 "Put the map's origin at this latitude and longitude (degrees, WGS84) and "
                 "altitude (metres), its x axis YAW degrees from east, counterclockwise; "
                 "default: ALT 0, YAW 0",
                 &options->wgs84_origin);
  AddCommitFlags(command, &options->commit);
  AddServerFlags(command, &options->server);
  // A bag does not go with a PATH.
  CLI::Option* bag = AddBagFlags(command, &options->bag);
  AddPoseFlag(command, "--base-t-sensor",
              "Place the sensor on the vehicle, whose poses are given, by this pose, metres and "
              "degrees, ROS angles; default: by the transforms of the bag, or the poses are the "
              "sensor's",
              &options->base_T_sensor);
  AddDefaulted(command, "--scan-distance", options->scan_distance_m, "M",
               "Take a scan of a bag only where the vehicle is M metres from the last one taken")
      ->check(CLI::Range(0.0, 1e6))
      ->needs(bag);
  AddDefaulted(
      command, "--point-times", options->point_times, "FIELD",
      "Move each point of a scan of a bag to where it is seen from at the scan's stamp, by "
      "the poses and the points' times: `auto` for the first field that is known, or the "
      "name of a field; `none`: as recorded")
      ->needs(bag);
  AddScanFlags(command, &options->scan);
  for (const char* name : {"--leaf", "--points", "--min-range", "--max-range", "--seed"}) {
    command->get_option(name)->needs(bag);
  }
  CLI::Option* path =
      command->add_option("PATH", options->paths, "Load these clouds and directories")->required();
  bag->excludes(path);
  bag->each([path](const std::string& /*path*/) { path->required(false); });
  command->get_option("--calib")
      ->needs(command->get_option("--poses"))
      ->excludes(bag)
      ->excludes(command->get_option("--base-t-sensor"));
  command->callback([options, chosen] {
    if (!options->base_T_sensor.empty() && options->poses.empty() && options->bag.paths.empty()) {
      throw CLI::ValidationError("--base-t-sensor must come with --poses or --bag");
    }
    *chosen = [options] { return LoadMap(*options); };
  });
}

}  // namespace voxloc::cli
