// SPDX-License-Identifier: Apache-2.0
//
// StoreFollower: keeps the served maps in sync with a store that other servers also write. Its
// thread waits for changes and determines which maps differ; the mapping queue updates them,
// serialized with all other changes of maps. While the store does not respond, the served maps are
// unchanged. Thread-safe.

#ifndef VOXLOC_SERVER_MAPS_FOLLOW_STORE_FOLLOWER_H_
#define VOXLOC_SERVER_MAPS_FOLLOW_STORE_FOLLOWER_H_

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/maps/map_library.h"
#include "server/maps/store/map_store.h"
#include "server/observe/metrics/metrics.h"
#include "server/scheduling/work_queue.h"

namespace voxloc::server {

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

#endif  // VOXLOC_SERVER_MAPS_FOLLOW_STORE_FOLLOWER_H_
