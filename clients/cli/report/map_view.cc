// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/report/map_view.h"

#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/escaping.h"
#include "clients/cli/report/every_nth.h"
#include "clients/cli/report/packing.h"

namespace voxloc::cli {
namespace {

// Cells are packed in blocks of this edge, whose corners lie near enough to their middle (IsNear).
constexpr double kBlock_m = 256.0;

Json LayerJson(const MapViewLayer& layer) {
  std::map<std::array<double, 3>, std::pair<size_t, std::string>> blocks;
  for (const ViewCell& cell : layer.cells) {
    const Eigen::Vector3d middle =
        kBlock_m * ((cell.mean_map / kBlock_m).array().floor() + 0.5).matrix();
    auto& [count, bytes] = blocks[{middle.x(), middle.y(), middle.z()}];
    AppendCell(cell.mean_map - middle, cell.covariance_map, &bytes);
    ++count;
  }
  Json packed = Json::array();
  for (const auto& [middle, block] : blocks) {
    packed.push_back(
        {{"origin", middle}, {"count", block.first}, {"base64", absl::Base64Escape(block.second)}});
  }
  return {{"name", layer.name},         {"color", layer.color},        {"cubes", layer.cubes},
          {"edge_m", layer.edge_m},     {"count", layer.cells.size()}, {"cells_of", layer.cells_of},
          {"blocks", std::move(packed)}};
}

Json PointJson(const Eigen::Vector3d& point) { return {point.x(), point.y(), point.z()}; }

Json TileJson(const MapViewTile& tile, const ThinnedPoints::PackedTile& packed) {
  const bool has_bounds = tile.bounds.finite_points > 0;
  return {{"id", tile.id},
          {"points", tile.points},
          {"min", has_bounds ? PointJson(tile.bounds.min) : Json(nullptr)},
          {"max", has_bounds ? PointJson(tile.bounds.max) : Json(nullptr)},
          {"info", tile.info},
          {"changed_at_ns", tile.changed_at_ns},
          {"origin", PointJson(packed.origin_map)},
          {"exponent", packed.exponent},
          {"levels", packed.level_points},
          {"base64", absl::Base64Escape(packed.bytes)}};
}

}  // namespace

MapViewLayer CubeLayer(const std::string& name, const std::string& color, double edge_m,
                       const std::vector<Eigen::Vector3d>& middles_map) {
  EveryNth<ViewCell> sample(kMaxLayerCells);
  for (const Eigen::Vector3d& middle : middles_map) {
    sample.Offer({middle, 0.25 * edge_m * edge_m * Eigen::Matrix3d::Identity()});
  }
  return {name, color, /*cubes=*/true, edge_m, sample.Take(), middles_map.size()};
}

void MapView::AddTile(const std::string& id, const PointCloud& cloud_map) {
  MapViewTile& tile = tiles.emplace_back();
  tile.id = id;
  tile.points = cloud_map.size();
  tile.bounds = ComputeBounds(cloud_map);
  points.AddTile(cloud_map);
}

std::string MapHtml(const MapView& view) {
  Json tiles = Json::array();
  const std::vector<ThinnedPoints::PackedTile> packed = view.points.Pack();
  for (size_t i = 0; i < packed.size(); ++i) tiles.push_back(TileJson(view.tiles[i], packed[i]));
  return PageWithData(MapPage(), {{"headline", view.headline},
                                  {"subline", view.subline},
                                  {"tiles", std::move(tiles)},
                                  {"layers", ListJson(view.layers, &LayerJson)},
                                  {"sessions", view.sessions},
                                  {"places", view.places},
                                  {"proposal", view.proposal},
                                  {"notes", view.notes},
                                  {"made_at_ns", view.made_at_ns},
                                  {"client_version", view.client_version}});
}

}  // namespace voxloc::cli
