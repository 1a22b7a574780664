// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "server/lifecycle/active_calls.h"

namespace voxloc::server {
namespace {

TEST(MemoryTrimTest, ComesOnceWhenAFloodOfCallsIsOver) {
  ActiveCalls calls;
  int trims = 0;
  bool takes = true;
  MemoryTrim trim(calls, [&] {
    ++trims;
    return takes;
  });
  const TimeoutWatch::Clock::time_point start;
  // Ends so many calls, and looks.
  const auto look = [&](int64_t ended) {
    for (int64_t i = 0; i < ended; ++i) {
      calls.Enter();
      calls.Leave();
    }
    EXPECT_GT(trim.Poll(start), start);
    return trims;
  };
  EXPECT_EQ(look(0), 0);
  EXPECT_EQ(look(MemoryTrim::kFlood - 1), 0);
  EXPECT_EQ(look(0), 0);  // that was no flood
  EXPECT_EQ(look(MemoryTrim::kFlood), 0);
  EXPECT_EQ(look(2 * MemoryTrim::kFlood), 0);  // goes on
  EXPECT_EQ(look(MemoryTrim::kFlood / 10), 0);
  EXPECT_EQ(look(MemoryTrim::kFlood / 10 - 1), 1);
  EXPECT_EQ(look(0), 1);
  EXPECT_EQ(look(MemoryTrim::kFlood), 1);
  takes = false;
  EXPECT_EQ(look(0), 2);
  takes = true;
  EXPECT_EQ(look(0), 3);
  EXPECT_EQ(look(0), 3);
}

}  // namespace
}  // namespace voxloc::server
