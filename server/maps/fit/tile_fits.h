// SPDX-License-Identifier: Apache-2.0
//
// How scans fit the tiles of all maps: TileFits, the statistics, and FitSampler, which compares
// some scans with the tiles. Thread-safe.

#ifndef VOXLOC_SERVER_MAPS_FIT_TILE_FITS_H_
#define VOXLOC_SERVER_MAPS_FIT_TILE_FITS_H_

#include <Eigen/Core>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "core/checksum/sha256.h"
#include "core/cloud/point_cloud.h"
#include "core/estimate/map_fit/scan_fit.h"
#include "core/geometry/pose.h"
#include "core/map/cells.h"
#include "core/map/tile_catalogue.h"
#include "server/maps/store/map_store.h"
#include "server/observe/metrics/instruments.h"
#include "server/observe/metrics/metrics.h"
#include "server/scheduling/work_queue.h"

namespace voxloc::server {

// What a scan showed of a content of a tile.
struct TileObservation {
  std::string tile_id;
  Sha256Digest digest{};
  TileFit fit;
};

struct TileFitRecord {
  TileFit fit;  // as it was at the last scan
  int64_t last_used_unix_ns = 0;
};

// Kept in memory and saved periodically to the store. A record belongs to one content of a tile.
class TileFits {
 public:
  using Content = std::pair<std::string, Sha256Digest>;  // tile id

  // Above max_tiles contents over all maps, the least recently used ones are evicted. `tiles` is
  // set to their number.
  TileFits(size_t max_tiles, Gauge tiles) : max_tiles_(max_tiles), tiles_(tiles) {}

  // What the store has, at the start.
  [[nodiscard]] absl::Status Load(MapStore& store);

  // Of one scan.
  void Add(absl::string_view map, absl::Span<const TileObservation> tiles, int64_t unix_ns);

  // nullopt: no scan has been compared with this content of the tile.
  [[nodiscard]] std::optional<TileFitRecord> Find(absl::string_view map, absl::string_view tile_id,
                                                  const Sha256Digest& digest) const;

  // The contents of the map's tiles whose fit has this change at least, in no order.
  [[nodiscard]] std::vector<Content> ChangedTiles(absl::string_view map, double min_change) const;

  // Removes the records of a deleted map. The store removes its own.
  void RemoveMap(absl::string_view map);

  // Saves the records changed since the last call. Records that could not be saved are retried.
  [[nodiscard]] absl::Status Save(MapStore& store);

 private:
  struct Entry {
    TileFitRecord record;
    bool changed = false;  // since it was given to the store
  };
  using Contents = absl::flat_hash_map<Content, Entry>;

  void EvictOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_tiles_;
  const Gauge tiles_;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Contents> maps_ ABSL_GUARDED_BY(mutex_);
  size_t count_ ABSL_GUARDED_BY(mutex_) = 0;  // of the records of all maps
};

// FitTurns: which scans are compared with the map, or kept for its update, so that this takes a
// given share of the time of tracking, and the sessions take turns. Not thread-safe.
class FitTurns {
 public:
  using Clock = std::chrono::steady_clock;

  // `share` of tracking's time, [0, 1].
  explicit FitTurns(double share) : share_(share) {}

  // Tracking a scan that is not to be compared took `tracking_s`.
  void Earn(double tracking_s);
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

// Compares a sample of accepted scans with the tiles of their map, on a low-priority thread, and
// records the results. It uses at most 1 % of the time of tracking; sessions take turns. At most
// one scan is being compared and one is queued.
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

#endif  // VOXLOC_SERVER_MAPS_FIT_TILE_FITS_H_
