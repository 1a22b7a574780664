// SPDX-License-Identifier: Apache-2.0
//
// What keeps the store and the server in step: StoreUpkeep for what only this server knows, and
// StoreFollower for what other servers have written. Thread-safe.

#ifndef VOXLOC_SERVER_MAPS_STORE_UPKEEP_H_
#define VOXLOC_SERVER_MAPS_STORE_UPKEEP_H_

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/maps/fit/tile_fits.h"
#include "server/maps/last_poses.h"
#include "server/maps/map_library.h"
#include "server/maps/store/map_store.h"
#include "server/observe/metrics/metrics.h"
#include "server/scheduling/timeout_watch.h"
#include "server/scheduling/work_queue.h"

namespace voxloc::server {

// Periodic maintenance of the store, in short tasks on the mapping queue: saves last poses and the
// tile fits, collects garbage, and updates the metrics of the store's size. The queue must be
// stopped before the referenced objects are destroyed.
class StoreUpkeep : public TimeoutWatch::Watched, public std::enable_shared_from_this<StoreUpkeep> {
 public:
  StoreUpkeep(MapStore& store, LastPoses& last_poses, TileFits& tile_fits, WorkQueue& mapping,
              const Metrics& metrics)
      : store_(store),
        last_poses_(last_poses),
        tile_fits_(tile_fits),
        mapping_(mapping),
        metrics_(metrics) {}

  TimeoutWatch::Clock::time_point Poll(TimeoutWatch::Clock::time_point now) override;

 private:
  // Tasks on the mapping queue. At most one of each kind is queued, since the queue may be blocked.
  void Save(bool fits);
  // Reposts itself while Collect returns true.
  void PostCollection();
  // Frees some. Whether there is more.
  [[nodiscard]] bool Collect();

  MapStore& store_;
  LastPoses& last_poses_;
  TileFits& tile_fits_;
  WorkQueue& mapping_;
  const Metrics& metrics_;
  std::atomic<bool> saving_{false};
  std::atomic<bool> collecting_{false};
  // Used by the watch's thread.
  TimeoutWatch::Clock::time_point next_fits_;
  TimeoutWatch::Clock::time_point next_collection_;
};

// Keeps the served maps in sync with a store that other servers also write. Its thread waits for
// changes and determines which maps differ; the mapping queue updates them, serialized with all
// other changes of maps. While the store does not respond, the served maps are unchanged.
class StoreFollower {
 public:
  struct Parts {
    MapLibrary& library;  // its store is shared
    WorkQueue& mapping;
    const Metrics& metrics;
    absl::Duration poll_period;
  };
  explicit StoreFollower(const Parts& parts);
  // Before the queue is stopped.
  ~StoreFollower();

 private:
  // Progress of one round of updates on the queue.
  struct Round;

  void Run();
  // Waits up to `wait` for the stop. Returns whether it was requested.
  [[nodiscard]] bool WaitForStop(absl::Duration wait);
  void UpdateConnectionState(const absl::Status& status);
  // Updates these maps to the store's state. Returns whether there were any.
  [[nodiscard]] absl::StatusOr<bool> SyncAll(const std::vector<std::string>& maps);
  // All maps whose served state differs from the store's.
  [[nodiscard]] absl::StatusOr<std::vector<std::string>> FindOutOfSync();
  // Likewise, but checks only these maps.
  [[nodiscard]] absl::StatusOr<std::vector<std::string>> FilterOutOfSync(
      const std::vector<std::string>& maps);

  const Parts parts_;
  const std::unique_ptr<StoreWatch> watch_;
  absl::Status connection_;  // of the thread
  absl::Time lost_at_;       // of the thread
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // the last: it uses the others
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_UPKEEP_H_
