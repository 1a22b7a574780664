// SPDX-License-Identifier: Apache-2.0

#include "server/lifecycle/active_calls.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <chrono>

namespace voxloc::server {
namespace {

constexpr std::chrono::seconds kTrimPeriod{5};

}  // namespace

TimeoutWatch::Clock::time_point MemoryTrim::Poll(TimeoutWatch::Clock::time_point now) {
  const int64_t ended = calls_.ended();
  const int64_t since = ended - seen_;
  seen_ = ended;
  if (since >= kFlood) {
    flood_ = true;
  } else if (flood_ && since < kFlood / 10) {
    flood_ = !trim_();
  }
  return now + kTrimPeriod;
}

void ReturnFreedMemory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace voxloc::server
