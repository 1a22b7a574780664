// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

using LimiterClock = LogLimiter::Clock;

LimiterClock::time_point LimiterTime(double time_s) {
  return LimiterClock::time_point() +
         std::chrono::duration_cast<LimiterClock::duration>(std::chrono::duration<double>(time_s));
}

TEST(LogLimiterTest, CountsWhatIsLeftOutBeyondTheBurst) {
  LogLimiter limiter({/*burst=*/3.0, /*per_second=*/2.0});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limiter.Admit("flood", LimiterTime(1.0)), 0U);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(limiter.Admit("flood", LimiterTime(1.0)).has_value());
  EXPECT_EQ(limiter.suppressed(), 5U);
  EXPECT_FALSE(limiter.Admit("flood", LimiterTime(1.4)).has_value());
  EXPECT_EQ(limiter.Admit("flood", LimiterTime(1.5)), 6U);
  EXPECT_FALSE(limiter.Admit("flood", LimiterTime(1.5)).has_value());
  EXPECT_EQ(limiter.Admit("flood", LimiterTime(2.0)), 1U);
  EXPECT_EQ(limiter.suppressed(), 7U);
}

TEST(LogLimiterTest, EventsDoNotTakeEachOthersLines) {
  LogLimiter limiter({1.0, 1.0});
  EXPECT_EQ(limiter.Admit("one", LimiterTime(0.0)), 0U);
  EXPECT_FALSE(limiter.Admit("one", LimiterTime(0.0)).has_value());
  EXPECT_EQ(limiter.Admit("other", LimiterTime(0.0)), 0U);
}

TEST(LogLimiterTest, AQuietTimeGivesOneBurstAndNoMore) {
  LogLimiter limiter({2.0, 1.0});
  EXPECT_EQ(limiter.Admit("event", LimiterTime(0.0)), 0U);
  EXPECT_EQ(limiter.Admit("event", LimiterTime(1e6)), 0U);
  EXPECT_EQ(limiter.Admit("event", LimiterTime(1e6)), 0U);
  EXPECT_FALSE(limiter.Admit("event", LimiterTime(1e6)).has_value());
}

}  // namespace
}  // namespace voxloc::server
