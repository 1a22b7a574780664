// SPDX-License-Identifier: Apache-2.0
//
// A map, or what changed from one map to another, as an HTML file that needs no network. Values and
// pure functions.

#ifndef VOXLOC_CLIENTS_CLI_REPORT_MAP_VIEW_H_
#define VOXLOC_CLIENTS_CLI_REPORT_MAP_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "clients/cli/output/output.h"
#include "clients/cli/report/report.h"
#include "clients/cli/report/thinned_points.h"
#include "core/cloud/point_cloud.h"

namespace voxloc::cli {

inline constexpr size_t kDefaultViewPoints = 2'000'000;
// 160 MB; more than that browsers do not read as one text.
inline constexpr size_t kMaxMapPoints = 20'000'000;
// Of a layer, 2.4 MB.
inline constexpr size_t kMaxLayerCells = 100'000;
// About 30 MB without their points.
inline constexpr size_t kMaxViewTiles = 100'000;

struct MapViewTile {
  std::string id;
  uint64_t points = 0;
  Bounds bounds;  // of its points, map frame
  // `revision`, `resident`, `damaged` and `fit` of its v1::TileInfo, as MessageJson gives them;
  // null: it is not a server's.
  Json info;
  // When its content was committed, nanoseconds since the Unix epoch; 0: not known.
  int64_t changed_at_ns = 0;
};

// Cells, or cubes, that are drawn in one colour.
struct MapViewLayer {
  std::string name;
  std::string color;    // of the style sheet, such as "--good"
  bool cubes = false;   // they are drawn as cubes, not as ellipsoids, of the size of the covariance
  double edge_m = 0.0;  // of the cells of the map, or the cubes
  std::vector<ViewCell> cells;
  size_t cells_of = 0;  // before thinning
};

// Cubes around their middles, of which at most kMaxLayerCells are shown.
[[nodiscard]] MapViewLayer CubeLayer(const std::string& name, const std::string& color,
                                     double edge_m,
                                     const std::vector<Eigen::Vector3d>& middles_map);

struct MapView {
  explicit MapView(size_t max_points) : points(max_points) {}

  // A tile and its points, which are thinned.
  void AddTile(const std::string& id, const PointCloud& cloud_map);

  std::string headline;
  std::string subline;
  std::vector<MapViewTile> tiles;
  ThinnedPoints points;  // of `tiles`, in their order
  std::vector<MapViewLayer> layers;
  Json sessions = Json::array();  // v1::SessionInfo as MessageJson gives them
  Json places = Json::array();    // that changed, as the JSON of voxloc map diff has them
  Json proposal;                  // evidence.json of voxloc map propose; null: none
  std::vector<std::string> notes;
  int64_t made_at_ns = 0;  // nanoseconds since the Unix epoch; ages count to it
  std::string client_version;
};

// 8 bytes a point, 24 a cell, and a few hundred a tile.
[[nodiscard]] std::string MapHtml(const MapView& view);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPORT_MAP_VIEW_H_
