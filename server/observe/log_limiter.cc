// SPDX-License-Identifier: Apache-2.0

#include "server/observe/log_limiter.h"

#include <algorithm>
#include <utility>

#include "server/observe/seconds.h"

namespace voxloc::server {

std::optional<uint64_t> LogLimiter::Admit(absl::string_view event, Clock::time_point now,
                                          const Options& options) {
  const absl::MutexLock lock(&mutex_);
  auto found = events_.find(event);
  if (found == events_.end()) {
    found = events_.emplace(std::string(event), Event{options.burst, now, 0}).first;
  }
  Event& state = found->second;
  const double passed_s = ToSeconds(now - state.at);
  state.tokens =
      std::min(options.burst, state.tokens + options.per_second * std::max(0.0, passed_s));
  state.at = std::max(state.at, now);
  if (state.tokens < 1.0) {
    ++state.suppressed;
    ++suppressed_;
    return std::nullopt;
  }
  state.tokens -= 1.0;
  return std::exchange(state.suppressed, 0);
}

uint64_t LogLimiter::suppressed() const {
  const absl::MutexLock lock(&mutex_);
  return suppressed_;
}

}  // namespace voxloc::server
