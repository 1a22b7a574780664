// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/flags/server_flags.h"
#include "clients/cli/map/map_load.h"
#include "clients/cli/map/map_load_plan.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/terminal.h"
#include "clients/cpp/map_upload.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

struct MapLoadFlags {
  ServerFlags server;
  CommitFlags commit;
  MapLoadInput input;
  std::string projector;     // a map_projector_info.yaml
  std::string wgs84_origin;  // LAT,LON[,ALT[,YAW]]
  bool add = false;
  std::string profiles;  // comma-separated
  double cell_size_m = 0.0;
};

v1::BeginUpdate BeginOf(const MapLoadFlags& options) {
  v1::BeginUpdate begin;
  begin.set_map(options.input.map);
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

absl::StatusOr<ExitCode> LoadMap(const MapLoadFlags& options) {
  const Stopwatch watch;
  v1::BeginUpdate begin = BeginOf(options);
  VOXLOC_ASSIGN_OR_RETURN(const std::optional<v1::MapFrame> frame,
                          MapFrameOf(options.projector, options.wgs84_origin, options.input.paths));
  if (frame.has_value()) *begin.mutable_frame() = *frame;
  VOXLOC_ASSIGN_OR_RETURN(MapLoadPlan plan, PlanLoad(options.input, frame));
  if (plan.tiles.empty()) {
    return absl::InvalidArgumentError("the map must have finite points (got none)");
  }
  size_t tiles = plan.tiles.size();
  const size_t skipped_before = plan.skipped->size();
  VOXLOC_ASSIGN_OR_RETURN(
      const client::UploadResult result,
      UploadWithProgress(options.server, options.commit, std::move(begin), std::move(plan.tiles)));
  const size_t skipped = plan.skipped->size() - skipped_before;
  tiles -= skipped + plan.bare->size();
  plan.clouds -= skipped;
  const double seconds = watch.seconds();
  const uint64_t not_finite = plan.points_not_finite + result.counts.points_not_finite;
  std::string text = absl::StrFormat(
      "map %s, revision %d: %s points, clouds %d, tiles %d, %.1f s\n%s", options.input.map,
      result.committed.map().revision(), GroupDigits(result.counts.points_kept + not_finite),
      plan.clouds, tiles, seconds, UploadNotes(result, options.commit.stages(), not_finite));
  if (!plan.skipped->empty()) {
    const bool chosen = !options.input.region.empty() || !options.input.above_ground.empty();
    absl::StrAppend(&text, "left out, since they have no finite point",
                    chosen ? " that is taken: " : ": ", absl::StrJoin(*plan.skipped, ", "), "\n");
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
with --tile-size, all points are cut into square tiles instead, and so they are into tiles
of 50 m where a cloud has over 5,000,000 points, unless --tile-size says otherwise.
The map is created or replaced in one step: vehicles use either the old map or the new one.

Where the map lies on the earth is kept with it: Autoware's map_projector_info.yaml of a
PATH that is a directory, or --projector, and --wgs84-origin. Where both are known the
projector decides, unless its type is Local. A map gets its frame once; another one is
refused. With --crs, the coordinates of a survey are transformed to that frame by PROJ
(package proj-bin), heights too where the system says what they are above.

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
  voxloc map load --map yard --wgs84-origin 48.13743,11.57549,519,90 yard.pcd
  voxloc map load --map town --crs auto --projector map_projector_info.yaml survey/
  voxloc map load --map town --tile-size 50 --above-ground 0,12 survey.las
  voxloc map load --map town --leaf 0.1 --region 0,0,-5,900,900,20 survey.las)");
  AddMapFlag(command, &options->input.map, "Load this map")->required();
  AddOption(command, "--tile-size", options->input.tile_size_m, "S",
            "Cut the points into square tiles of S metres (1 to 1000000); 0: one tile per cloud, "
            "whatever its size, but not of a bag")
      ->check(CLI::Range(0.0, 1e6));
  AddOption(command, "--spill-dir", options->input.spill_dir, "DIR",
            "Keep points that are being cut in this directory; default: the system's for temporary "
            "files");
  AddOption(command, "--poses", options->input.poses, "FILE",
            "Place each cloud by its pose map_T_cloud: 12 numbers of a 3x4 row-major matrix per "
            "line, in the order of the clouds; of a bag: by stamps, format tum");
  AddCalibrationFlag(command, &options->input.calibration);
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
  CLI::Option* crs = AddOption(
      command, "--crs", options->input.crs, "CRS",
      "Transform coordinates of this coordinate reference system, EPSG:CODE, with heights "
      "EPSG:CODE+CODE or EPSG:CODE+ellipsoidal, or WKT, to the map's frame, which --projector or "
      "--wgs84-origin gives; `auto`: of the one that each LAS file states");
  command
      ->add_flag("--keep-heights", options->input.keep_heights,
                 "Take heights of the coordinate reference system as they are, in metres, whatever "
                 "they are above")
      ->needs(crs);
  AddBoxFlag(command, "--region",
             "Take only the points in the box between these corners, metres in the map's frame",
             &options->input.region);
  AddNumbersFlag(command, "--above-ground", kAboveGroundNames, 2, 2,
                 "Take only the points that are from MIN to MAX metres above the ground, which is "
                 "the lowest of the tile's points nearby",
                 &options->input.above_ground);
  AddNumbersFlag(command, "--wgs84-origin", kOriginNames, 2, 4,
                 "Put the map's origin at this latitude and longitude (degrees, WGS84) and "
                 "altitude (metres), its x axis YAW degrees from east, counterclockwise; "
                 "default: ALT 0, YAW 0",
                 &options->wgs84_origin);
  AddCommitFlags(command, &options->commit);
  AddServerFlags(command, &options->server);
  // A bag does not go with a PATH.
  CLI::Option* bag = AddBagFlags(command, &options->input.bag);
  AddPoseFlag(command, "--base-t-sensor",
              "Place the sensor on the vehicle, whose poses are given, by this pose, metres and "
              "degrees, ROS angles; default: by the transforms of the bag, or the poses are the "
              "sensor's",
              &options->input.base_T_sensor);
  AddDefaulted(command, "--scan-distance", options->input.scan_distance_m, "M",
               "Take a scan of a bag only where the vehicle is M metres from the last one taken")
      ->check(CLI::Range(0.0, 1e6))
      ->needs(bag);
  AddDefaulted(
      command, "--point-times", options->input.point_times, "FIELD",
      "Move each point of a scan of a bag to where it is seen from at the scan's stamp, by "
      "the poses and the points' times: `auto` for the first field that is known, or the "
      "name of a field; `none`: as recorded")
      ->needs(bag);
  AddScanFlags(command, &options->input.scan);
  for (const char* name : {"--points", "--min-range", "--max-range", "--seed"}) {
    command->get_option(name)->needs(bag);
  }
  CLI::Option* path =
      command->add_option("PATH", options->input.paths, "Load these clouds and directories")
          ->required();
  bag->excludes(path);
  bag->each([path](const std::string& /*path*/) { path->required(false); });
  crs->excludes(bag)->excludes(command->get_option("--poses"));
  command->get_option("--calib")
      ->needs(command->get_option("--poses"))
      ->excludes(bag)
      ->excludes(command->get_option("--base-t-sensor"));
  command->callback([options, chosen] {
    if (!options->input.base_T_sensor.empty() && options->input.poses.empty() &&
        options->input.bag.paths.empty()) {
      throw CLI::ValidationError("--base-t-sensor must come with --poses or --bag");
    }
    *chosen = [options] { return LoadMap(*options); };
  });
}

}  // namespace voxloc::cli
