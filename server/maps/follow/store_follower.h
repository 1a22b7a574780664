// SPDX-License-Identifier: Apache-2.0
//
// StoreFollower: keeps the maps that are served as those of a store that other servers write too. A
// thread of its own waits for changes and finds out which maps differ; the mapping queue brings
// those forward, one after another with all else that changes maps. Where the store does not
// answer, what is served stays as it is. Thread-safe.

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
  StoreFollower(const StoreFollower&) = delete;
  StoreFollower& operator=(const StoreFollower&) = delete;
  // Before the queue is stopped.
  ~StoreFollower();

 private:
  // Of one look: what the queue has done of it.
  struct Round;

  void Run();
  // Whether it is the end, for which it waits so long.
  [[nodiscard]] bool Stopping(absl::Duration wait);
  void NoteConnection(const absl::Status& status);
  // Brings these maps forward. Returns whether there were any.
  [[nodiscard]] absl::StatusOr<bool> FollowAll(const std::vector<std::string>& maps);
  // Those that are not what the store has.
  [[nodiscard]] absl::StatusOr<std::vector<std::string>> Differing();
  // Those of these, of which alone the store is asked.
  [[nodiscard]] absl::StatusOr<std::vector<std::string>> DifferingOf(
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
