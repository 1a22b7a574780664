// SPDX-License-Identifier: Apache-2.0

#include "server/lifecycle/engine_watch.h"

#include <chrono>

#include "server/errors/error_details.h"
#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

// A scan of a 10 Hz scanner.
constexpr std::chrono::milliseconds kPollPeriod{100};
// The tiles around a vehicle are moved within some tenths of a second (docs/reliability.md).
constexpr double kEngineReplacedRetryAfterS = 0.5;

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

absl::Status EngineFaults::Error() const {
  if (!engine.Health().ok()) {
    return WithReason(absl::UnavailableError("the engine has failed permanently; see the server's "
                                             "log. A restart may fix it"),
                      "ENGINE_LOST");
  }
  if (engine.takeovers() == 0) {
    return WithReason(absl::InternalError("the engine failed; see the server's log"),
                      "ENGINE_FAULT");
  }
  return WithRetryAfter(
      WithReason(absl::UnavailableError("another engine has taken over from one that failed; the "
                                        "map is being moved to it"),
                 "ENGINE_REPLACED"),
      kEngineReplacedRetryAfterS);
}

bool EngineFaults::WasReplaced(const MapView& map) const {
  if (engine.takeovers() == 0) return false;
  if (library.engine_changed()) return true;
  const auto now = maps.FindRevision(map.snapshot->name, map.snapshot->revision);
  return !now.ok() || now->snapshot != map.snapshot;
}

absl::Status EngineFaults::Report(const std::string& client, const std::string& map,
                                  const absl::Status& status) const {
  (engine.Health().ok() ? metrics.engine_faults : metrics.engine_lost).Increment();
  LogRateLimited(LogLevel::kError, "engine_failed",
                 {{"session", client}, {"map", map}, {"error", status.message()}});
  residency.SwitchEngineNow();
  return Error();
}

}  // namespace voxloc::server
