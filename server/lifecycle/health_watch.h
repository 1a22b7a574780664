// SPDX-License-Identifier: Apache-2.0
//
// HealthWatch: polls an engine's health on its own thread, and reports changes. The
// engine must outlive it. Thread-safe.

#ifndef VOXLOC_SERVER_LIFECYCLE_HEALTH_WATCH_H_
#define VOXLOC_SERVER_LIFECYCLE_HEALTH_WATCH_H_

#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/engine/engine.h"

namespace voxloc::server {

class HealthWatch {
 public:
  using Listener = std::function<void(const absl::Status& health)>;

  // Takes the engine for healthy until it has looked. Calls `listener` from the watch's thread,
  // never after the watch's end.
  HealthWatch(const Engine& engine, absl::Duration period, Listener listener);
  HealthWatch(const HealthWatch&) = delete;
  HealthWatch& operator=(const HealthWatch&) = delete;
  ~HealthWatch();

 private:
  void Run();

  const Engine& engine_;
  const absl::Duration period_;
  const Listener listener_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LIFECYCLE_HEALTH_WATCH_H_
