// SPDX-License-Identifier: Apache-2.0
//
// StoreUpkeep: periodic maintenance of the store, in short tasks on the mapping queue: saves last
// poses and the tile fits, collects garbage, and updates the metrics of the store's size.
// Thread-safe. The queue must be stopped before the referenced objects are destroyed.

#ifndef VOXLOC_SERVER_MAPS_STORE_UPKEEP_H_
#define VOXLOC_SERVER_MAPS_STORE_UPKEEP_H_

#include <atomic>
#include <memory>

#include "server/maps/fit/tile_fits.h"
#include "server/maps/last_poses.h"
#include "server/maps/store/map_store.h"
#include "server/observe/metrics/metrics.h"
#include "server/scheduling/timeout_watch.h"
#include "server/scheduling/work_queue.h"

namespace voxloc::server {

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

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_UPKEEP_H_
