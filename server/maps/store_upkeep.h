// SPDX-License-Identifier: Apache-2.0
//
// StoreUpkeep: from time to time, and in short tasks of the mapping queue, gives the store the last
// poses of the vehicles and how scans fitted the tiles, frees what it no longer needs, and shows
// how much it holds. Thread-safe. The queue must be stopped before what this refers to goes.

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

  TimeoutWatch::Clock::time_point CheckTime(TimeoutWatch::Clock::time_point now) override;

 private:
  // Tasks of the mapping queue, of each of which one at a time waits there: the queue may stand
  // still.
  void Save(bool fits);
  void SavePoses();
  void SaveFits();
  // Again and again while there is more.
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
