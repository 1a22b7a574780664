// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/pose_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/geometry/euler.h"
#include "tests/core/tracking/refused_options.h"

namespace voxloc {
namespace {

using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kSecond = 1'000'000'000;

Eigen::Quaterniond Yaw(double degrees) {
  return Eigen::Quaterniond(
      Eigen::AngleAxisd(degrees * kRadiansPerDegree, Eigen::Vector3d::UnitZ()));
}

BufferedPose At(int64_t stamp_ns, double x, double y = 0.0, double yaw_degrees = 0.0) {
  BufferedPose pose;
  pose.stamp_ns = stamp_ns;
  pose.map_T_base = {{x, y, 0.0}, Yaw(yaw_degrees)};
  return pose;
}

double YawDegrees(const Pose& pose) {
  const Eigen::Vector3d forward = pose.rotation * Eigen::Vector3d::UnitX();
  return std::atan2(forward.y(), forward.x()) / kRadiansPerDegree;
}

PoseBuffer Filled(const PoseBufferOptions& options, const std::vector<BufferedPose>& poses) {
  PoseBuffer buffer(options);
  for (const BufferedPose& pose : poses) EXPECT_TRUE(buffer.Push(pose).ok());
  return buffer;
}

std::string Refusal(const PoseBuffer& buffer, int64_t stamp_ns) {
  const auto pose = buffer.Interpolate(stamp_ns);
  EXPECT_EQ(pose.status().code(), absl::StatusCode::kFailedPrecondition) << pose.status();
  return std::string(pose.status().message());
}

TEST(PoseBufferTest, HalvesTheWayOfTheReferencesOwnExample) {
  const PoseBuffer buffer =
      Filled(ReferenceBufferOptions(), {At(10 * kSecond, 10, 20, 0), At(20 * kSecond, 20, 40, 90)});
  const auto pose = buffer.Interpolate(15 * kSecond);
  ASSERT_TRUE(pose.ok()) << pose.status();
  EXPECT_EQ(pose->stamp_ns, 15 * kSecond);
  EXPECT_TRUE(pose->map_T_base.translation.isApprox(Eigen::Vector3d(15, 30, 0), 1e-12));
  EXPECT_NEAR(YawDegrees(pose->map_T_base), 45.0, 1e-9);
}

TEST(PoseBufferTest, MovesRollPitchAndYawEachLinearly) {
  const auto rotation = [](double roll, double pitch, double yaw) {
    return Eigen::Quaterniond(Eigen::AngleAxisd(yaw, Eigen::Vector3d::UnitZ()) *
                              Eigen::AngleAxisd(pitch, Eigen::Vector3d::UnitY()) *
                              Eigen::AngleAxisd(roll, Eigen::Vector3d::UnitX()));
  };
  BufferedPose from = At(0, 0);
  from.map_T_base.rotation = rotation(0.4, -0.2, 1.0);
  BufferedPose to = At(kSecond, 1);
  to.map_T_base.rotation = rotation(-0.4, 0.6, 2.0);
  const auto pose = Filled({}, {from, to}).Interpolate(kSecond / 4);
  ASSERT_TRUE(pose.ok()) << pose.status();
  EXPECT_LT(pose->map_T_base.rotation.angularDistance(rotation(0.2, 0.0, 1.25)), 1e-9);
}

TEST(PoseBufferTest, TurnsTheShortWay) {
  const struct {
    double from, to, halfway;
  } rows[] = {
      {170, -170, 180}, {-170, 170, 180}, {-100, 100, 180}, {100, -90, -175},
      {-89, 90, 0.5},   {10, 350, 0},     {0, 180, -90},  // a half turn goes the negative way
  };
  for (const auto& row : rows) {
    const PoseBuffer buffer = Filled({}, {At(0, 0, 0, row.from), At(kSecond / 2, 0, 0, row.to)});
    const auto pose = buffer.Interpolate(kSecond / 4);
    ASSERT_TRUE(pose.ok()) << pose.status();
    EXPECT_NEAR(pose->map_T_base.rotation.angularDistance(Yaw(row.halfway)), 0.0, 1e-7)
        << row.from << " to " << row.to << " gave " << YawDegrees(pose->map_T_base);
  }
}

TEST(PoseBufferTest, GivesTheOlderPosesCovariance) {
  BufferedPose older = At(0, 0);
  older.covariance = 2.0 * Matrix6::Identity();
  BufferedPose newer = At(kSecond, 1);
  newer.covariance = 3.0 * Matrix6::Identity();
  const PoseBuffer buffer = Filled({}, {older, newer});
  EXPECT_EQ(buffer.Interpolate(kSecond - 1)->covariance, older.covariance);
  EXPECT_EQ(buffer.Interpolate(kSecond)->covariance, newer.covariance);
}

TEST(PoseBufferTest, NamesThePosesThatItInterpolatesBetween) {
  const PoseBuffer buffer = Filled({}, {At(0, 1), At(kSecond, 2), At(2 * kSecond, 4)});
  const auto between = buffer.Interpolate(kSecond + kSecond / 2);
  ASSERT_TRUE(between.ok()) << between.status();
  EXPECT_EQ(between->older.stamp_ns, kSecond);
  EXPECT_EQ(between->older.map_T_base.translation.x(), 2.0);
  EXPECT_EQ(between->newer.stamp_ns, 2 * kSecond);
  EXPECT_EQ(between->newer.map_T_base.translation.x(), 4.0);
  const auto after = buffer.Interpolate(2 * kSecond);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->older.stamp_ns, 2 * kSecond);
  EXPECT_EQ(after->newer.stamp_ns, 2 * kSecond);
}

TEST(PoseBufferTest, NeedsTwoPoses) {
  EXPECT_THAT(Refusal(PoseBuffer({}), 0), HasSubstr("at least 2 poses (got 0)"));
  EXPECT_THAT(Refusal(Filled({}, {At(0, 0)}), 0), HasSubstr("at least 2 poses (got 1)"));
}

TEST(PoseBufferTest, RefusesAStampBeforeTheFirst) {
  const PoseBuffer buffer = Filled({}, {At(kSecond, 0), At(kSecond + kSecond / 2, 0)});
  EXPECT_THAT(Refusal(buffer, kSecond - kSecond / 4), HasSubstr("0.25 s before"));
  EXPECT_THAT(Refusal(buffer, kSecond - 1), HasSubstr("before that of the first pose"));
  EXPECT_TRUE(buffer.Interpolate(kSecond).ok());
}

TEST(PoseBufferTest, DoesNotExtrapolate) {
  const PoseBuffer buffer = Filled({}, {At(0, 0), At(kSecond, 5, 1, 30)});
  const auto pose = buffer.Interpolate(kSecond + 900'000'000);
  ASSERT_TRUE(pose.ok()) << pose.status();
  EXPECT_EQ(pose->stamp_ns, kSecond + 900'000'000);
  EXPECT_EQ(pose->map_T_base.translation, Eigen::Vector3d(5, 1, 0));
  EXPECT_NEAR(YawDegrees(pose->map_T_base), 30.0, 1e-9);
  EXPECT_THAT(Refusal(buffer, 2 * kSecond), HasSubstr("less than 1 s"));
}

TEST(PoseBufferTest, PosesMustBeNearerInTimeAndPlaceThanTheLimits) {
  const PoseBufferOptions reference = ReferenceBufferOptions();
  const struct {
    PoseBufferOptions options;
    int64_t newer_ns;  // the older one is at 0
    Eigen::Vector3d newer_m;
    int64_t at_ns;
    const char* refusal;  // empty: none
  } rows[] = {
      {{}, 1'900'000'000, {1, 0, 0}, 950'000'000, ""},
      {{}, 2'000'000'000, {1, 0, 0}, 1'000'000'000, "less than 1 s"},
      {{}, 1'900'000'000, {1, 0, 0}, 900'000'000, "less than 1 s"},
      {{}, 1'900'000'000, {1, 0, 0}, 1'000'000'000, "less than 1 s"},
      {{}, 1'999'999'998, {1, 0, 0}, 999'999'999, ""},
      {{}, kSecond, {9.999, 0, 0}, kSecond / 2, ""},
      {{}, kSecond, {10, 0, 0}, kSecond / 2, "nearer than 10 m"},
      {{}, kSecond, {6, 8, 0}, kSecond / 2, "nearer than 10 m"},
      {{}, kSecond, {6, 7, 3}, kSecond / 2, ""},
      {{}, kSecond, {6, 7, 4}, kSecond / 2, "nearer than 10 m"},
      {{}, kSecond, {0, 0, -11}, kSecond / 2, "nearer than 10 m"},
      {reference, 999 * kSecond, {999, 0, 0}, kSecond, ""},
      {reference, 1001 * kSecond, {999, 0, 0}, kSecond, "less than 1000 s"},
      {reference, 999 * kSecond, {1000, 0, 0}, kSecond, "nearer than 1000 m"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.newer_ns);
    BufferedPose newer = At(row.newer_ns, 0);
    newer.map_T_base.translation = row.newer_m;
    PoseBuffer buffer = Filled(row.options, {At(0, 0), newer});
    const bool refused = *row.refusal != '\0';
    EXPECT_EQ(buffer.Interpolate(row.at_ns).ok(), !refused) << row.newer_m.transpose();
    if (!refused) continue;
    EXPECT_THAT(Refusal(buffer, row.at_ns), HasSubstr(row.refusal));
    buffer.SetLimits(1001.5, 1000.5);
    EXPECT_TRUE(buffer.Interpolate(row.at_ns).ok());
  }
}

TEST(PoseBufferTest, AStampThatGoesBackEmptiesItFirst) {
  PoseBuffer buffer = Filled({}, {At(kSecond, 0), At(2 * kSecond, 1), At(3 * kSecond, 2)});
  ASSERT_TRUE(buffer.Push(At(3 * kSecond - 1, 7)).ok());
  EXPECT_EQ(buffer.size(), 1u);
  EXPECT_THAT(Refusal(buffer, 3 * kSecond), HasSubstr("at least 2 poses (got 1)"));
  ASSERT_TRUE(buffer.Push(At(3 * kSecond, 8)).ok());
  EXPECT_EQ(buffer.Interpolate(3 * kSecond)->map_T_base.translation.x(), 8.0);
}

TEST(PoseBufferTest, TheLastOfEqualStampsCounts) {
  const PoseBuffer buffer =
      Filled({}, {At(0, 0), At(kSecond / 2, 1), At(kSecond / 2, 2), At(kSecond, 4)});
  EXPECT_EQ(buffer.size(), 4u);
  EXPECT_EQ(buffer.Interpolate(kSecond / 2)->map_T_base.translation.x(), 2.0);
  EXPECT_EQ(buffer.Interpolate(3 * kSecond / 4)->map_T_base.translation.x(), 3.0);
  EXPECT_EQ(buffer.Interpolate(kSecond / 4)->map_T_base.translation.x(), 0.5);

  const PoseBuffer only_equal = Filled({}, {At(0, 1), At(0, 2)});
  EXPECT_EQ(only_equal.Interpolate(0)->map_T_base.translation.x(), 2.0);
}

TEST(PoseBufferTest, PopsWhatIsOlderThanAStamp) {
  PoseBuffer buffer = Filled({}, {At(1, 0), At(2, 0), At(2, 0), At(3, 0)});
  buffer.PopOld(2);
  EXPECT_EQ(buffer.size(), 3u);
  buffer.PopOld(3);
  EXPECT_EQ(buffer.size(), 1u);
  buffer.PopOld(4);  // newer than all: two fresh poses are needed
  EXPECT_EQ(buffer.size(), 0u);
  buffer = Filled({}, {At(5, 0), At(6, 0)});
  buffer.Clear();
  EXPECT_EQ(buffer.size(), 0u);
}

TEST(PoseBufferTest, TheOldestGoesWhenItIsFull) {
  PoseBufferOptions options;
  options.max_poses = 3;
  PoseBuffer buffer(options);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(buffer.Push(At(i * 1000, i)).ok());
    EXPECT_LE(buffer.size(), 3u);
  }
  EXPECT_FALSE(buffer.Interpolate(96'999).ok());
  EXPECT_EQ(buffer.Interpolate(97'000)->map_T_base.translation.x(), 97.0);
  EXPECT_EQ(buffer.Interpolate(98'500)->map_T_base.translation.x(), 98.5);
}

TEST(PoseBufferTest, ABadPoseIsRefusedAndChangesNothing) {
  const std::function<void(BufferedPose&)> spoils[] = {
      [](auto& pose) { pose.map_T_base.translation.x() = kNan; },
      [](auto& pose) { pose.map_T_base.translation.x() = HUGE_VAL; },
      [](auto& pose) { pose.map_T_base.rotation.z() = kNan; },
      [](auto& pose) { pose.map_T_base.rotation.coeffs().setZero(); },
      [](auto& pose) { pose.covariance(2, 3) = kNan; }};
  for (const auto& spoil : spoils) {
    BufferedPose bad = At(1, 0);
    spoil(bad);
    PoseBuffer buffer = Filled({}, {At(10, 0), At(11, 1)});  // the bad one's stamp goes back
    const absl::Status status = buffer.Push(bad);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_FALSE(status.message().empty());
    EXPECT_EQ(buffer.size(), 2u);
    EXPECT_TRUE(buffer.Interpolate(10).ok());
  }
}

TEST(PoseBufferTest, StampsOfTodayAndAroundZeroKeepTheirNanoseconds) {
  for (const int64_t now_ns : {int64_t{1'790'000'000'123'456'789}, int64_t{-500}}) {
    const PoseBuffer buffer = Filled({}, {At(now_ns, 0), At(now_ns + 1000, 1)});
    for (const int64_t after_ns : {1, 500, 999}) {
      EXPECT_NEAR(buffer.Interpolate(now_ns + after_ns)->map_T_base.translation.x(),
                  1e-3 * static_cast<double>(after_ns), 1e-12);
    }
  }
}

TEST(PoseBufferTest, TheWidestStampsAreTooFarApart) {
  constexpr int64_t kFirst = std::numeric_limits<int64_t>::min();
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
  const PoseBuffer buffer = Filled(ReferenceBufferOptions(), {At(kFirst, 0), At(kLast, 1)});
  EXPECT_THAT(Refusal(buffer, 0), HasSubstr("less than 1000 s"));
  EXPECT_THAT(Refusal(buffer, kLast - 1), HasSubstr("less than 1000 s"));
  EXPECT_TRUE(buffer.Interpolate(kLast).ok());
}

TEST(PoseBufferTest, OptionsOutOfRangeAreNamed) {
  EXPECT_TRUE(ValidatePoseBufferOptions(ReferenceBufferOptions()).ok());
  ExpectRefused<PoseBufferOptions>(
      ValidatePoseBufferOptions,
      {{[](auto& o) { o.timeout_s = 0.0; }, "timeout_s must be finite and over 0 (got 0)"},
       {[](auto& o) { o.timeout_s = -1.0; }, "timeout_s must be finite and over 0 (got -1)"},
       {[](auto& o) { o.timeout_s = kNan; }, "timeout_s must be finite and over 0 (got nan)"},
       {[](auto& o) { o.distance_tolerance_m = 0.0; },
        "distance_tolerance_m must be finite and over 0 (got 0)"},
       {[](auto& o) { o.distance_tolerance_m = HUGE_VAL; }, "over 0 (got inf)"},
       {[](auto& o) { o.max_poses = 1; }, "max_poses must be from 2 to 100000 (got 1)"},
       {[](auto& o) { o.max_poses = kMaxBufferedPoses + 1; }, "(got 100001)"}});
}

}  // namespace
}  // namespace voxloc
