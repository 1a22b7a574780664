// SPDX-License-Identifier: Apache-2.0

#include "server/lifecycle/active_calls.h"

#include <chrono>

namespace voxloc::server {
namespace {

constexpr std::chrono::seconds kTrimPeriod{5};

}  // namespace

TimeoutWatch::Clock::time_point MemoryTrim::Poll(TimeoutWatch::Clock::time_point now) {
  const int64_t ended = calls_.ended();
  const bool quiet = ended - seen_ < kQuiet;
  seen_ = ended;
  if (quiet && ended - trimmed_ >= kFlood && trim_()) trimmed_ = ended;
  return now + kTrimPeriod;
}

}  // namespace voxloc::server
