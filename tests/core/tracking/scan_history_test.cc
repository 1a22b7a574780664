// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "core/geometry/euler.h"
#include "core/tracking/pose_buffer.h"
#include "tests/core/tracking/refused_options.h"

namespace voxloc {
namespace {

constexpr int64_t kOneSecondNs = 1'000'000'000;

std::shared_ptr<const PointCloud> CloudOfSize(size_t points) {
  auto cloud = std::make_shared<PointCloud>();
  for (size_t i = 0; i < points; ++i) cloud->PushBack(1.0F, 2.0F, 3.0F);
  return cloud;
}

Pose AtX(double x_m) { return {{x_m, 0.0, 0.0}, Eigen::Quaterniond::Identity()}; }

std::vector<PlacedCloud> AddAt(ScanHistory& history, double time_s, double x_m,
                               size_t points = 10) {
  return history.Add(static_cast<int64_t>(time_s * 1e9), AtX(x_m), CloudOfSize(points));
}

AccumulationOptions UpTo(size_t scans) {
  AccumulationOptions options;
  options.max_scans = scans;
  return options;
}

TEST(ScanHistoryTest, PlacesEarlierScansByTheOdometry) {
  ScanHistory history(UpTo(3));
  const std::vector<Pose> odom_T_base = {
      {{-700.0, 31.0, 4.0}, RotationFromRosAngles(0.01, -0.02, 2.1)},
      {{-699.0, 32.0, 4.1}, RotationFromRosAngles(0.02, 0.01, 2.3)},
      {{-698.5, 33.5, 4.0}, RotationFromRosAngles(0.0, 0.02, 2.6)}};
  std::vector<std::shared_ptr<const PointCloud>> clouds;
  std::vector<PlacedCloud> earlier;
  for (size_t i = 0; i < odom_T_base.size(); ++i) {
    clouds.push_back(CloudOfSize(10));
    earlier =
        history.Add(static_cast<int64_t>(i) * kOneSecondNs / 10, odom_T_base[i], clouds.back());
    EXPECT_EQ(earlier.size(), i);
  }
  ASSERT_EQ(earlier.size(), 2U);
  for (size_t k = 0; k < 2; ++k) {
    const size_t then = 1 - k;  // the newest first
    EXPECT_EQ(earlier[k].cloud, clouds[then]);
    const Eigen::Matrix4d expected = odom_T_base[2].Matrix().inverse() * odom_T_base[then].Matrix();
    EXPECT_TRUE(earlier[k].target_T_cloud.Matrix().isApprox(expected, 1e-9)) << k;
  }
}

TEST(ScanHistoryTest, JoinsAtMostSoManyScans) {
  ScanHistory history(UpTo(3));
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(AddAt(history, 0.1 * i, 0.1 * i).size(), static_cast<size_t>(std::min(i, 2)));
  }
  EXPECT_EQ(history.points(), 30U);
  ScanHistory alone(UpTo(1));
  EXPECT_TRUE(AddAt(alone, 0.0, 0.0).empty());
  EXPECT_TRUE(AddAt(alone, 0.1, 0.0).empty());
}

TEST(ScanHistoryTest, OldScansFallOut) {
  AccumulationOptions options = UpTo(10);
  options.max_age_s = 1.0;
  ScanHistory history(options);
  EXPECT_EQ(AddAt(history, 0.0, 0.0).size(), 0U);
  EXPECT_EQ(AddAt(history, 0.6, 0.0).size(), 1U);
  EXPECT_EQ(AddAt(history, 1.0, 0.0).size(), 2U);
  EXPECT_EQ(AddAt(history, 1.5, 0.0).size(), 2U);
  EXPECT_EQ(AddAt(history, 100.0, 0.0).size(), 0U);
}

TEST(ScanHistoryTest, AJumpOfTheOdometryLeavesNothingOfTheOldFrame) {
  AccumulationOptions options = UpTo(10);
  options.max_distance_m = 5.0;
  ScanHistory history(options);
  EXPECT_EQ(AddAt(history, 0.0, 0.0).size(), 0U);
  EXPECT_EQ(AddAt(history, 0.1, 3.0).size(), 1U);
  EXPECT_EQ(AddAt(history, 0.2, 5.5).size(), 1U);  // the first is too far away
  EXPECT_EQ(AddAt(history, 0.3, 500.0).size(), 0U);
  // Back: what was seen before the jump does not return.
  EXPECT_EQ(AddAt(history, 0.4, 5.5).size(), 0U);
  EXPECT_EQ(AddAt(history, 0.5, 5.6).size(), 1U);
}

TEST(ScanHistoryTest, WhatCameBeforeAScanThatFallsOutFallsOutToo) {
  AccumulationOptions options = UpTo(10);
  options.max_distance_m = 5.0;
  ScanHistory history(options);
  EXPECT_EQ(AddAt(history, 0.0, 4.0).size(), 0U);
  EXPECT_EQ(AddAt(history, 0.1, 0.0).size(), 1U);
  // The second is too far away, the first would not be.
  EXPECT_EQ(AddAt(history, 0.2, 5.5).size(), 0U);
}

TEST(ScanHistoryTest, HoldsAtMostSoManyPoints) {
  AccumulationOptions options = UpTo(10);
  options.max_points = 25;
  ScanHistory history(options);
  EXPECT_EQ(AddAt(history, 0.0, 0.0, 10).size(), 0U);
  EXPECT_EQ(AddAt(history, 0.1, 0.0, 10).size(), 1U);
  EXPECT_EQ(AddAt(history, 0.2, 0.0, 10).size(), 1U);
  EXPECT_EQ(history.points(), 20U);
  // One that is too large goes by itself and is not kept.
  EXPECT_EQ(AddAt(history, 0.3, 0.0, 26).size(), 0U);
  EXPECT_EQ(history.points(), 0U);
  EXPECT_EQ(AddAt(history, 0.4, 0.0, 5).size(), 0U);
}

TEST(ScanHistoryTest, AStampThatGoesBackEmptiesIt) {
  ScanHistory history(UpTo(10));
  EXPECT_EQ(AddAt(history, 5.0, 0.0).size(), 0U);
  EXPECT_EQ(AddAt(history, 5.0, 0.0).size(), 1U);
  EXPECT_EQ(AddAt(history, 4.9, 0.0).size(), 0U);
  EXPECT_EQ(AddAt(history, 5.0, 0.0).size(), 1U);
  history.Clear();
  EXPECT_EQ(history.points(), 0U);
  EXPECT_EQ(AddAt(history, 5.1, 0.0).size(), 0U);
}

TEST(ScanHistoryTest, TakesStampsOfAnyClock) {
  ScanHistory history(UpTo(10));
  const auto add = [&](int64_t stamp_ns) {
    return history.Add(stamp_ns, Pose(), CloudOfSize(1)).size();
  };
  EXPECT_EQ(add(std::numeric_limits<int64_t>::min()), 0U);
  EXPECT_EQ(add(std::numeric_limits<int64_t>::max()), 0U);
  EXPECT_EQ(add(std::numeric_limits<int64_t>::max()), 1U);
}

TEST(ScanHistoryTest, OptionsOutsideTheirRangesAreNamed) {
  EXPECT_TRUE(ValidateAccumulationOptions(UpTo(100)).ok());
  ExpectRefused<AccumulationOptions>(
      ValidateAccumulationOptions,
      {{[](auto& o) { o.max_scans = 0; }, "scans must be from 1 to 100"},
       {[](auto& o) { o.max_scans = 101; }, "got 101"},
       {[](auto& o) { o.max_age_s = -1.0; }, "max_age_s"},
       {[](auto& o) { o.max_age_s = std::nan(""); }, "max_age_s"},
       {[](auto& o) { o.max_distance_m = 1001.0; }, "at most 1000"},
       {[](auto& o) { o.max_distance_m = std::nan(""); }, "max_distance_m"}},
      UpTo(5));
}

}  // namespace
}  // namespace voxloc
