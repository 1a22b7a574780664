// SPDX-License-Identifier: Apache-2.0
//
// EngineWatch: logs when the engine fails or works again; on a takeover by another engine, logs and
// counts it and calls `on_takeover`. On the thread of a TimeoutWatch.

#ifndef VOXLOC_SERVER_LIFECYCLE_ENGINE_WATCH_H_
#define VOXLOC_SERVER_LIFECYCLE_ENGINE_WATCH_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "core/engine/failover/failover_engine.h"
#include "server/observe/metrics/metrics.h"
#include "server/scheduling/timeout_watch.h"

namespace voxloc::server {

class EngineWatch : public TimeoutWatch::Watched {
 public:
  // Both must outlive this. The engine is assumed healthy at first. `on_takeover` is called once
  // per takeover, and must be short.
  EngineWatch(const FailoverEngine& engine, const Metrics& metrics,
              std::function<void()> on_takeover)
      : engine_(engine), metrics_(metrics), on_takeover_(std::move(on_takeover)) {}

  TimeoutWatch::Clock::time_point Poll(TimeoutWatch::Clock::time_point now) override;

 private:
  const FailoverEngine& engine_;
  const Metrics& metrics_;
  const std::function<void()> on_takeover_;
  bool healthy_ = true;
  uint64_t takeovers_ = 0;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LIFECYCLE_ENGINE_WATCH_H_
