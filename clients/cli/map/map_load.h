// SPDX-License-Identifier: Apache-2.0
//
// Loading a map: what looks wrong with its points, its frame on the earth, and the upload.

#ifndef VOXLOC_CLIENTS_CLI_MAP_MAP_LOAD_H_
#define VOXLOC_CLIENTS_CLI_MAP_MAP_LOAD_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/flags/server_flags.h"
#include "clients/cli/output/output.h"
#include "clients/cpp/map_upload.h"
#include "clients/dataset/cloud_sources.h"
#include "clients/dataset/tile_spill.h"
#include "core/cloud/point_cloud.h"
#include "voxloc/v1/map.pb.h"

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
  // The bounds of all points; without a finite point its min and max mean nothing.
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

  std::map<std::string, Cloud> clouds_;
  std::unordered_set<uint64_t> squares_;
  bool too_many_squares_ = false;
};

// How --wgs84-origin is typed.
constexpr char kOriginNames[] = "LAT,LON[,ALT[,YAW]]";

// The frame of a map by the flags --projector (a map_projector_info.yaml) and --wgs84-origin,
// either of which may be empty; nullopt: nothing says it. Without --projector it is that of a
// map_projector_info.yaml in one of the paths, and stderr says so. InvalidArgument: a malformed
// file, or two that differ.
[[nodiscard]] absl::StatusOr<std::optional<v1::MapFrame>> MapFrameOf(
    const std::string& projector, const std::string& wgs84_origin,
    const std::vector<std::string>& paths);

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
