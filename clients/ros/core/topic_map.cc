// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/topic_map.h"

#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "clients/cpp/map_client.h"
#include "clients/cpp/messages.h"
#include "clients/pointcloud2/cloud_encoding.h"
#include "clients/ros/core/session_request.h"
#include "clients/ros/core/topics.h"
#include "core/cloud/cloud_digest.h"
#include "core/status/try.h"

namespace voxloc::ros {
namespace {

// 250 km2 of tiles. More are a map whose points lie far from each other by mistake.
constexpr size_t kMaxTiles = 100'000;
// For each answer: the commit of a large map takes tens of seconds.
constexpr double kAnswerTimeoutS = 120.0;
// After so many broken connections an attempt ends.
constexpr int kConnections = 2;

// Whether the server's tiles are these.
bool Equal(const v1::ListTilesResponse& on_server, const std::vector<client::UploadTile>& tiles) {
  std::map<std::string, std::string> digests;
  for (const client::UploadTile& tile : tiles) digests[tile.id] = ToBytes(*tile.digest);
  std::map<std::string, std::string> other;
  for (const v1::TileInfo& tile : on_server.tiles()) {
    if (!tile.damaged()) other[tile.tile_id()] = tile.sha256();
  }
  return digests == other;
}

}  // namespace

TopicMap::TopicMap(const client::Channel& channel, const Parameters& parameters,
                   const std::string& node_name,
                   std::function<void(int64_t, const DiagnosticStatus&)> publish, double retry_s)
    : channel_(channel),
      parameters_(parameters),
      node_name_(node_name),
      publish_(std::move(publish)),
      retry_s_(retry_s) {}

TopicMap::~TopicMap() { cancelled_ = true; }

absl::StatusOr<TopicMap::WaitingMap> TopicMap::Read(const PointCloud2View& cloud) const {
  const std::string& map_frame = parameters_.frame.map_frame;
  if (cloud.header.frame_id != map_frame) {
    return absl::InvalidArgumentError(absl::StrCat("the frame_id of the map must be '", map_frame,
                                                   "' (got '", cloud.header.frame_id, "')"));
  }
  const size_t points = size_t{cloud.width} * cloud.height;
  if (points > kMaxPoints) {
    return absl::InvalidArgumentError(absl::StrCat("the map must have at most ", kMaxPoints,
                                                   " points (got ", points,
                                                   "); load larger ones with voxloc map load"));
  }
  CloudEncodingOptions options;
  options.encoding = CloudEncoding::kFloat32;
  options.preparation.drop_not_finite = true;
  const Eigen::Vector3d farthest = Eigen::Vector3d::Constant(client::kMaxMapCoordinate_m);
  options.preparation.crop_base = CloudPreparation::Box{-farthest, farthest};
  VOXLOC_ASSIGN_OR_RETURN(const EncodedCloud encoded, EncodeCloud(cloud, std::nullopt, options));
  if (encoded.sent == 0) {
    return absl::InvalidArgumentError(absl::StrCat("the map must have finite points (got ", points,
                                                   " points, none of which is finite)"));
  }
  WaitingMap map;
  map.stamp_ns = cloud.header.stamp_ns;
  map.points_left_out = encoded.left_out;
  VOXLOC_TRY(client::DecodePoints(encoded.cloud, &map.points_map.emplace()));
  return map;
}

void TopicMap::Set(const PointCloud2View& cloud) {
  absl::StatusOr<WaitingMap> map = Read(cloud);
  if (!map.ok()) {
    StatusReport report(node_name_, kPointCloudMapStatus);
    report.SetInt("topic_time_stamp", cloud.header.stamp_ns);
    report.SetBool("is_loaded", false);
    report.Error(absl::StrCat("the map on ", kMapTopic, " is not used: ", map.status().message()));
    publish_(cloud.header.stamp_ns, report.Status());
    return;
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_ = std::make_shared<WaitingMap>(*std::move(map));
    next_attempt_ = {};
  }
  OnTimer();
}

void TopicMap::OnTimer() {
  if (DueMap() == nullptr) return;
  // False: an attempt is under way, and one more waits, which looks for itself whether it is due.
  static_cast<void>(worker_.Post([this] { Load(); }));
}

std::shared_ptr<TopicMap::WaitingMap> TopicMap::DueMap() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::chrono::steady_clock::now() < next_attempt_ ? nullptr : waiting_;
}

void TopicMap::Load() {
  const std::shared_ptr<WaitingMap> map = DueMap();
  if (map == nullptr) return;
  StatusReport report(node_name_, kPointCloudMapStatus);
  report.SetInt("topic_time_stamp", map->stamp_ns);
  report.SetText("map", parameters_.voxloc.map);
  report.SetInt("points_left_out", map->points_left_out);
  const auto start = std::chrono::steady_clock::now();
  const absl::StatusOr<client::UploadResult> loaded = Upload(*map);
  const auto end = std::chrono::steady_clock::now();
  report.SetInt("tiles", map->tiles.size());
  report.SetBool("is_loaded", loaded.ok());
  if (loaded.ok()) {
    report.SetInt("points", map->points);
    report.SetInt("tiles_sent", loaded->counts.tiles_sent);
    report.SetInt("map_revision", loaded->committed.map().revision());
    report.SetDouble("execution_time",
                     std::chrono::duration<double, std::milli>(end - start).count());
  } else {
    report.Error(absl::StrCat("the map on ", kMapTopic, " was not loaded, and is tried again in ",
                              retry_s_, " s: ", loaded.status().message()));
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    // Otherwise a newer one has come.
    if (waiting_ == map) {
      next_attempt_ = end + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                std::chrono::duration<double>(retry_s_));
      if (loaded.ok()) waiting_ = nullptr;
    }
  }
  if (!cancelled_) publish_(map->stamp_ns, report.Status());
}

absl::Status TopicMap::CutIntoTiles(WaitingMap& map) const {
  std::map<std::pair<int, int>, PointCloud> cut;
  const PointCloud& all = *map.points_map;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto index = [](float value) {
      return static_cast<int>(std::floor(value / client::kTileSize_m));
    };
    cut[{index(all.x[i]), index(all.y[i])}].PushBack(all.x[i], all.y[i], all.z[i]);
    if (cut.size() > kMaxTiles) {
      return absl::InvalidArgumentError(absl::StrCat("the map must have points in at most ",
                                                     kMaxTiles, " squares of ", client::kTileSize_m,
                                                     " m"));
    }
  }
  map.points = all.size();
  map.points_map.reset();
  for (auto& [index, tile] : cut) {
    const auto points = std::make_shared<const PointCloud>(std::move(tile));
    const auto load = [this, points]() -> absl::StatusOr<PointCloud> {
      if (cancelled_) return absl::CancelledError("the node is being shut down");
      return *points;
    };
    // As `voxloc map load` names them: the lowest corner in metres, such as "x-50_y100".
    map.tiles.push_back({absl::StrCat("x", index.first * client::kTileSize_m, "_y",
                                      index.second * client::kTileSize_m),
                         load, DigestOf(*points)});
  }
  return absl::OkStatus();
}

absl::StatusOr<client::UploadResult> TopicMap::Upload(WaitingMap& map) const {
  if (map.points_map.has_value()) VOXLOC_TRY(CutIntoTiles(map));
  v1::ListTilesRequest request;
  request.set_map(parameters_.voxloc.map);
  const absl::StatusOr<v1::ListTilesResponse> on_server =
      client::MapClient(channel_).ListTiles(request, kAnswerTimeoutS);
  if (!on_server.ok() && !absl::IsNotFound(on_server.status())) return on_server.status();
  if (on_server.ok() && Equal(*on_server, map.tiles)) {
    client::UploadResult same;
    same.committed.mutable_map()->set_revision(on_server->map_revision());
    return same;
  }
  client::UploadOptions options;
  options.transaction.begin = BeginUpdateFrom(parameters_, request.map(), on_server.ok());
  options.transaction.begin.set_clear(true);
  options.transaction.timeout_s = kAnswerTimeoutS;
  options.commit.set_comment(absl::StrCat(kMapTopic, " of ", node_name_));
  options.reconnect.max_attempts = kConnections;
  return client::UploadTiles(channel_, map.tiles, options);
}

}  // namespace voxloc::ros
