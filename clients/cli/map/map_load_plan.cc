// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/map/map_load_plan.h"

#include <CLI/CLI.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/flags/value_flag.h"
#include "clients/cli/output/text_table.h"
#include "clients/dataset/bag/drive.h"
#include "clients/dataset/stamp_text.h"
#include "core/cloud/filters.h"
#include "core/status/try.h"

namespace voxloc::cli {

TileCutter::TileCutter(const std::string& map, size_t clouds, TileSpill spill)
    : label_(absl::StrCat("cutting ", map)),
      clouds_(clouds),
      spill_(std::make_shared<TileSpill>(std::move(spill))) {}

absl::StatusOr<std::unique_ptr<TileCutter>> TileCutter::Create(const std::string& map,
                                                               size_t clouds,
                                                               const TileSpill::Options& options) {
  VOXLOC_ASSIGN_OR_RETURN(TileSpill spill, TileSpill::Create(options));
  return std::unique_ptr<TileCutter>(new TileCutter(map, clouds, std::move(spill)));
}

absl::Status TileCutter::Add(const PointCloud& piece) {
  VOXLOC_TRY(spill_->Add(piece));
  plan_.survey->Add(absl::StrCat(plan_.clouds), piece);
  ShowProgress();
  return absl::OkStatus();
}

void TileCutter::ShowProgress() {
  if (!line_.due()) return;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const uint64_t points = spill_->points();
  line_.Show(absl::StrFormat("%s: %d of %d clouds, %s points, %.1f million a second", label_,
                             plan_.clouds, clouds_, Grouped(points),
                             static_cast<double>(points) * 1e-6 / seconds));
}

absl::StatusOr<MapLoadPlan> TileCutter::Finish() {
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

void AddMapBagFlags(CLI::App* command, MapBagFlags* flags) {
  CLI::Option* bag = AddBagFlags(command, &flags->bag);
  AddPoseFlag(command, "--base-t-sensor",
              "Place the sensor on the vehicle, whose poses are given, by this pose, metres and "
              "degrees, ROS angles; default: by the transforms of the bag, or the poses are the "
              "sensor's",
              &flags->base_T_sensor);
  AddDefaulted(command, "--scan-distance", flags->scan_distance_m, "M",
               "Take a scan of a bag only where the vehicle is M metres from the last one taken")
      ->check(CLI::Range(0.0, 1e6))
      ->needs(bag);
  AddScanFlags(command, &flags->scan);
  for (const char* name : {"--leaf", "--points", "--min-range", "--max-range", "--seed"}) {
    command->get_option(name)->needs(bag);
  }
}

absl::StatusOr<MapLoadPlan> PlanBagLoad(const std::string& map, const MapBagFlags& flags,
                                        const std::string& poses_file,
                                        const TileSpill::Options& spill) {
  BagDriveFlags drive_flags;
  drive_flags.poses_file = poses_file;
  drive_flags.base_T_sensor = flags.base_T_sensor;
  VOXLOC_ASSIGN_OR_RETURN(const std::unique_ptr<bag::Drive> drive,
                          OpenDrive(flags.bag, drive_flags));
  VOXLOC_ASSIGN_OR_RETURN(const std::unique_ptr<bag::DriveClouds> clouds, drive->ReadClouds());
  const std::vector<bag::DriveScan>& scans = drive->scans();
  VOXLOC_ASSIGN_OR_RETURN(const std::unique_ptr<TileCutter> cutter,
                          TileCutter::Create(map, scans.size(), spill));
  const FilterOptions filter = flags.scan.filter();
  const std::optional<Pose>& base_T_sensor = drive->base_T_sensor();
  std::optional<Pose> last_map_T_base;
  for (const bag::DriveScan& scan : scans) {
    VOXLOC_ASSIGN_OR_RETURN(const PointCloud cloud, clouds->Next());
    if (last_map_T_base.has_value() &&
        TranslationDistance(*last_map_T_base, scan.map_T_base) < flags.scan_distance_m) {
      continue;
    }
    last_map_T_base = scan.map_T_base;
    const absl::StatusOr<FilteredCloud> thinned = FilterCloud(cloud, filter);
    absl::Status status = thinned.status();
    if (status.ok()) {
      const Pose map_T_sensor =
          base_T_sensor.has_value() ? scan.map_T_base * *base_T_sensor : scan.map_T_base;
      status = cutter->Add(Transform(map_T_sensor, thinned->cloud));
    }
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat("the scan with the stamp ",
                                                      SecondsFromNanoseconds(scan.stamp_ns),
                                                      " s: ", status.message()));
    }
    cutter->EndCloud();
  }
  return cutter->Finish();
}

}  // namespace voxloc::cli
