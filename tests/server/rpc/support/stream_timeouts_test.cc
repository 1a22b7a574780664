// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <chrono>

#include "server/rpc/support/server_call.h"

namespace voxloc::server {
namespace {

using Clock = StreamTimeouts::Clock;

Clock::time_point After(double seconds) {
  return Clock::time_point() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

Limits TimeoutsOf(double open_s, double idle_s) {
  Limits limits;
  limits.open_timeout_s = open_s;
  limits.idle_timeout_s = idle_s;
  return limits;
}

TEST(StreamTimeoutsTest, TheFirstMessageHasATimeOfItsOwn) {
  StreamTimeouts timeouts(TimeoutsOf(10.0, 100.0));
  EXPECT_EQ(timeouts.NextCheck(After(0.0)), After(10.0));
  timeouts.ReadStarted(After(1.0));
  EXPECT_TRUE(timeouts.CheckRead(After(10.5)).ok());
  EXPECT_EQ(timeouts.NextCheck(After(10.0)), After(11.0));
  EXPECT_EQ(timeouts.CheckRead(After(11.0)).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(timeouts.begun());
  timeouts.ReadEnded();
  EXPECT_TRUE(timeouts.begun());
  timeouts.ReadStarted(After(12.0));
  EXPECT_TRUE(timeouts.CheckRead(After(111.0)).ok());
  EXPECT_FALSE(timeouts.CheckRead(After(112.0)).ok());
}

TEST(StreamTimeoutsTest, OnlyTheClientsTurnCounts) {
  StreamTimeouts timeouts(TimeoutsOf(10.0, 100.0));
  timeouts.ReadStarted(After(0.0));
  timeouts.ReadEnded();
  // The server works for an hour.
  EXPECT_TRUE(timeouts.CheckRead(After(3600.0)).ok());
  EXPECT_FALSE(timeouts.WriteTimedOut(After(3600.0)));
  EXPECT_EQ(timeouts.NextCheck(After(3600.0)), After(3700.0));
  timeouts.WriteStarted(After(3600.0));
  EXPECT_FALSE(timeouts.WriteTimedOut(After(3699.0)));
  EXPECT_TRUE(timeouts.WriteTimedOut(After(3700.0)));
  timeouts.WriteEnded();
  EXPECT_FALSE(timeouts.WriteTimedOut(After(3700.0)));
}

TEST(StreamTimeoutsTest, WhatIsOverIsNotLookedAtAgain) {
  StreamTimeouts timeouts(TimeoutsOf(10.0, 100.0));
  timeouts.ReadStarted(After(0.0));
  timeouts.WriteStarted(After(5.0));
  EXPECT_EQ(timeouts.NextCheck(After(20.0)), After(30.0));
  EXPECT_EQ(timeouts.NextCheck(After(100.0)), After(105.0));
}

TEST(StreamTimeoutsTest, ZeroIsNever) {
  StreamTimeouts timeouts(TimeoutsOf(0.0, 0.0));
  timeouts.ReadStarted(After(0.0));
  timeouts.WriteStarted(After(0.0));
  EXPECT_TRUE(timeouts.CheckRead(After(1e6)).ok());
  EXPECT_FALSE(timeouts.WriteTimedOut(After(1e6)));
  EXPECT_EQ(timeouts.NextCheck(After(1e6)), TimeoutWatch::kNever);
}

}  // namespace
}  // namespace voxloc::server
