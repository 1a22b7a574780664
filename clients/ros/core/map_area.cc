// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/map_area.h"

#include <chrono>
#include <cmath>
#include <future>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cpp/map_client.h"
#include "clients/cpp/map_upload.h"
#include "clients/cpp/messages.h"
#include "clients/pointcloud2/cloud_encoding.h"
#include "clients/ros/core/result_outputs.h"
#include "clients/ros/core/session_request.h"
#include "core/status/try.h"

namespace voxloc::ros {
namespace {

// For each answer of the server, and each message of a stream.
constexpr double kServerTimeoutS = 30.0;
// After so many broken connections the update fails; the next one resumes.
constexpr int kAttempts = 2;
// Selects all heights. Finite, since the server rejects infinity.
constexpr double kAnyHeightM = 1e6;

}  // namespace

bool MapArea::Check(bool is_activated, const std::optional<Eigen::Vector3d>& position_map,
                    StatusReport& report) {
  report.SetBool("is_activated", is_activated);
  if (!is_activated) {
    report.Warn("the node is not activated");
    return false;
  }
  report.SetBool("is_set_last_update_position", position_map.has_value());
  if (!position_map.has_value()) {
    report.Warn("no pose has come on ekf_pose_with_covariance, so that there is no place to load");
    return false;
  }
  if (!last_position_map_.has_value()) {
    last_position_map_ = position_map;
    return true;
  }
  const double distance_m = std::hypot(position_map->x() - last_position_map_->x(),
                                       position_map->y() - last_position_map_->y());
  report.SetDouble("distance_last_update_position_to_current_position", distance_m);
  if (distance_m + parameters_.lidar_radius > parameters_.map_radius) {
    report.Error("the map around the vehicle is not loaded as fast as the vehicle moves");
  }
  if (distance_m <= parameters_.update_distance) return false;
  last_position_map_ = position_map;
  return true;
}

absl::StatusOr<PointCloud2> FetchMapAround(const client::Channel& channel, const std::string& map,
                                           const Eigen::Vector3d& position_map, double radius_m,
                                           const Header& header) {
  v1::GetTilesRequest request;
  request.set_map(map);
  const Eigen::Vector3d reach(radius_m, radius_m, kAnyHeightM);
  client::EncodeVector(position_map - reach, request.mutable_region()->mutable_min());
  client::EncodeVector(position_map + reach, request.mutable_region()->mutable_max());
  PointCloud2 cloud = XyzCloud(header, PointCloud());
  const auto add = [&cloud, &header](const v1::TileInfo&, PointCloud tile_map) {
    if (cloud.width + tile_map.size() > kMaxLoadedMapPoints) return absl::OkStatus();
    const PointCloud2 tile = XyzCloud(header, tile_map);
    cloud.data.insert(cloud.data.end(), tile.data.begin(), tile.data.end());
    cloud.width += tile.width;
    return absl::OkStatus();
  };
  VOXLOC_TRY(client::MapClient(channel).GetTiles(request, add, kServerTimeoutS).status());
  return cloud;
}

absl::StatusOr<MapFeeder::LoadedArea> MapFeeder::LoadArea(absl::StatusOr<MapLoader::Area> area) {
  if (!area.ok()) return area.status();
  CloudEncodingOptions options;
  options.encoding = CloudEncoding::kFloat32;
  LoadedArea loaded;
  loaded.ids_to_remove = area->ids_to_remove.size();
  for (const MapLoader::Tile& tile : area->tiles_to_add) {
    const absl::StatusOr<EncodedCloud> encoded =
        EncodeCloud(tile.points_map, std::nullopt, options);
    if (!encoded.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("tile '", tile.cell_id, "': ", encoded.status().message()));
    }
    PointCloud points_map;
    VOXLOC_TRY(client::DecodePoints(encoded->cloud, &points_map));
    // The loader gives a tile that it could not read as one without points.
    if (!points_map.empty()) loaded.tiles.push_back({tile.cell_id, std::move(points_map)});
  }
  return loaded;
}

absl::Status MapFeeder::FetchTileIds() {
  v1::ListTilesRequest request;
  request.set_map(parameters_.voxloc.map_feeder_map);
  const absl::StatusOr<v1::ListTilesResponse> tiles =
      client::MapClient(channel_).ListTiles(request, kServerTimeoutS);
  map_exists_ = tiles.ok();
  if (!tiles.ok() && tiles.status().code() != absl::StatusCode::kNotFound) return tiles.status();
  ids_.emplace();
  if (!tiles.ok()) return absl::OkStatus();
  for (const v1::TileInfo& tile : tiles->tiles()) ids_->insert(tile.tile_id());
  return absl::OkStatus();
}

absl::StatusOr<MapFeeder::LoadedArea> MapFeeder::RequestArea(const Eigen::Vector3d& position_map) {
  MapAreaRequest request;
  request.center_x = static_cast<float>(position_map.x());
  request.center_y = static_cast<float>(position_map.y());
  request.radius = static_cast<float>(parameters_.dynamic_map_loading.map_radius);
  request.cached_ids.assign(ids_->begin(), ids_->end());
  // Outlives this object if the answer comes late.
  auto promise = std::make_shared<std::promise<absl::StatusOr<LoadedArea>>>();
  std::future<absl::StatusOr<LoadedArea>> loaded = promise->get_future();
  loader_.Request(request, [promise](absl::StatusOr<MapLoader::Area> area) {
    promise->set_value(LoadArea(std::move(area)));
  });
  // How often the wait checks for Cancel.
  constexpr auto kPollInterval = std::chrono::milliseconds(100);
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(kLoaderTimeoutS);
  while (loaded.wait_for(kPollInterval) != std::future_status::ready) {
    if (cancelled_) return absl::CancelledError("the node is being shut down");
    if (std::chrono::steady_clock::now() >= until) {
      return absl::DeadlineExceededError(
          absl::StrCat("pcd_loader_service has not answered within ", kLoaderTimeoutS, " s"));
    }
  }
  return loaded.get();
}

absl::Status MapFeeder::Upload(std::vector<LoadedTile> tiles) {
  client::UploadOptions options;
  options.transaction.begin =
      BeginUpdateFrom(parameters_, parameters_.voxloc.map_feeder_map, map_exists_);
  options.transaction.timeout_s = kServerTimeoutS;
  options.reconnect.max_attempts = kAttempts;
  std::vector<client::UploadTile> uploads;
  for (LoadedTile& tile : tiles) {
    auto points = std::make_shared<const PointCloud>(std::move(tile.points_map));
    uploads.push_back(
        {tile.id, [points]() -> absl::StatusOr<PointCloud> { return *points; }, std::nullopt});
  }
  VOXLOC_ASSIGN_OR_RETURN(const client::UploadResult result,
                          client::UploadTiles(channel_, std::move(uploads), options));
  map_exists_ = true;
  for (const LoadedTile& tile : tiles) ids_->insert(tile.id);
  return absl::OkStatus();
}

absl::Status MapFeeder::Update(const Eigen::Vector3d& position_map, StatusReport& report) {
  const std::lock_guard<std::mutex> updating(update_mutex_);
  // The server changes maps without a rebuild.
  report.SetBool("is_need_rebuild", false);
  if (!ids_.has_value()) {
    if (absl::Status status = FetchTileIds(); !status.ok()) {
      report.Warn(absl::StrCat("the server's tiles are not known: ", status.message()));
      return status;
    }
  }
  report.SetInt("maps_size_before", ids_->size());
  absl::StatusOr<LoadedArea> area =
      loader_.IsReady()
          ? RequestArea(position_map)
          : absl::UnavailableError("pcd_loader_service is not there; check pointcloud_map_loader");
  report.SetBool("is_succeed_call_pcd_loader", area.ok());
  if (!area.ok()) {
    report.Warn(area.status().message());
    return area.status();
  }
  report.SetInt("maps_to_add_size", area->tiles.size());
  report.SetInt("maps_to_remove_size", area->ids_to_remove);
  const bool adds = !area->tiles.empty();
  absl::Status status;
  if (adds) {
    const auto start = std::chrono::steady_clock::now();
    status = Upload(std::move(area->tiles));
    report.SetDouble("map_update_execution_time", std::chrono::duration<double, std::milli>(
                                                      std::chrono::steady_clock::now() - start)
                                                      .count());
    report.SetInt("maps_size_after", ids_->size());
    // The map may have been dropped: list its tiles again next time.
    if (!status.ok()) ids_.reset();
  }
  report.SetBool("is_updated_map", status.ok() && adds);
  if (!status.ok()) report.Error(absl::StrCat("the map was not updated: ", status.message()));
  return status;
}

}  // namespace voxloc::ros
