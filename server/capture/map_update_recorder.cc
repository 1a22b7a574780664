// SPDX-License-Identifier: Apache-2.0

#include "server/capture/map_update_recorder.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "core/map_update/update_request.h"
#include "core/parallel/this_thread.h"
#include "server/capture/sensor_cloud.h"
#include "server/convert/pose.h"
#include "server/observe/version.h"

namespace voxloc::server {
namespace {

using Clock = std::chrono::steady_clock;

// The index takes some hundred bytes of memory for each: tens of megabytes. `voxloc map propose`
// takes no more at a time.
constexpr size_t kMaxKeptScans = 100'000;
// Fits of tiles change over many scans.
constexpr Clock::duration kChangesPeriod = std::chrono::seconds(10);
// From where scans are compared with a tile (ObserveFit).
constexpr double kNearM = 20.0;
constexpr size_t kMaxAreas = 16;  // maps with scans at a time
constexpr size_t kMaxSessions = 10'000;

v1::Capture MapUpdateCapture(const MapUpdateScan& scan, int64_t captured_unix_ns) {
  v1::Capture capture;
  v1::CaptureInfo& info = *capture.mutable_info();
  info.set_captured_at_ns(captured_unix_ns);
  info.set_session(scan.session);
  info.set_vehicle(scan.vehicle);
  info.set_map(scan.map->name);
  info.set_map_revision(scan.map->revision);
  info.set_status(v1::ALIGNMENT_STATUS_OK);
  info.set_purpose(v1::CAPTURE_PURPOSE_MAP_UPDATE);
  v1::AlignScanRequest& request = *capture.mutable_request();
  request.mutable_setup()->set_map(scan.map->name);
  request.mutable_setup()->mutable_options()->set_profile(scan.profile);
  request.mutable_scan()->set_stamp_ns(scan.stamp_ns);
  PoseToProto(scan.map_T_base, *request.mutable_scan()->mutable_guess_map_t_base()->mutable_pose());
  SensorCloudToProto(ThinForUpdate(*scan.points_base, scan.sensor_position_base),
                     scan.sensor_position_base, *request.mutable_scan()->add_clouds());
  v1::AlignmentResult& result = *capture.mutable_result();
  result.set_status(v1::ALIGNMENT_STATUS_OK);
  result.set_accepted(true);
  result.set_map(scan.map->name);
  result.set_map_revision(scan.map->revision);
  result.set_stamp_ns(scan.stamp_ns);
  PoseToProto(scan.map_T_base, *result.mutable_map_t_base()->mutable_pose());
  capture.set_server_version(kVersion);
  capture.set_git_revision(kGitRevision);
  return capture;
}

}  // namespace

MapUpdateRecorder::MapUpdateRecorder(std::string id_prefix, const TileFits& fits,
                                     const MapUpdateOptions& options, const Metrics& metrics,
                                     CaptureStore::Files files)
    : fits_(fits),
      options_(options),
      metrics_(metrics),
      turns_(options.max_cpu_share),
      writer_("map_update", std::move(id_prefix), metrics.map_update_captures, std::move(files)) {}

void MapUpdateRecorder::Configure(const Config& config) {
  writer_.Configure(MapUpdateDirectory(config),
                    {config.map_update.max_bytes, config.limits.max_message_bytes,
                     config.map_update.max_age_s, kMaxKeptScans});
}

void MapUpdateRecorder::Offer(absl::string_view session,
                              const std::shared_ptr<const MapSnapshot>& map,
                              const Eigen::Vector3d& position_map, double tracking_s,
                              absl::FunctionRef<MapUpdateScan()> make) {
  if (!writer_.enabled()) return;
  const Clock::time_point now = Clock::now();
  {
    const absl::MutexLock lock(&mutex_);
    turns_.Earn(tracking_s);
    if (!IsNearChange(map, position_map, now)) return;
    const auto last = kept_at_.find(session);
    if (last != kept_at_.end() && (position_map - last->second).norm() < kUpdateSpacingM) return;
    if (!turns_.Begin(session, 0.0, now)) return;
    if (kept_at_.size() >= kMaxSessions) kept_at_.clear();
    kept_at_[session] = position_map;
  }
  MapUpdateScan scan = make();
  const uint64_t bytes = scan.points_base->size() * 3 * sizeof(float);
  const bool queued =
      writer_.Post(scan.session, bytes, [this, scan = std::move(scan)](CaptureStore& store) {
        const double start_s = ThreadCpuSeconds();
        absl::Status status = store.Add(MapUpdateCapture(scan, absl::GetCurrentTimeNanos()));
        const double spent_s = ThreadCpuSeconds() - start_s;
        metrics_.map_update_s.Increment(spent_s);
        const absl::MutexLock lock(&mutex_);
        turns_.End(spent_s);
        return status;
      });
  if (queued) return;
  const absl::MutexLock lock(&mutex_);
  turns_.End(0.0);
}

bool MapUpdateRecorder::IsNearChange(const std::shared_ptr<const MapSnapshot>& map,
                                     const Eigen::Vector3d& position_map, Clock::time_point now) {
  if (options_.min_change == 0.0) return true;
  ChangedArea& area = AreaOf(map);
  if (!area.pending && now >= area.find_again_at) {
    area.pending = writer_.Post("", 0, [this, map](CaptureStore& /*store*/) {
      FindChanges(map);
      return absl::OkStatus();
    });
  }
  bool near = false;
  area.tiles.ForEachWithin(position_map.head<2>(), kNearM,
                           [&](const BoundsTree::Box& /*box*/) { near = true; });
  return near;
}

MapUpdateRecorder::ChangedArea& MapUpdateRecorder::AreaOf(
    const std::shared_ptr<const MapSnapshot>& map) {
  const auto known = std::find_if(areas_.begin(), areas_.end(), [&](const ChangedArea& area) {
    return !area.map.owner_before(map) && !map.owner_before(area.map);
  });
  if (known != areas_.end()) return *known;
  areas_.erase(std::remove_if(areas_.begin(), areas_.end(),
                              [](const ChangedArea& area) { return area.map.expired(); }),
               areas_.end());
  if (areas_.size() == kMaxAreas) areas_.erase(areas_.begin());
  areas_.emplace_back().map = map;
  return areas_.back();
}

void MapUpdateRecorder::FindChanges(const std::shared_ptr<const MapSnapshot>& map) {
  const double start_s = ThreadCpuSeconds();
  std::vector<BoundsTree::Box> boxes;
  for (const auto& [id, digest] : fits_.ChangedTiles(map->name, options_.min_change)) {
    const MapTile* const tile = map->tiles.Find(id);
    if (tile == nullptr || tile->digest != digest || tile->bounds.finite_points == 0) continue;
    boxes.push_back({tile->bounds.min.head<2>(), tile->bounds.max.head<2>(),
                     static_cast<uint32_t>(boxes.size())});
  }
  BoundsTree tiles(std::move(boxes));
  const double spent_s = ThreadCpuSeconds() - start_s;
  metrics_.map_update_s.Increment(spent_s);
  const absl::MutexLock lock(&mutex_);
  turns_.Earn(-spent_s / options_.max_cpu_share);
  ChangedArea& area = AreaOf(map);
  area.tiles = std::move(tiles);
  area.find_again_at = Clock::now() + kChangesPeriod;
  area.pending = false;
}

}  // namespace voxloc::server
