// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/map_area.h"

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cpp/map_client.h"
#include "clients/cpp/map_upload.h"
#include "clients/cpp/messages.h"
#include "clients/pointcloud2/cloud_encoding.h"
#include "clients/ros/core/result_outputs.h"
#include "core/status/try.h"

namespace voxloc::ros {
namespace {

// For each message of the stream.
constexpr double kTimeoutS = 30.0;
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
  VOXLOC_TRY(client::MapClient(channel).GetTiles(request, add, kTimeoutS).status());
  return cloud;
}

namespace {

// For each answer of the server.
constexpr double kServerTimeoutS = 30.0;
// After so many broken connections the update fails; the next one resumes.
constexpr int kAttempts = 2;

struct LoadedTile {
  std::string id;
  PointCloud points_map;
};

struct LoadedArea {
  std::vector<LoadedTile> tiles;
  size_t ids_to_remove = 0;
};

absl::StatusOr<LoadedTile> LoadTile(const MapLoader::Tile& tile) {
  CloudEncodingOptions options;
  options.encoding = CloudEncoding::kFloat32;
  const absl::StatusOr<EncodedCloud> encoded = EncodeCloud(tile.points_map, std::nullopt, options);
  if (!encoded.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("tile '", tile.cell_id, "': ", encoded.status().message()));
  }
  LoadedTile loaded;
  loaded.id = tile.cell_id;
  VOXLOC_TRY(client::DecodePoints(encoded->cloud, &loaded.points_map));
  return loaded;
}

absl::StatusOr<LoadedArea> LoadArea(absl::StatusOr<MapLoader::Area> area) {
  if (!area.ok()) return area.status();
  LoadedArea loaded;
  loaded.ids_to_remove = area->ids_to_remove.size();
  for (const MapLoader::Tile& tile : area->tiles_to_add) {
    VOXLOC_ASSIGN_OR_RETURN(LoadedTile points, LoadTile(tile));
    // The loader gives a tile that it could not read as one without points.
    if (!points.points_map.empty()) loaded.tiles.push_back(std::move(points));
  }
  return loaded;
}

// What the loader's thread hands to the one that waits; it outlives both.
struct Delivery {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<absl::StatusOr<LoadedArea>> area;
};

}  // namespace

struct MapFeeder::Impl {
  Impl(const client::Channel& a_channel, const Parameters& some_parameters, MapLoader& a_loader)
      : channel(a_channel), parameters(some_parameters), loader(a_loader) {}

  // The ids of the tiles that the server has.
  absl::Status FetchTileIds();
  absl::StatusOr<LoadedArea> RequestArea(const Eigen::Vector3d& position_map);
  absl::Status Upload(std::vector<LoadedTile> tiles);

  const client::Channel channel;
  const Parameters& parameters;
  MapLoader& loader;
  // Of Update, which one thread calls at a time.
  std::mutex update_mutex;
  std::optional<std::set<std::string>> ids;  // nullopt: not known
  bool map_exists = false;

  std::mutex mutex;
  bool cancelled = false;
};

absl::Status MapFeeder::Impl::FetchTileIds() {
  v1::ListTilesRequest request;
  request.set_map(parameters.voxloc.map_feeder_map);
  const absl::StatusOr<v1::ListTilesResponse> tiles =
      client::MapClient(channel).ListTiles(request, kServerTimeoutS);
  map_exists = tiles.ok();
  if (!tiles.ok() && tiles.status().code() != absl::StatusCode::kNotFound) return tiles.status();
  ids.emplace();
  if (!tiles.ok()) return absl::OkStatus();
  for (const v1::TileInfo& tile : tiles->tiles()) ids->insert(tile.tile_id());
  return absl::OkStatus();
}

absl::StatusOr<LoadedArea> MapFeeder::Impl::RequestArea(const Eigen::Vector3d& position_map) {
  MapAreaRequest request;
  request.center_x = static_cast<float>(position_map.x());
  request.center_y = static_cast<float>(position_map.y());
  request.radius = static_cast<float>(parameters.dynamic_map_loading.map_radius);
  request.cached_ids.assign(ids->begin(), ids->end());
  auto delivery = std::make_shared<Delivery>();
  loader.Request(request, [delivery](absl::StatusOr<MapLoader::Area> area) {
    absl::StatusOr<LoadedArea> loaded = LoadArea(std::move(area));
    const std::lock_guard<std::mutex> lock(delivery->mutex);
    delivery->area = std::move(loaded);
    delivery->changed.notify_all();
  });
  // How often the wait checks for Cancel.
  constexpr auto kPollInterval = std::chrono::milliseconds(100);
  const auto until = std::chrono::steady_clock::now() +
                     std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                         std::chrono::duration<double>(kLoaderTimeoutS));
  std::unique_lock<std::mutex> lock(delivery->mutex);
  while (!delivery->area.has_value()) {
    delivery->changed.wait_for(lock, kPollInterval);
    const std::lock_guard<std::mutex> own(mutex);
    if (cancelled) return absl::CancelledError("the node is being shut down");
    if (std::chrono::steady_clock::now() >= until) {
      return absl::DeadlineExceededError(
          absl::StrCat("pcd_loader_service has not answered within ", kLoaderTimeoutS, " s"));
    }
  }
  return *std::move(delivery->area);
}

absl::Status MapFeeder::Impl::Upload(std::vector<LoadedTile> tiles) {
  client::UploadOptions options;
  v1::BeginUpdate& begin = options.transaction.begin;
  begin.set_map(parameters.voxloc.map_feeder_map);
  begin.set_create(true);
  if (!map_exists && parameters.ndt.resolution != NdtParameters().resolution) {
    begin.mutable_options()->mutable_cell_size_m()->set_value(parameters.ndt.resolution);
  }
  options.transaction.timeout_s = kServerTimeoutS;
  options.reconnect.max_attempts = kAttempts;
  std::vector<client::UploadTile> uploads;
  for (LoadedTile& tile : tiles) {
    auto points = std::make_shared<const PointCloud>(std::move(tile.points_map));
    uploads.push_back(
        {tile.id, [points]() -> absl::StatusOr<PointCloud> { return *points; }, std::nullopt});
  }
  VOXLOC_ASSIGN_OR_RETURN(const client::UploadResult result,
                          client::UploadTiles(channel, std::move(uploads), options));
  map_exists = true;
  for (const LoadedTile& tile : tiles) ids->insert(tile.id);
  return absl::OkStatus();
}

MapFeeder::MapFeeder(const client::Channel& channel, const Parameters& parameters,
                     MapLoader& loader)
    : impl_(std::make_unique<Impl>(channel, parameters, loader)) {}

MapFeeder::~MapFeeder() { Cancel(); }

void MapFeeder::Cancel() {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->cancelled = true;
}

absl::Status MapFeeder::Update(const Eigen::Vector3d& position_map, StatusReport& report) {
  const std::lock_guard<std::mutex> updating(impl_->update_mutex);
  // The server changes maps without a rebuild.
  report.SetBool("is_need_rebuild", false);
  if (!impl_->ids.has_value()) {
    if (absl::Status status = impl_->FetchTileIds(); !status.ok()) {
      report.Warn(absl::StrCat("the server's tiles are not known: ", status.message()));
      return status;
    }
  }
  report.SetInt("maps_size_before", static_cast<int64_t>(impl_->ids->size()));
  absl::StatusOr<LoadedArea> area =
      impl_->loader.IsReady()
          ? impl_->RequestArea(position_map)
          : absl::UnavailableError("pcd_loader_service is not there; check pointcloud_map_loader");
  report.SetBool("is_succeed_call_pcd_loader", area.ok());
  if (!area.ok()) {
    report.Warn(area.status().message());
    return area.status();
  }
  report.SetInt("maps_to_add_size", static_cast<int64_t>(area->tiles.size()));
  report.SetInt("maps_to_remove_size", static_cast<int64_t>(area->ids_to_remove));
  const bool adds = !area->tiles.empty();
  absl::Status status;
  if (adds) {
    const auto start = std::chrono::steady_clock::now();
    status = impl_->Upload(std::move(area->tiles));
    report.SetDouble("map_update_execution_time", std::chrono::duration<double, std::milli>(
                                                      std::chrono::steady_clock::now() - start)
                                                      .count());
    report.SetInt("maps_size_after", static_cast<int64_t>(impl_->ids->size()));
    // The map may have been dropped: list its tiles again next time.
    if (!status.ok()) impl_->ids.reset();
  }
  report.SetBool("is_updated_map", status.ok() && adds);
  if (!status.ok()) report.Error(absl::StrCat("the map was not updated: ", status.message()));
  return status;
}

}  // namespace voxloc::ros
