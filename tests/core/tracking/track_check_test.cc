// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/track_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

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
  bool Believes(int scan, const Pose& map_T_base, bool near_guess = true) {
    doubt_ = check_.Add(scan * kScan_ns, map_T_base, near_guess);
    return doubt_.empty();
  }

  TrackCheck check_;
  std::string doubt_;
};

TEST_F(TrackCheckTest, ADriveIsBelievedFromItsFirstScan) {
  for (int scan = 1; scan <= 50; ++scan) EXPECT_TRUE(Believes(scan, At(3.0 * scan, 5.0 * scan)));
}

TEST_F(TrackCheckTest, PosesScatteredByHalfAMetreStayBelieved) {
  for (int scan = 1; scan <= 50; ++scan) {
    EXPECT_TRUE(Believes(scan, At(scan + (scan % 2 == 0 ? 0.5 : -0.5)))) << doubt_;
  }
}

TEST_F(TrackCheckTest, AVehicleGoesOnInTheDirectionThatItTurnsTo) {
  // 20 m/s around a corner of 90 degrees in three scans.
  for (int scan = 1; scan <= 5; ++scan) ASSERT_TRUE(Believes(scan, At(2.0 * scan)));
  Pose map_T_base = At(10.0);
  for (int scan = 6; scan <= 10; ++scan) {
    const double turn_deg = scan <= 8 ? 30.0 : 0.0;
    map_T_base = map_T_base * At(0.0, 0.5 * turn_deg) * At(2.0) * At(0.0, 0.5 * turn_deg);
    EXPECT_TRUE(Believes(scan, map_T_base)) << doubt_;
  }
}

TEST_F(TrackCheckTest, AJumpIsBelievedOnceFiveScansInARowAgree) {
  for (int scan = 1; scan <= 10; ++scan) ASSERT_TRUE(Believes(scan, At(scan)));
  for (int scan = 11; scan <= 14; ++scan) EXPECT_FALSE(Believes(scan, At(30.0 + scan)));
  EXPECT_THAT(doubt_,
              HasSubstr("34.0 m and 0 degrees from the last accepted one, 0.4 s ago; 4 of 5"));
  EXPECT_TRUE(Believes(15, At(45.0)));
  EXPECT_TRUE(Believes(16, At(46.0)));
}

TEST_F(TrackCheckTest, AMissBreaksTheRow) {
  ASSERT_TRUE(Believes(1, At(0.0)));
  for (int scan = 2; scan <= 4; ++scan) EXPECT_FALSE(Believes(scan, At(50.0)));
  check_.Miss();
  EXPECT_FALSE(Believes(6, At(50.0)));
  EXPECT_THAT(doubt_, HasSubstr("1 of 5"));
}

TEST_F(TrackCheckTest, AfterFiveMissesItBeginsAnewNearTheGuess) {
  for (const int missed : {4, 5}) {
    check_.Reset();
    ASSERT_TRUE(Believes(1, At(0.0)));
    ASSERT_TRUE(Believes(2, At(1.0)));
    for (int i = 0; i < missed; ++i) check_.Miss();
    EXPECT_EQ(Believes(3 + missed, At(100.0)), missed == 5) << doubt_;
  }
  for (int i = 0; i < 5; ++i) check_.Miss();
  EXPECT_FALSE(Believes(20, At(200.0), /*near_guess=*/false));
}

TEST_F(TrackCheckTest, DoubtedResultsDoNotBecomeBelievedByWaiting) {
  ASSERT_TRUE(Believes(1, At(0.0)));
  ASSERT_TRUE(Believes(2, At(1.0)));
  for (int scan = 3; scan <= 60; ++scan) {
    EXPECT_FALSE(Believes(scan, At(scan % 2 == 0 ? 20.0 : 30.0))) << scan;
  }
}

TEST_F(TrackCheckTest, PosesThatNoVehicleCanDriveAreNeverBelieved) {
  ASSERT_TRUE(Believes(1, At(0.0)));
  for (int scan = 2; scan <= 40; ++scan) {
    EXPECT_FALSE(Believes(scan, At(scan % 2 == 0 ? 100.0 : 110.0)));  // 100 m/s
    EXPECT_THAT(doubt_, HasSubstr("1 of 5"));
  }
  for (int scan = 41; scan <= 80; ++scan) {
    EXPECT_FALSE(Believes(scan, At(100.0, scan % 2 == 0 ? 0.0 : 80.0)));  // 800 degrees a second
  }
}

TEST_F(TrackCheckTest, AVehicleThatIsSlowDoesNotJumpAsAFastOneDrives) {
  ASSERT_TRUE(Believes(1, At(0.0)));
  ASSERT_TRUE(Believes(2, At(0.1)));
  EXPECT_FALSE(Believes(3, At(5.0)));
  // After two seconds it may be anywhere near.
  EXPECT_TRUE(Believes(22, At(20.0))) << doubt_;
}

TEST_F(TrackCheckTest, TheFirstPoseFarFromItsGuessMustBeConfirmed) {
  for (int scan = 1; scan <= 4; ++scan) {
    EXPECT_FALSE(Believes(scan, At(scan), /*near_guess=*/false));
    EXPECT_THAT(doubt_, HasSubstr("far from its guess"));
  }
  EXPECT_TRUE(Believes(5, At(5.0), /*near_guess=*/false));
}

TEST_F(TrackCheckTest, AfterAResetAndAReplayedLogItBeginsAnew) {
  ASSERT_TRUE(Believes(10, At(0.0)));
  check_.Reset();
  EXPECT_TRUE(Believes(11, At(500.0)));
  EXPECT_TRUE(Believes(3, At(-500.0)));
}

TEST_F(TrackCheckTest, ScansWithoutStampsAreJudgedByTheirGuessAlone) {
  for (const double x_m : {0.0, 500.0, -20.0}) EXPECT_TRUE(Believes(0, At(x_m)));
  EXPECT_FALSE(Believes(0, At(0.0), /*near_guess=*/false));
}

}  // namespace
}  // namespace voxloc
