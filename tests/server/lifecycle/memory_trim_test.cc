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
  EXPECT_EQ(look(MemoryTrim::kQuiet), 0);
  EXPECT_EQ(look(MemoryTrim::kQuiet), 0);  // goes on
  EXPECT_EQ(look(MemoryTrim::kQuiet - 1), 1);
  EXPECT_EQ(look(0), 1);
  // One that ends slowly.
  for (int64_t ended = 0; ended < MemoryTrim::kFlood - 1; ended += 50)
    EXPECT_EQ(look(50), ended < 950 ? 1 : 2);
  EXPECT_EQ(look(MemoryTrim::kFlood), 2);
  takes = false;
  EXPECT_EQ(look(0), 3);
  takes = true;
  EXPECT_EQ(look(0), 4);
  EXPECT_EQ(look(0), 4);
}

}  // namespace
}  // namespace voxloc::server
