// SPDX-License-Identifier: Apache-2.0

#include "server/lifecycle/health_watch.h"

#include <utility>

#include "server/scheduling/this_thread.h"

namespace voxloc::server {

HealthWatch::HealthWatch(const Engine& engine, absl::Duration period, Listener listener)
    : engine_(engine), period_(period), listener_(std::move(listener)), thread_([this] {
        NameThisThread("health");
        Run();
      }) {}

HealthWatch::~HealthWatch() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void HealthWatch::Run() {
  bool healthy = true;
  while (true) {
    const absl::Status health = engine_.Health();
    if (health.ok() != healthy) {
      healthy = health.ok();
      listener_(health);
    }
    const absl::MutexLock lock(&mutex_);
    if (mutex_.AwaitWithTimeout(absl::Condition(&stopping_), period_)) return;
  }
}

}  // namespace voxloc::server
