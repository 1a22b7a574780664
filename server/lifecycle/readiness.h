// SPDX-License-Identifier: Apache-2.0
//
// Readiness: whether the server can be sent requests, and whether its process works. It is ready
// while it listens, its engine works and it does not drain, once the maps that its store had at the
// start are open. A map that could not be loaded is not waited for, nor is one that comes later:
// either makes only its own readiness wait. Changes are logged. Thread-safe.

#ifndef VOXLOC_SERVER_LIFECYCLE_READINESS_H_
#define VOXLOC_SERVER_LIFECYCLE_READINESS_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/engine/engine.h"
#include "server/maps/resident_maps.h"
#include "server/observe/server_lifecycle.h"
#include "server/scheduling/timeout_watch.h"

namespace voxloc::server {

class Readiness : public TimeoutWatch::Watched {
 public:
  // All must outlive it. Not ready until it has begun, and not once the server drains; the server
  // serves when the maps of the start are there.
  Readiness(const Engine& engine, const ResidentMaps& maps, ServerLifecycle& lifecycle);

  // The server listens, and these maps have been announced.
  void Begin(const std::vector<std::string>& maps);

  // Unavailable: the server is not ready; the message says why.
  [[nodiscard]] absl::Status Check();
  // Unavailable: scans on this map would be refused now. NotFound: there is no such map.
  [[nodiscard]] absl::Status CheckMap(absl::string_view map);
  // Unavailable: the thread of the timeouts has not run for long.
  [[nodiscard]] absl::Status CheckAlive() const;
  [[nodiscard]] ServerState state();

  // A probe has asked for the readiness.
  void RecordProbe();
  // Whether a load balancer may send requests because the server was ready: it was ready, and was
  // probed in the last minutes.
  [[nodiscard]] bool probed_recently() const;

  // On the watch's thread: logs changes, and shows that the thread runs.
  TimeoutWatch::Clock::time_point Poll(TimeoutWatch::Clock::time_point now) override;

 private:
  using Clock = TimeoutWatch::Clock;

  [[nodiscard]] absl::Status CheckLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Those of the engine, the drain and the start; not of maps.
  [[nodiscard]] absl::Status CheckServer() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of the maps that are waited for.
  [[nodiscard]] absl::Status CheckStart() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Engine& engine_;
  const ResidentMaps& maps_;
  ServerLifecycle& lifecycle_;
  mutable absl::Mutex mutex_;
  // Maps of the start; nullopt: the server does not listen yet.
  std::optional<std::set<std::string, std::less<>>> awaited_ ABSL_GUARDED_BY(mutex_);
  bool was_ready_ ABSL_GUARDED_BY(mutex_) = false;
  bool logged_ready_ ABSL_GUARDED_BY(mutex_) = false;
  Clock::time_point last_run_ ABSL_GUARDED_BY(mutex_);
  Clock::time_point last_probe_ ABSL_GUARDED_BY(mutex_);  // the clock's zero: never
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LIFECYCLE_READINESS_H_
