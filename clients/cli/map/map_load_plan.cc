// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/map/map_load_plan.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/terminal.h"
#include "clients/dataset/tile_spill.h"
#include "core/cloud/filters.h"
#include "core/cloud/ground.h"
#include "core/cloud/io/cloud_file.h"
#include "core/cloud/io/cloud_pieces.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

// Where a cloud has more points, all are cut: 60 MB as they are sent. A tile is what the server
// replaces, checks and keeps as one, and what is in memory as one here.
constexpr uint64_t kMaxTile_points = 5'000'000;

absl::StatusOr<CloudPieceReader> OpenPieces(const TileSource& source) {
  CloudPieceOptions options;
  options.read = ReadOptionsOf(source);
  return CloudPieceReader::Open(source.path, options);
}

// The size of the tiles that the points are to be cut into; 0: one tile per cloud.
absl::StatusOr<double> TileSizeOf(const MapLoadInput& input,
                                  const std::vector<TileSource>& sources) {
  if (input.tile_size_m.has_value()) return *input.tile_size_m;
  for (const TileSource& source : sources) {
    const absl::StatusOr<CloudFileInfo> info = InspectCloud(source.path, ReadOptionsOf(source));
    // What a map's metadata bounds has been cut already; an unreadable file is reported later.
    if (source.bounds.has_value() || !info.ok() || info->points <= kMaxTile_points) continue;
    absl::FPrintF(
        stderr, "%s has %s%s points: all are cut into tiles of %g m (--tile-size 0: as they are)\n",
        source.path, info->format == CloudFormat::kText ? "about " : "", GroupDigits(info->points),
        client::kTileSize_m);
    return client::kTileSize_m;
  }
  return 0.0;
}

absl::StatusOr<TileSpill> CreateSpill(const MapLoadInput& input, double tile_size_m) {
  TileSpill::Options spill;
  spill.tile_size_m = tile_size_m;
  spill.directory = input.spill_dir;
  return TileSpill::Create(spill);
}

absl::Status NoPoints() {
  return absl::InvalidArgumentError("the map must have finite points (got none)");
}

// What is taken of points in the map's frame: those in a box, and of a tile those in a range of
// heights above its ground, or the centroids of their voxels.
struct PointChoice {
  std::optional<FilterOptions::Box> region;
  std::optional<GroundRange> above_ground;
  double leaf_m = 0.0;  // 0: all points

  [[nodiscard]] absl::StatusOr<PointCloud> Crop(PointCloud points) const {
    if (!region.has_value()) return points;
    FilterOptions filter;
    filter.box = region;
    VOXLOC_ASSIGN_OR_RETURN(FilteredCloud inside, FilterCloud(points, filter));
    return std::move(inside.cloud);
  }
  [[nodiscard]] absl::StatusOr<PointCloud> TakeOf(PointCloud tile) const {
    if (above_ground.has_value()) {
      VOXLOC_ASSIGN_OR_RETURN(tile, CropAboveGround(tile, *above_ground));
    }
    if (leaf_m == 0.0 || tile.empty()) return tile;
    return VoxelDownsample(tile, leaf_m);
  }
};

absl::StatusOr<PointChoice> ChoiceOf(const MapLoadInput& input) {
  PointChoice choice;
  if (!input.region.empty()) {
    v1::Box box;
    VOXLOC_TRY(ParseBox(input.region, &box));
    choice.region = {{box.min().x(), box.min().y(), box.min().z()},
                     {box.max().x(), box.max().y(), box.max().z()}};
  }
  if (!input.above_ground.empty()) {
    VOXLOC_ASSIGN_OR_RETURN(const std::vector<double> limits_m,
                            ParseNumbers(input.above_ground, kAboveGroundNames, 2, 2));
    choice.above_ground = {limits_m[0], limits_m[1]};
    if (limits_m[0] < 0.0 || limits_m[0] > limits_m[1]) {
      return absl::InvalidArgumentError(absl::StrCat("--above-ground ", kAboveGroundNames,
                                                     " must be from 0 and ascend (got ",
                                                     input.above_ground, ")"));
    }
  }
  // The scans of a bag are thinned one by one.
  if (input.bag.paths.empty()) choice.leaf_m = input.scan.leaf_m;
  return choice;
}

// Cuts points into the tiles of one grid, so that points of several clouds meet in the same tile,
// through a TileSpill, and shows how far it is.
class TileCutter {
 public:
  // `clouds`: how many will be added.
  TileCutter(const std::string& map, size_t clouds, const PointChoice& choice, TileSpill spill)
      : map_(map),
        clouds_(clouds),
        choice_(choice),
        spill_(std::make_shared<TileSpill>(std::move(spill))) {}

  // A piece of a cloud, in the map's frame. As TileSpill::Add.
  absl::Status Add(PointCloud cloud_map) {
    VOXLOC_ASSIGN_OR_RETURN(const PointCloud piece, choice_.Crop(std::move(cloud_map)));
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
      const std::string id = spill_->Describe(index).id;
      const auto load = [spill = spill_, index, id, choice = choice_, bare = plan_.bare,
                         all = spill_->tiles().size()]() -> absl::StatusOr<PointCloud> {
        VOXLOC_ASSIGN_OR_RETURN(TileCloud tile, spill->Load(index));
        VOXLOC_ASSIGN_OR_RETURN(PointCloud taken, choice.TakeOf(std::move(tile.cloud)));
        if (taken.empty()) bare->insert(id);
        if (bare->size() == all) return NoPoints();
        return taken;
      };
      plan_.tiles.push_back({id, load, std::nullopt});
    }
    return std::move(plan_);
  }

 private:
  const std::string map_;
  const size_t clouds_;
  const PointChoice choice_;
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
    VOXLOC_ASSIGN_OR_RETURN(piece, PlaceInMap(source, std::move(piece)));
    if (absl::Status status = cutter.Add(std::move(piece)); !status.ok()) {
      return absl::Status(status.code(), absl::StrCat(source.path, ": ", status.message()));
    }
  }
  cutter.EndCloud();
  return absl::OkStatus();
}

// Memory: that of TileSpill, one scan, and what bag::Drive needs.
absl::StatusOr<MapLoadPlan> PlanBagLoad(const MapLoadInput& input, const PointChoice& choice) {
  bag::DriveOptions drive_options = input.bag;
  drive_options.poses_file = input.poses;
  VOXLOC_ASSIGN_OR_RETURN(const std::unique_ptr<bag::Drive> drive,
                          OpenDrive(std::move(drive_options), input.base_T_sensor));
  VOXLOC_ASSIGN_OR_RETURN(const std::unique_ptr<bag::DriveClouds> clouds, drive->ReadClouds());
  VOXLOC_ASSIGN_OR_RETURN(TileSpill spill,
                          CreateSpill(input, input.tile_size_m.value_or(client::kTileSize_m)));
  TileCutter cutter(input.map, drive->scans().size(), choice, std::move(spill));
  const std::optional<Pose>& base_T_sensor = drive->base_T_sensor();
  std::optional<Pose> last_map_T_base;
  const std::optional<ros::PointTimeChoice> times = PointTimesOf(input.point_times);
  size_t without_motion = 0;  // scans
  for (const bag::DriveScan& scan : drive->scans()) {
    VOXLOC_ASSIGN_OR_RETURN(const std::optional<PointCloud> cloud, clouds->NextDeskewed(times));
    if (last_map_T_base.has_value() &&
        TranslationDistance(*last_map_T_base, scan.map_T_base) < input.scan_distance_m) {
      continue;
    }
    without_motion += cloud.has_value() ? 0 : 1;
    if (!cloud.has_value()) continue;
    last_map_T_base = scan.map_T_base;
    const absl::StatusOr<FilteredCloud> thinned = FilterCloud(*cloud, input.scan.filter());
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
    const absl::StatusOr<CloudFileInfo> info = InspectCloud(source.path, ReadOptionsOf(source));
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

// One tile per cloud. Clouds of a directory without a finite point are skipped like empty ones, and
// so are clouds without one in the region or in the range above the ground.
void AddTilePerCloud(const std::vector<TileSource>& sources, const PointChoice& choice,
                     MapLoadPlan* plan) {
  plan->clouds = sources.size();
  const std::shared_ptr<MapSurvey> survey = plan->survey;
  const std::shared_ptr<std::set<std::string>> skipped = plan->skipped;
  const auto loaded = std::make_shared<std::set<std::string>>();
  const auto bare = std::make_shared<std::set<std::string>>();  // of which nothing is taken
  for (const TileSource& source : sources) {
    const auto load = [source, choice, survey, skipped, loaded, bare,
                       all = sources.size()]() -> absl::StatusOr<PointCloud> {
      VOXLOC_ASSIGN_OR_RETURN(PointCloud cloud, LoadTile(source));
      VOXLOC_ASSIGN_OR_RETURN(cloud, choice.Crop(std::move(cloud)));
      survey->Begin(source.id, source.bounds, source.map_T_cloud.has_value());
      survey->Add(source.id, cloud);
      loaded->insert(source.id);
      VOXLOC_ASSIGN_OR_RETURN(cloud, choice.TakeOf(std::move(cloud)));
      const bool may_be_empty =
          source.listed || choice.region.has_value() || choice.above_ground.has_value();
      if (!may_be_empty || (survey->PointsOf(source.id) > 0 && !cloud.empty())) return cloud;
      bare->insert(source.id);
      const bool no_points = loaded->size() == all && survey->points() == 0;
      if (no_points || bare->size() == all) return NoPoints();
      skipped->insert(source.path);
      return PointCloud();
    };
    plan->tiles.push_back({source.id, load, std::nullopt});
  }
}

}  // namespace

absl::StatusOr<MapLoadPlan> PlanLoad(const MapLoadInput& input,
                                     const std::optional<v1::MapFrame>& frame) {
  VOXLOC_ASSIGN_OR_RETURN(const PointChoice choice, ChoiceOf(input));
  if (!input.bag.paths.empty()) return PlanBagLoad(input, choice);
  MapSourceOptions source_options;
  source_options.poses = input.poses;
  source_options.record_floats = input.scan.record_floats;
  source_options.calibration = input.calibration;
  source_options.crs = input.crs;
  if (input.keep_heights) source_options.crs_heights = CrsHeights::kKeep;
  if (!input.crs.empty()) {
    if (!frame.has_value()) {
      return absl::InvalidArgumentError(
          "--crs must come with where the map lies: --projector FILE, or --wgs84-origin "
          "LAT,LON[,ALT[,YAW]]");
    }
    source_options.frame = *frame;
  }
  if (!input.base_T_sensor.empty()) {
    VOXLOC_ASSIGN_OR_RETURN(source_options.base_T_sensor, ParsePoseText(input.base_T_sensor));
  }
  MapLoadPlan plan;
  VOXLOC_ASSIGN_OR_RETURN(std::vector<TileSource> sources,
                          ResolveMapSources(input.paths, source_options, &plan.notes));
  absl::Status filled = SkipEmpty(&sources, &plan);
  PrintNotes(plan.notes);
  if (!filled.ok()) return filled;
  VOXLOC_ASSIGN_OR_RETURN(const double tile_size_m, TileSizeOf(input, sources));
  if (tile_size_m > 0.0) {
    VOXLOC_ASSIGN_OR_RETURN(TileSpill spill, CreateSpill(input, tile_size_m));
    TileCutter cutter(input.map, sources.size(), choice, std::move(spill));
    for (const TileSource& source : sources) VOXLOC_TRY(CutCloud(source, cutter));
    VOXLOC_ASSIGN_OR_RETURN(MapLoadPlan cut, cutter.Finish());
    cut.notes = std::move(plan.notes);
    cut.skipped = plan.skipped;
    return cut;
  }
  AddTilePerCloud(sources, choice, &plan);
  return plan;
}

}  // namespace voxloc::cli
