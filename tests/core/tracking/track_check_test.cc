// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/tracking/scan_gate.h"

namespace voxloc {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kScan_ns = 100'000'000;  // at 10 Hz

Pose At(double x_m, double yaw_deg = 0.0) {
  return {Eigen::Vector3d(x_m, 0.0, 0.0),
          Eigen::Quaterniond(Eigen::AngleAxisd(yaw_deg * M_PI / 180.0, Eigen::Vector3d::UnitZ()))};
}

// Scans at 10 Hz, numbered by their stamps.
class TrackCheckTest : public ::testing::Test {
 protected:
  bool Expected(int scan, const Pose& map_T_base) {
    return check_.Add(scan * kScan_ns, map_T_base, /*near_guess=*/true).empty();
  }
  bool BelievesFar(int scan, const Pose& map_T_base) {
    doubt_ = check_.Add(scan * kScan_ns, map_T_base, /*near_guess=*/false);
    return doubt_.empty();
  }

  TrackCheck check_;
  std::string doubt_;
};

TEST_F(TrackCheckTest, WhatTheGuessExpectsIsBelieved) {
  for (int scan = 1; scan <= 9; ++scan) EXPECT_TRUE(Expected(scan, At(500.0 * scan)));
  EXPECT_TRUE(Expected(3, At(0.0)));  // a log that is replayed once more
}

TEST_F(TrackCheckTest, ADriveGoesOnThoughItsGuessesStayBehind) {
  ASSERT_TRUE(Expected(1, At(3.0)));
  for (int scan = 2; scan <= 50; ++scan) {
    EXPECT_TRUE(BelievesFar(scan, At(3.0 * scan, 5.0 * scan))) << doubt_;
  }
}

TEST_F(TrackCheckTest, PosesScatteredByHalfAMetreStayBelieved) {
  ASSERT_TRUE(Expected(1, At(0.5)));
  for (int scan = 2; scan <= 50; ++scan) {
    EXPECT_TRUE(BelievesFar(scan, At(scan + (scan % 2 == 0 ? 0.5 : -0.5)))) << doubt_;
  }
}

TEST_F(TrackCheckTest, AVehicleGoesOnInTheDirectionThatItTurnsTo) {
  // 20 m/s around a corner of 90 degrees in three scans.
  for (int scan = 1; scan <= 5; ++scan) ASSERT_TRUE(Expected(scan, At(2.0 * scan)));
  Pose map_T_base = At(10.0);
  for (int scan = 6; scan <= 10; ++scan) {
    const double turn_deg = scan <= 8 ? 30.0 : 0.0;
    map_T_base = map_T_base * At(0.0, 0.5 * turn_deg) * At(2.0) * At(0.0, 0.5 * turn_deg);
    EXPECT_TRUE(BelievesFar(scan, map_T_base)) << doubt_;
  }
}

TEST_F(TrackCheckTest, AJumpIsBelievedOnceFiveScansInARowAgree) {
  for (int scan = 1; scan <= 10; ++scan) ASSERT_TRUE(Expected(scan, At(scan)));
  for (int scan = 11; scan <= 14; ++scan) EXPECT_FALSE(BelievesFar(scan, At(30.0 + scan)));
  EXPECT_EQ(doubt_,
            "the pose is far from its guess, and 34.0 m and 0 degrees from the last accepted one, "
            "0.4 s ago; 4 of 5 scans in a row agree");
  EXPECT_TRUE(BelievesFar(15, At(45.0)));
  EXPECT_TRUE(BelievesFar(16, At(46.0)));
}

TEST_F(TrackCheckTest, AMissBreaksTheRow) {
  ASSERT_TRUE(Expected(1, At(0.0)));
  for (int scan = 2; scan <= 5; ++scan) EXPECT_FALSE(BelievesFar(scan, At(50.0)));
  check_.AddMiss();
  EXPECT_FALSE(BelievesFar(6, At(50.0)));
  EXPECT_THAT(doubt_, HasSubstr("1 of 5"));
}

TEST_F(TrackCheckTest, AVehicleThatWasMissedForFiveScansMustBeConfirmed) {
  for (const int missed : {4, 5}) {
    check_.Reset();
    ASSERT_TRUE(Expected(1, At(0.0)));
    ASSERT_TRUE(Expected(2, At(1.0)));
    for (int i = 0; i < missed; ++i) check_.AddMiss();
    EXPECT_EQ(BelievesFar(3 + missed, At(2.0 + missed)), missed == 4) << doubt_;
  }
}

TEST_F(TrackCheckTest, PosesThatNoVehicleCanDriveAreNeverBelieved) {
  ASSERT_TRUE(Expected(1, At(0.0)));
  for (int scan = 2; scan <= 60; ++scan) {
    EXPECT_FALSE(BelievesFar(scan, At(scan % 2 == 0 ? 100.0 : 110.0)));  // 100 m/s
    EXPECT_THAT(doubt_, HasSubstr("1 of 5"));
  }
  for (int scan = 61; scan <= 120; ++scan) {
    EXPECT_FALSE(BelievesFar(scan, At(100.0, scan % 2 == 0 ? 0.0 : 80.0)));  // 800 degrees a second
  }
}

TEST_F(TrackCheckTest, AVehicleThatIsSlowDoesNotJumpAsAFastOneDrives) {
  ASSERT_TRUE(Expected(1, At(0.0)));
  ASSERT_TRUE(Expected(2, At(0.1)));
  EXPECT_FALSE(BelievesFar(3, At(5.0)));
  // Two seconds later it may be anywhere near.
  EXPECT_TRUE(BelievesFar(22, At(18.0))) << doubt_;
}

TEST_F(TrackCheckTest, AfterAGapNothingIsKnown) {
  ASSERT_TRUE(Expected(1, At(0.0)));
  EXPECT_FALSE(BelievesFar(22, At(0.0)));
}

TEST_F(TrackCheckTest, ResultsThatAreNearInTimeTellNoSpeed) {
  ASSERT_TRUE(Expected(1, At(0.0)));
  ASSERT_TRUE(Expected(2, At(1.0)));
  // A second sensor's scan a millisecond later, 0.1 m off: not 100 m/s.
  EXPECT_TRUE(check_.Add(2 * kScan_ns + 1'000'000, At(1.1), /*near_guess=*/true).empty());
  EXPECT_TRUE(BelievesFar(3, At(2.0))) << doubt_;
}

TEST_F(TrackCheckTest, AfterAResetNothingIsKnown) {
  ASSERT_TRUE(Expected(10, At(0.0)));
  check_.Reset();
  EXPECT_FALSE(BelievesFar(11, At(0.0)));
}

TEST_F(TrackCheckTest, ScansWithoutStampsAreJudgedAlone) {
  for (const double x_m : {0.0, 500.0, -20.0}) EXPECT_TRUE(BelievesFar(0, At(x_m)));
}

}  // namespace
}  // namespace voxloc
