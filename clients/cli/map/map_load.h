// SPDX-License-Identifier: Apache-2.0
//
// Loading a map: the tiles that it is to be made of, cut from points with little memory or taken
// from a recorded drive, whose scans are thinned and moved by their poses; what looks wrong with
// the points; and the upload.

#ifndef VOXLOC_CLIENTS_CLI_MAP_MAP_LOAD_H_
#define VOXLOC_CLIENTS_CLI_MAP_MAP_LOAD_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/flags/scan_flags.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/terminal.h"
#include "clients/cpp/map_upload.h"
#include "clients/dataset/cloud_sources.h"
#include "clients/dataset/tile_spill.h"
#include "core/cloud/point_cloud.h"

namespace CLI {
class App;
}

namespace voxloc::cli {

// Statistics of a map that is being loaded: bounds, density, and warnings about suspicious values.
// Memory: 100 bytes a cloud, and 32 bytes for each 5 m x 5 m that has a point, up to 128 MiB. For
// one thread.
class MapSurvey {
 public:
  // Forgets the cloud's points, if it had any: it is read again. `declared`: where the map's
  // metadata says that they lie. `placed`: its pose was given.
  void Begin(const std::string& cloud, const std::optional<XyBounds>& declared = std::nullopt,
             bool placed = false);
  // Points of the cloud, in the map's frame. Those that are not finite do not count.
  void Add(const std::string& cloud, const PointCloud& points);

  // Finite points.
  [[nodiscard]] uint64_t points() const;
  [[nodiscard]] uint64_t PointsOf(const std::string& cloud) const;
  // Of all points; no finite point: its min and max mean nothing.
  [[nodiscard]] Bounds bounds() const;
  // Points on each square metre, of the squares of 5 m that have any. nullopt: there are none, or
  // more squares than are counted.
  [[nodiscard]] std::optional<double> density_per_m2() const;
  // What looks wrong, a sentence each: bounds out of proportion, a map on its side, clouds on top
  // of each other, clouds outside of their metadata's bounds, coordinates in coarse steps.
  [[nodiscard]] std::vector<std::string> Warnings() const;

  // Lines: extent, bounds and density, then the warnings.
  [[nodiscard]] std::string Text() const;
  // `extent_m` and `bounds` (null without points), `points_per_m2` (null: not known), `doubts`.
  void AddTo(Json* json) const;

 private:
  struct Cloud {
    Bounds bounds;
    float largest_offset_m = 0.0F;
    std::optional<XyBounds> declared;
    uint64_t outside_declared = 0;
    bool placed = false;
  };

  void AddStackWarning(const Bounds& all, std::vector<std::string>& warnings) const;
  void AddMetadataWarning(std::vector<std::string>& warnings) const;
  void AddStepsWarning(std::vector<std::string>& warnings) const;

  std::map<std::string, Cloud> clouds_;
  std::unordered_set<uint64_t> squares_;
  bool too_many_squares_ = false;
};

struct MapLoadPlan {
  std::vector<client::UploadTile> tiles;
  size_t clouds = 0;
  uint64_t points_not_finite = 0;  // that are in none of the tiles
  // Of what has been read: all of it once the tiles are loaded.
  std::shared_ptr<MapSurvey> survey = std::make_shared<MapSurvey>();
  InputNotes notes;
  // Files of directories that have no finite point: their tiles load without one.
  std::shared_ptr<std::set<std::string>> skipped = std::make_shared<std::set<std::string>>();
};

// Cuts points into the tiles of one grid, through a TileSpill, and shows how far it is.
class TileCutter {
 public:
  // `clouds`: how many will be added.
  TileCutter(const std::string& map, size_t clouds, TileSpill spill);

  // A piece of a cloud, in the map's frame. As TileSpill::Add.
  [[nodiscard]] absl::Status Add(const PointCloud& piece);
  // The last piece of a cloud has been added.
  void EndCloud() { ++plan_.clouds; }

  // Once. The tiles hold the points' file until they are gone.
  [[nodiscard]] absl::StatusOr<MapLoadPlan> Finish();

 private:
  void ShowProgress();

  const std::string label_;
  const size_t clouds_;
  const std::shared_ptr<TileSpill> spill_;
  MapLoadPlan plan_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  LiveLine line_{3.0, 0.1};
};

struct MapBagFlags {
  bag::DriveOptions bag;
  ScanFlags scan;
  std::string base_T_sensor;     // X,Y,Z,ROLL,PITCH,YAW; empty: by the bag's frames
  double scan_distance_m = 0.0;  // between the scans that are taken; 0: all
};

// --bag, its topics and frames, and what is done to each scan. A bag does not go with a PATH.
void AddMapBagFlags(CLI::App* command, MapBagFlags* flags);

// `poses_file`: tum; empty: the bag's poses. Memory: that of TileSpill, one scan, and what
// bag::Drive needs.
[[nodiscard]] absl::StatusOr<MapLoadPlan> PlanBagLoad(const std::string& map,
                                                      const MapBagFlags& flags,
                                                      const std::string& poses_file,
                                                      const TileSpill::Options& spill);

// An upload as people see it in progress:
// "loading town [#####.....] 120 of 240 tiles, 80 there already, 45.0 MiB sent, 12.0 MiB/s, 3 s
// left", `seconds` after the start. A function of its own for the tests.
[[nodiscard]] std::string UploadText(const std::string& label, size_t tiles,
                                     const client::UploadProgress& progress, double seconds,
                                     bool bar);

// Uploads the tiles to the map of `begin`, commits them as the flags say, and shows the progress.
// Retries lost connections for about a minute.
[[nodiscard]] absl::StatusOr<client::UploadResult> UploadWithProgress(
    const ServerFlags& server, const CommitFlags& flags, v1::BeginUpdate begin,
    std::vector<client::UploadTile> tiles);

// What came of it apart from the counts: nothing new, staged, sent, dropped. Lines, or none.
[[nodiscard]] std::string UploadNotes(const client::UploadResult& result, bool staged,
                                      uint64_t points_not_finite);

// `map`, and what was sent.
[[nodiscard]] Json UploadJson(const client::UploadResult& result);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_MAP_MAP_LOAD_H_
