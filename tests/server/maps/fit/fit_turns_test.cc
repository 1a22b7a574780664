// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "server/maps/fit/tile_fits.h"

namespace voxloc::server {
namespace {

using std::chrono::seconds;

constexpr double kScanS = 0.01;  // of tracking

TEST(FitTurns, ComparisonsTakeTheirShareOfTheTimeOfTracking) {
  FitTurns turns(0.01);
  FitTurns::Clock::time_point now;
  double tracking_s = 0.0;
  double spent_s = 0.0;
  for (int i = 0; i < 100'000; ++i) {
    now += std::chrono::milliseconds(100);
    tracking_s += kScanS;
    if (!turns.Begin("bus", kScanS, now)) continue;
    // At most one is ahead of its share, whatever they take.
    const double took_s = i % 3 == 0 ? 0.002 : 0.015;
    EXPECT_LE(spent_s, 0.01 * tracking_s);
    spent_s += took_s;
    turns.End(took_s);
  }
  EXPECT_LE(spent_s, 0.01 * tracking_s + 0.015);
  EXPECT_GE(spent_s, 0.009 * tracking_s);
}

TEST(FitTurns, OneThatIsUnderWayCountsAlready) {
  FitTurns turns(0.01);
  const FitTurns::Clock::time_point now;
  EXPECT_TRUE(turns.Begin("bus", kScanS, now));
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(turns.Begin("bus", kScanS, now)) << i;
  turns.End(0.0);
  EXPECT_TRUE(turns.Begin("bus", kScanS, now));
}

TEST(FitTurns, ATimeWithoutComparisonsIsNotFollowedByABurst) {
  FitTurns turns(0.01);
  FitTurns::Clock::time_point now;
  // A batch that took an hour.
  EXPECT_TRUE(turns.Begin("bus", 3600.0, now));
  turns.End(0.01);
  int taken = 0;
  for (int i = 0; i < 1000; ++i) {
    if (!turns.Begin("bus", 0.0, now)) continue;
    ++taken;
    turns.End(0.01);
  }
  EXPECT_LE(taken, 10);
}

TEST(FitTurns, SessionsTakeTurnsHoweverManyScansTheySend) {
  FitTurns turns(0.01);
  FitTurns::Clock::time_point now;
  std::map<std::string, int> taken;
  for (int i = 0; i < 200'000; ++i) {
    now += std::chrono::milliseconds(1);
    const std::string session = i % 20 == 0 ? "bus" : (i % 2 == 0 ? "car" : "van");
    if (!turns.Begin(session, kScanS, now)) continue;
    ++taken[session];
    turns.End(0.01);
  }
  ASSERT_EQ(taken.size(), 3U);
  EXPECT_GT(taken["bus"], 100);
  EXPECT_NEAR(taken["bus"], taken["car"], 2);
  EXPECT_NEAR(taken["bus"], taken["van"], 2);
}

TEST(FitTurns, ASessionThatHasEndedIsNotWaitedForLong) {
  FitTurns turns(0.01);
  FitTurns::Clock::time_point now;
  EXPECT_TRUE(turns.Begin("car", kScanS, now));
  turns.End(0.0);
  EXPECT_TRUE(turns.Begin("bus", kScanS, now));
  turns.End(0.005);
  // The share is used up when the van comes; it never comes again.
  EXPECT_FALSE(turns.Begin("van", kScanS, now));
  EXPECT_FALSE(turns.Begin("bus", 100.0, now));
  EXPECT_FALSE(turns.Begin("bus", 100.0, now + seconds(9)));
  EXPECT_TRUE(turns.Begin("bus", 100.0, now + seconds(10)));
}

TEST(FitTurns, NoShareMeansNoComparison) {
  FitTurns turns(0.0);
  const FitTurns::Clock::time_point now;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(turns.Begin("bus", 1000.0, now));
}

}  // namespace
}  // namespace voxloc::server
