// SPDX-License-Identifier: Apache-2.0

#include "server/lifecycle/takeover_watch.h"

#include <chrono>

#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

// A scan of a 10 Hz scanner.
constexpr std::chrono::milliseconds kLookPeriod{100};

}  // namespace

TimeoutWatch::Clock::time_point TakeoverWatch::CheckTime(TimeoutWatch::Clock::time_point now) {
  const uint64_t takeovers = engine_.takeovers();
  if (takeovers != seen_) {
    metrics_.engine_takeovers.Increment(static_cast<double>(takeovers - seen_));
    metrics_.engine_fallback.Set(1.0);
    seen_ = takeovers;
    Log(LogLevel::kError, "engine_replaced",
        {{"engine", engine_.name()}, {"note", engine_.note()}});
    then_();
  }
  return now + kLookPeriod;
}

}  // namespace voxloc::server
