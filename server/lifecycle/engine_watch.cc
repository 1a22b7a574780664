// SPDX-License-Identifier: Apache-2.0

#include "server/lifecycle/engine_watch.h"

#include <chrono>

#include "absl/status/status.h"
#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

// A scan of a 10 Hz scanner.
constexpr std::chrono::milliseconds kPollPeriod{100};

}  // namespace

TimeoutWatch::Clock::time_point EngineWatch::Poll(TimeoutWatch::Clock::time_point now) {
  const absl::Status health = engine_.Health();  // may fail over to the next engine
  if (health.ok() != healthy_) {
    healthy_ = health.ok();
    Log(healthy_ ? LogLevel::kInfo : LogLevel::kError,
        healthy_ ? "engine_healthy" : "engine_unhealthy",
        {{"engine", engine_.name()}, {"error", health.message()}});
  }
  const uint64_t takeovers = engine_.takeovers();
  if (takeovers != takeovers_) {
    metrics_.engine_takeovers.Increment(static_cast<double>(takeovers - takeovers_));
    metrics_.engine_fallback.Set(1.0);
    takeovers_ = takeovers;
    Log(LogLevel::kError, "engine_replaced",
        {{"engine", engine_.name()}, {"note", engine_.note()}});
    on_takeover_();
  }
  return now + kPollPeriod;
}

}  // namespace voxloc::server
