// SPDX-License-Identifier: Apache-2.0
//
// MapUpdateRecorder: keeps accepted scans of sessions near tiles that have changed, thinned, for
// `voxloc map propose`. It takes at most a given share of the processor time of tracking, on a
// low-priority thread; sessions take turns, and one that has not moved by kUpdateSpacingM gives no
// further scan. Thread-safe; Configure and Stop from one thread at a time.

#ifndef VOXLOC_SERVER_CAPTURE_MAP_UPDATE_RECORDER_H_
#define VOXLOC_SERVER_CAPTURE_MAP_UPDATE_RECORDER_H_

#include <Eigen/Core>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"
#include "core/map/tile_catalogue.h"
#include "server/capture/capture_store.h"
#include "server/capture/capture_writer.h"
#include "server/config/config.h"
#include "server/maps/fit/tile_fits.h"
#include "server/observe/metrics/metrics.h"

namespace voxloc::server {

// An accepted scan of a session.
struct MapUpdateScan {
  std::string session;
  std::string vehicle;
  std::string profile;
  std::shared_ptr<const MapSnapshot> map;  // that it was aligned to
  int64_t stamp_ns = 0;
  std::shared_ptr<const PointCloud> points_base;
  Eigen::Vector3d sensor_position_base = Eigen::Vector3d::Zero();  // that saw them
  Pose map_T_base;
};

class MapUpdateRecorder {
 public:
  // Nothing is kept until it is configured. `id_prefix`: see CaptureStore::Open. `fits` and
  // `metrics` must outlive it. Of `options`, what a reload does not change.
  MapUpdateRecorder(std::string id_prefix, const TileFits& fits, const MapUpdateOptions& options,
                    const Metrics& metrics, CaptureStore::Files files = {});

  // Puts map_update.max_bytes and max_age_s into effect (CaptureWriter::Configure).
  void Configure(const Config& config);

  // Offers an accepted scan of this session and map from this place; tracking it took `tracking_s`.
  // `make` is called before the return if the scan is kept. Never blocks.
  void Offer(absl::string_view session, const std::shared_ptr<const MapSnapshot>& map,
             const Eigen::Vector3d& position_map, double tracking_s,
             absl::FunctionRef<MapUpdateScan()> make);

  // As of CaptureWriter.
  [[nodiscard]] absl::StatusOr<std::shared_ptr<const CaptureStore>> store() const {
    return writer_.store();
  }
  void Stop() { writer_.Stop(); }

 private:
  using Clock = std::chrono::steady_clock;

  // Where a revision of a map has changed.
  struct ChangedArea {
    std::weak_ptr<const MapSnapshot> map;
    BoundsTree tiles;
    Clock::time_point find_again_at;
    bool pending = false;  // is being found
  };

  // False as long as nothing is known of the map.
  [[nodiscard]] bool IsNearChange(const std::shared_ptr<const MapSnapshot>& map,
                                  const Eigen::Vector3d& position_map, Clock::time_point now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] ChangedArea& AreaOf(const std::shared_ptr<const MapSnapshot>& map)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // On the writer's thread.
  void FindChanges(const std::shared_ptr<const MapSnapshot>& map);

  const TileFits& fits_;
  const MapUpdateOptions options_;
  const Metrics& metrics_;
  absl::Mutex mutex_;
  FitTurns turns_ ABSL_GUARDED_BY(mutex_);
  std::vector<ChangedArea> areas_ ABSL_GUARDED_BY(mutex_);
  // Where each session was when its last scan was kept, map frame.
  absl::flat_hash_map<std::string, Eigen::Vector3d> kept_at_ ABSL_GUARDED_BY(mutex_);
  CaptureWriter writer_;  // the last: its thread uses the rest
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CAPTURE_MAP_UPDATE_RECORDER_H_
