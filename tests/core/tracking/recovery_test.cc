// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/recovery.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/core/tracking/refused_options.h"

namespace voxloc {
namespace {

Pose PoseAt(double x, double y, double yaw_rad) {
  return {{x, y, 1.5}, Eigen::Quaterniond(Eigen::AngleAxisd(yaw_rad, Eigen::Vector3d::UnitZ()))};
}

RecoveryPolicy LostPolicy(const RecoveryOptions& options = {},
                          const std::optional<Pose>& odometry = std::nullopt) {
  RecoveryPolicy policy(options);
  policy.Found(PoseAt(10, 20, 0.5), odometry);
  for (int64_t i = 0; i < options.lost_after_scans; ++i) policy.Missed();
  return policy;
}

TEST(RecoveryPolicyTest, AVehicleIsLostAfterSoManyMissesInARow) {
  RecoveryOptions options;
  options.lost_after_scans = 3;
  RecoveryPolicy policy(options);
  policy.Found(PoseAt(0, 0, 0), std::nullopt);
  policy.Missed();
  policy.Missed();
  EXPECT_FALSE(policy.NextSearch(std::nullopt));
  policy.Found(PoseAt(1, 0, 0), std::nullopt);
  policy.Missed();
  policy.Missed();
  EXPECT_FALSE(policy.lost());
  EXPECT_FALSE(policy.NextSearch(std::nullopt));
  policy.Missed();
  EXPECT_TRUE(policy.lost());
  const auto search = policy.NextSearch(std::nullopt);
  ASSERT_TRUE(search);
  EXPECT_EQ(search->map_T_base.translation.x(), 1.0);
}

TEST(RecoveryPolicyTest, TheRadiusGrowsWithEverySearchUpToItsLimit) {
  RecoveryOptions options;
  options.initial_radius_m = 2.0;
  options.max_radius_m = 12.0;
  options.radius_growth = 1.5;
  RecoveryPolicy policy = LostPolicy(options);
  uint64_t number = 0;
  for (const double radius_m : {2.0, 3.0, 4.5, 6.75, 10.125, 12.0, 12.0, 12.0}) {
    const auto search = policy.NextSearch(std::nullopt);
    ASSERT_TRUE(search);
    EXPECT_DOUBLE_EQ(search->radius_m, radius_m);
    EXPECT_EQ(search->number, number++);
    policy.Missed();
  }
  for (int i = 0; i < 5000; ++i) (void)policy.NextSearch(std::nullopt);
  EXPECT_DOUBLE_EQ(policy.NextSearch(std::nullopt)->radius_m, 12.0);

  policy.Found(PoseAt(0, 0, 0), std::nullopt);
  policy.UndoSearch();  // for what was under way
  for (int64_t i = 0; i < options.lost_after_scans; ++i) policy.Missed();
  // One that is not made is not counted.
  for (int i = 0; i < 3; ++i) {
    EXPECT_DOUBLE_EQ(policy.NextSearch(std::nullopt)->radius_m, 2.0);
    policy.UndoSearch();
  }
  EXPECT_EQ(policy.NextSearch(std::nullopt)->number, 0u);
  EXPECT_DOUBLE_EQ(policy.NextSearch(std::nullopt)->radius_m, 3.0);
}

TEST(RecoveryPolicyTest, WithoutOdometryTheMiddleStays) {
  const Pose good = PoseAt(10, 20, 0.5);
  RecoveryPolicy without_then = LostPolicy({}, std::nullopt);
  RecoveryPolicy without_now = LostPolicy({}, PoseAt(0, 0, 0));
  for (const auto& search :
       {without_then.NextSearch(PoseAt(5, 5, 1.0)), without_now.NextSearch(std::nullopt)}) {
    ASSERT_TRUE(search);
    EXPECT_EQ(search->map_T_base.translation, good.translation);
    EXPECT_LT(RotationDistance(search->map_T_base, good), 1e-12);
  }
}

TEST(RecoveryPolicyTest, TheMiddleMovesAsTheOdometryDoes) {
  // The odometry has an origin and a heading of its own: only what it moved by counts. It drove
  // 4 m ahead and 1 m to the left, and turned left by 0.2.
  const double heading = -1.1;
  const Pose then = PoseAt(-70, 30, heading);
  const Pose now = PoseAt(-70 + 4.0 * std::cos(heading) - 1.0 * std::sin(heading),
                          30 + 4.0 * std::sin(heading) + 1.0 * std::cos(heading), heading + 0.2);
  RecoveryPolicy policy = LostPolicy({}, then);
  const auto search = policy.NextSearch(now);
  ASSERT_TRUE(search);
  const Eigen::Vector3d expected(10 + 4.0 * std::cos(0.5) - 1.0 * std::sin(0.5),
                                 20 + 4.0 * std::sin(0.5) + 1.0 * std::cos(0.5), 1.5);
  EXPECT_LT((search->map_T_base.translation - expected).norm(), 1e-9);
  EXPECT_LT(RotationDistance(search->map_T_base, PoseAt(0, 0, 0.7)), 1e-9);
  EXPECT_LT(TranslationDistance(*policy.Expected(now), search->map_T_base), 1e-12);
}

TEST(RecoveryPolicyTest, AVehicleThatWasNeverFoundOrIsForgottenIsNotSearchedFor) {
  RecoveryPolicy reset = LostPolicy();
  reset.Reset();
  EXPECT_FALSE(reset.lost());
  for (RecoveryPolicy policy : {RecoveryPolicy({}), reset}) {
    EXPECT_FALSE(policy.Expected(std::nullopt));
    for (int i = 0; i < 100; ++i) policy.Missed();
    EXPECT_FALSE(policy.NextSearch(std::nullopt));
    EXPECT_FALSE(policy.NextSearch(PoseAt(0, 0, 0)));
  }
}

TEST(RecoveryOptionsTest, ValuesOutOfRangeAreNamed) {
  ExpectRefused<RecoveryOptions>(
      ValidateRecoveryOptions,
      {{[](auto& o) { o.lost_after_scans = 0; }, "lost_after_scans must be at least 1 (got 0)"},
       {[](auto& o) { o.initial_radius_m = 0.0; },
        "initial_radius_m must be finite and over 0 (got 0)"},
       {[](auto& o) { o.initial_radius_m = std::nan(""); }, "initial_radius_m must be finite"},
       {[](auto& o) { o.max_radius_m = 2.5; },
        "max_radius_m must be finite and at least initial_radius_m, 3 (got 2.5)"},
       {[](auto& o) { o.max_radius_m = HUGE_VAL; }, "initial_radius_m, 3 (got inf)"},
       {[](auto& o) { o.radius_growth = 1.0; }, "radius_growth must be finite and over 1 (got 1)"},
       {[](auto& o) { o.candidates = 0; }, "candidates must be from 1 to 1024 (got 0)"},
       {[](auto& o) { o.candidates = 1025; }, "(got 1025)"},
       {[](auto& o) { o.all_around_share = 1.1; },
        "all_around_share must be from 0 to 1 (got 1.1)"},
       {[](auto& o) { o.heading_spread_rad = -0.1; }, "(got -0.1)"},
       {[](auto& o) { o.min_matched_ratio = 2.0; },
        "min_matched_ratio must be from 0 to 1 (got 2)"},
       {[](auto& o) { o.min_confidence = std::nan(""); },
        "min_confidence must be from 0 to 1 (got "},
       {[](auto& o) { o.same.distance_m = 0.0; },
        "same.distance_m must be finite and over 0 (got 0)"},
       {[](auto& o) { o.same.angle_rad = std::nan(""); },
        "same.angle_rad must be finite and over 0"},
       {[](auto& o) { o.min_confirmation_travel_m = -1.0; },
        "min_confirmation_travel_m must be finite and at least 0 (got -1)"},
       {[](auto& o) { o.confirmation.max_observations = 0; },
        "max_observations must be at least 1"},
       {[](auto& o) { o.hypotheses.max_hypotheses = 0; }, "max_hypotheses must be from 1"}});
}

}  // namespace
}  // namespace voxloc
