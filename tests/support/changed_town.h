// SPDX-License-Identifier: Apache-2.0
//
// ChangedTown: a simulated town and a map of it. Vehicles drive the same streets several times,
// before and after one house is removed, built or moved. Parked cars differ in the map and in every
// pass. One thread at a time.

#ifndef VOXLOC_TESTS_SUPPORT_CHANGED_TOWN_H_
#define VOXLOC_TESTS_SUPPORT_CHANGED_TOWN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/sim/drive.h"
#include "clients/sim/world.h"
#include "core/engine/engine.h"
#include "core/engine/profile.h"
#include "core/estimate/map_fit/scan_fit.h"

namespace voxloc {

enum class TownChange {
  kNone,
  kRemoved,  // the house is in the map, and gone
  kBuilt,    // it is there, and not in the map
  kBack,     // it stands farther from the street than in the map
  kForward,  // nearer
};

struct ChangedTownOptions {
  uint64_t seed = 1;
  TownChange change = TownChange::kRemoved;
  double moved_by_m = 0.5;
  double changed_parking = 0.5;  // share of the parking places that differ, drawn for each pass
  double cars_per_km = 20.0;     // that drive, and are not in the map
  double pedestrians_per_km = 100.0;
  double size_m = 140.0;
  int rings = 32;
  int azimuth_steps = 900;
  double tile_size_m = 20.0;
  double drive_s = 40.0;        // of each pass, at up to 8 m/s
  double sample_every_s = 2.0;  // in a pass
  double map_spacing_m = 0.2;
};

class ChangedTown {
 public:
  struct Tile {
    std::string id;
    Bounds bounds;
    bool changed = false;  // whether the house is in it, as it was or as it is
    bool parking = false;  // whether a place in it was taken otherwise in the map
    TileFit fit;           // after the passes so far
  };

  // The map is one of this engine, for this profile; both must outlive the town.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<ChangedTown>> Make(
      Engine& engine, const Profile& profile, const ChangedTownOptions& options);

  struct PassReport {
    size_t scans = 0;
    size_t accepted = 0;
    double worst_error_m = 0.0;  // of the accepted ones
    double observe_s = 0.0;      // spent on comparing them with the map
  };
  enum class When { kBefore, kAfter };  // the house changed
  // Drives through the town once more: aligns a scan every so often, from 0.3 m beside the truth,
  // compares it with the map if it is accepted, and adds what it shows to the tiles.
  [[nodiscard]] absl::StatusOr<PassReport> Drive(When when);

  [[nodiscard]] const std::vector<Tile>& tiles() const { return tiles_; }
  // The tiles that scans were compared with, the worst first.
  [[nodiscard]] std::vector<const Tile*> Ranked() const;

 private:
  ChangedTown(Engine& engine, const Profile& profile, const ChangedTownOptions& options)
      : engine_(engine), profile_(profile), options_(options) {}

  [[nodiscard]] absl::Status Build();
  [[nodiscard]] absl::Status BuildMap(const sim::World& mapped);
  [[nodiscard]] absl::StatusOr<size_t> ChooseHouse(const sim::World& town) const;

  Engine& engine_;
  const Profile& profile_;
  const ChangedTownOptions options_;
  std::unique_ptr<sim::World> before_;  // with other cars than the map
  std::unique_ptr<sim::World> after_;
  std::vector<sim::DrivePose> poses_;
  std::shared_ptr<const ResidentMap> map_;
  std::vector<Tile> tiles_;
  uint64_t passes_ = 0;
};

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_CHANGED_TOWN_H_
