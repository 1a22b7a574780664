// SPDX-License-Identifier: Apache-2.0

#include "server/lifecycle/drain.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/observe/logging.h"

namespace voxloc::server {

void Drain(const DrainTimes& times, ServiceHealth& health, SessionRegistry& sessions,
           ActiveCalls& calls) {
  Log(LogLevel::kInfo, "draining",
      {{"sessions", sessions.open()}, {"delay_s", times.delay_s}, {"timeout_s", times.timeout_s}});
  health.Shutdown();
  const double remaining_s = times.delay_s + times.timeout_s;
  sessions.Drain({remaining_s, remaining_s, "the server is stopping"});
  absl::SleepFor(absl::Seconds(times.delay_s));
  calls.AwaitNone(absl::Seconds(times.timeout_s));
}

}  // namespace voxloc::server
