// SPDX-License-Identifier: Apache-2.0
//
// StoreUpkeep: frees, from time to time and in short tasks of the mapping queue, what the store no
// longer needs, and shows how much it holds. Thread-safe. The queue must be stopped before what
// this refers to goes.

#ifndef VOXLOC_SERVER_MAPS_STORE_UPKEEP_H_
#define VOXLOC_SERVER_MAPS_STORE_UPKEEP_H_

#include <memory>

#include "server/maps/store/map_store.h"
#include "server/observe/metrics/metrics.h"
#include "server/scheduling/timeout_watch.h"
#include "server/scheduling/work_queue.h"

namespace voxloc::server {

class StoreUpkeep : public TimeoutWatch::Watched, public std::enable_shared_from_this<StoreUpkeep> {
 public:
  StoreUpkeep(MapStore& store, WorkQueue& mapping, const Metrics& metrics)
      : store_(store), mapping_(mapping), metrics_(metrics) {}

  TimeoutWatch::Clock::time_point CheckTime(TimeoutWatch::Clock::time_point now) override;

 private:
  // Posts a task that does some of the work, and the next one where there is more.
  void PostWork();
  void Work();

  MapStore& store_;
  WorkQueue& mapping_;
  const Metrics& metrics_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_UPKEEP_H_
