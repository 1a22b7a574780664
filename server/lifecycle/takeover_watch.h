// SPDX-License-Identifier: Apache-2.0
//
// TakeoverWatch: tells when another engine has taken over from one that failed: in the log, by a
// metric, and by what the operator has chosen for that case. On the thread of a TimeoutWatch.

#ifndef VOXLOC_SERVER_LIFECYCLE_TAKEOVER_WATCH_H_
#define VOXLOC_SERVER_LIFECYCLE_TAKEOVER_WATCH_H_

#include <cstdint>
#include <functional>

#include "core/engine/failover/failover_engine.h"
#include "server/observe/metrics/metrics.h"
#include "server/scheduling/timeout_watch.h"

namespace voxloc::server {

class TakeoverWatch : public TimeoutWatch::Watched {
 public:
  // Both must outlive this. `then` is called once for each takeover, and must be short.
  TakeoverWatch(const FailoverEngine& engine, const Metrics& metrics, std::function<void()> then)
      : engine_(engine), metrics_(metrics), then_(std::move(then)) {}

  TimeoutWatch::Clock::time_point CheckTime(TimeoutWatch::Clock::time_point now) override;

 private:
  const FailoverEngine& engine_;
  const Metrics& metrics_;
  const std::function<void()> then_;
  uint64_t seen_ = 0;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LIFECYCLE_TAKEOVER_WATCH_H_
