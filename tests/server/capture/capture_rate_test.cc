// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "server/capture/capture_recorder.h"

namespace voxloc::server {
namespace {

using std::chrono::milliseconds;

// How many of `tries` pass, a millisecond apart.
int Admitted(CaptureRate& rate, CaptureRate::Clock::time_point start, int tries) {
  int admitted = 0;
  for (int i = 0; i < tries; ++i) admitted += rate.Admit(start + milliseconds(i)) ? 1 : 0;
  return admitted;
}

TEST(CaptureRate, LetsSoManyASecondThrough) {
  const auto start = CaptureRate::Clock::now() + std::chrono::hours(1);
  CaptureRate rate;
  EXPECT_FALSE(rate.Admit(start));
  rate.Set(5.0);
  // A second's worth at once, and five a second after that.
  EXPECT_NEAR(Admitted(rate, start, 10'000), 55, 5);
  rate.Set(0.5);
  EXPECT_NEAR(Admitted(rate, start + std::chrono::seconds(10), 20'000), 10, 2);
}

TEST(CaptureRate, AClockThatStandsStillLetsNoMoreThrough) {
  const auto start = CaptureRate::Clock::now() + std::chrono::hours(1);
  CaptureRate rate;
  rate.Set(1.0);
  EXPECT_TRUE(rate.Admit(start));
  EXPECT_FALSE(rate.Admit(start));
  EXPECT_FALSE(rate.Admit(start - std::chrono::hours(2)));
  EXPECT_TRUE(rate.Admit(start + std::chrono::seconds(2)));
}

}  // namespace
}  // namespace voxloc::server
