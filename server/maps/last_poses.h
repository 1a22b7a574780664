// SPDX-License-Identifier: Apache-2.0
//
// LastPoses: where each vehicle was last, kept in memory and, from time to time, in the store, so
// that its next session can begin there, also after a restart. Thread-safe.

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
  // Of at most so many vehicles; beyond it, those seen longest ago are forgotten.
  explicit LastPoses(size_t max_vehicles) : max_vehicles_(max_vehicles) {}

  // What the store has, at the start.
  [[nodiscard]] absl::Status Load(MapStore& store);

  // Of an accepted scan. A vehicle without a name is not noted.
  void Note(LastPose pose);

  // nullopt: the vehicle has none on this map.
  [[nodiscard]] std::optional<LastPose> Find(absl::string_view vehicle,
                                             absl::string_view map) const;

  // Takes what other servers have given the store since the last call: of a vehicle that is known
  // here too, the pose with the later stamp.
  [[nodiscard]] absl::Status TakeOthers(MapStore& store);

  // Gives the store what was noted since the last call. What it does not take is tried again.
  [[nodiscard]] absl::Status Save(MapStore& store);

 private:
  void ForgetOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_vehicles_;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, LastPose> poses_ ABSL_GUARDED_BY(mutex_);  // by vehicle
  absl::flat_hash_set<std::string> changed_ ABSL_GUARDED_BY(mutex_);          // vehicles
  int64_t taken_unix_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // up to when, by the store's clock
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_LAST_POSES_H_
