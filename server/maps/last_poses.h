// SPDX-License-Identifier: Apache-2.0
//
// LastPoses: the last pose of each vehicle, from which its next session starts. Kept in memory and
// saved to the store periodically, so that it survives a restart. Thread-safe.

#ifndef VOXLOC_SERVER_MAPS_LAST_POSES_H_
#define VOXLOC_SERVER_MAPS_LAST_POSES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "server/maps/store/map_store.h"

namespace voxloc::server {

class LastPoses {
 public:
  // Above max_vehicles, the poses with the oldest stamps are evicted.
  explicit LastPoses(size_t max_vehicles) : max_vehicles_(max_vehicles) {}

  // Reads all poses from the store, at startup.
  [[nodiscard]] absl::Status Load(MapStore& store);

  // The pose of an accepted scan. Ignored if the vehicle has no name.
  void Record(LastPose pose);

  // nullopt: the vehicle has none on this map.
  [[nodiscard]] std::optional<LastPose> Find(absl::string_view vehicle,
                                             absl::string_view map) const;

  // Merges the poses that other servers saved since the last call: per vehicle, the pose with the
  // later stamp wins.
  [[nodiscard]] absl::Status MergeSaved(MapStore& store);

  // Saves the poses recorded since the last call. Poses that could not be saved are retried.
  [[nodiscard]] absl::Status Save(MapStore& store);

 private:
  void EvictOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_vehicles_;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, LastPose> poses_ ABSL_GUARDED_BY(mutex_);  // by vehicle
  absl::flat_hash_set<std::string> changed_ ABSL_GUARDED_BY(mutex_);          // vehicles
  int64_t merged_unix_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // last merged save, store's clock
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_LAST_POSES_H_
