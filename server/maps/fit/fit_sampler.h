// SPDX-License-Identifier: Apache-2.0
//
// FitSampler: compares a sample of accepted scans with the tiles of their map, on a low-priority
// thread, and records the results. It uses at most 1 % of the time of tracking; sessions take
// turns. At most one scan is being compared and one is queued.
// Thread-safe.

#ifndef VOXLOC_SERVER_MAPS_FIT_FIT_SAMPLER_H_
#define VOXLOC_SERVER_MAPS_FIT_FIT_SAMPLER_H_

#include <Eigen/Core>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"
#include "core/map/cells.h"
#include "core/map/tile_residency.h"
#include "server/maps/fit/tile_fits.h"
#include "server/observe/metrics/metrics.h"
#include "server/scheduling/work_queue.h"

namespace voxloc::server {

// FitTurns: which scans are compared with the map, so that this takes a given share of the time of
// tracking, and the sessions take turns. Not thread-safe.
class FitTurns {
 public:
  using Clock = std::chrono::steady_clock;

  // `share` of tracking's time, [0, 1].
  explicit FitTurns(double share) : share_(share) {}

  // A scan of a session; tracking it took `tracking_s`. True: compare it. Its expected cost is
  // charged until End replaces it by the actual cost.
  [[nodiscard]] bool Begin(absl::string_view session, double tracking_s, Clock::time_point now);
  // spent_s = 0: the scan was not compared.
  void End(double spent_s);

 private:
  void BeginRound();

  const double share_;
  double credit_s_ = 0.0;
  double expected_s_ = 0.01;  // of the next comparison
  // The sessions that came since the round began, and whether they have had their turn in it.
  absl::flat_hash_map<std::string, bool> round_;
  size_t served_sessions_ = 0;
  Clock::time_point last_turn_;
};

// An accepted scan.
struct FitSample {
  std::shared_ptr<const MapSnapshot> map;  // that it was aligned to
  CellStatistics cells;                    // of its last stage
  std::shared_ptr<const PointCloud> points_base;
  Eigen::Vector3d sensor_position_base = Eigen::Vector3d::Zero();  // that saw them
  Pose map_T_base;
};

class FitSampler {
 public:
  struct Options {
    bool enabled = true;
    double share = 0.01;  // of tracking's time
  };

  // `fits` and `metrics` must outlive it.
  FitSampler(TileFits& fits, const Options& options, const Metrics& metrics);

  // Offers an accepted scan of a session; tracking it took `tracking_s`. `make` is called before
  // the return if the scan is selected. Never blocks.
  void Offer(absl::string_view session, double tracking_s, absl::FunctionRef<FitSample()> make);

  // Returns when no scan is compared any more; later offers are refused.
  void Stop() { queue_.Stop(); }

 private:
  // The tiles of a map by place. Used on the queue's thread alone.
  struct TileIndex {
    std::weak_ptr<const MapSnapshot> map;
    std::vector<const TileCatalogue::Tile*> tiles;  // valid as long as the map
    BoundsTree by_bounds;                           // numbers are places in `tiles`
  };

  [[nodiscard]] absl::Status Compare(const FitSample& sample);
  [[nodiscard]] const TileIndex& IndexOf(const std::shared_ptr<const MapSnapshot>& map);

  TileFits& fits_;
  const Options options_;
  const Metrics& metrics_;
  std::vector<TileIndex> indexes_;  // of the maps that were used last
  absl::Mutex mutex_;
  FitTurns turns_ ABSL_GUARDED_BY(mutex_);
  WorkQueue queue_;  // the last: its thread uses the rest
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_FIT_FIT_SAMPLER_H_
