// SPDX-License-Identifier: Apache-2.0
//
// Which scans shadow mode compares, and with which numbers.

#include "clients/ros/core/shadow_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/geometry/euler.h"
#include "tests/clients/ros/fake_ports.h"

namespace voxloc::ros {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kPeriodNs = 100'000'000;

Pose At(double x_m) { return {{x_m, 0.0, 0.0}, Eigen::Quaterniond::Identity()}; }

TEST(ShadowComparison, TheDifferenceIsThatOfTheMatricesInTheAxesOfTheIncumbentsBase) {
  ShadowComparison comparison;
  const Pose incumbent{{100.0, -50.0, 3.0}, RotationFromRosAngles(0.02, -0.03, 2.5)};
  const Pose voxloc{{100.1, -50.2, 3.05}, RotationFromRosAngles(0.021, -0.032, 2.51)};
  EXPECT_THAT(comparison.AddScan(5, voxloc), IsEmpty());
  const std::vector<ShadowScan> known = comparison.AddIncumbent(5, incumbent);
  ASSERT_THAT(known, SizeIs(1));
  const Eigen::Matrix4d expected = incumbent.Matrix().inverse() * voxloc.Matrix();
  EXPECT_LT((known[0].Difference()->Matrix() - expected).cwiseAbs().maxCoeff(), 1e-12);

  const DiagnosticStatus status = ShadowStatus("voxloc_shadow", BridgeParameters(), known[0]);
  EXPECT_EQ(status.name, "voxloc_shadow: shadow_status");
  EXPECT_EQ(status.level, DiagnosticStatus::kWarn);
  EXPECT_THAT(status.message, HasSubstr("0.229 m"));  // |(0.1, -0.2, 0.05)|
  EXPECT_NEAR(std::stod(ValueOf(status, "difference_x")), expected(0, 3), 1e-6);
  EXPECT_NEAR(std::stod(ValueOf(status, "difference_yaw")),
              kDegreesPerRadian * std::atan2(expected(1, 0), expected(0, 0)), 1e-6);
  EXPECT_NEAR(std::stod(ValueOf(status, "difference_pitch")),
              -kDegreesPerRadian * std::asin(expected(2, 0)), 1e-6);
  EXPECT_NEAR(std::stod(ValueOf(status, "difference_roll")),
              kDegreesPerRadian * std::atan2(expected(2, 1), expected(2, 2)), 1e-6);
}

TEST(ShadowComparison, EachLimitWarnsByItself) {
  const auto level_of = [](const Pose& voxloc, const BridgeParameters& parameters) {
    return ShadowStatus("node", parameters, {0, voxloc, Pose(), {}}).level;
  };
  const auto turned = [](double deg) {
    return Pose{{0.0, 0.0, 0.0}, RotationFromRosAngles(deg * kRadiansPerDegree, 0.0, 0.0)};
  };
  BridgeParameters parameters;
  EXPECT_EQ(level_of(At(0.0199), parameters), DiagnosticStatus::kOk);
  EXPECT_EQ(level_of(At(-0.0201), parameters), DiagnosticStatus::kWarn);
  EXPECT_EQ(level_of(turned(-0.199), parameters), DiagnosticStatus::kOk);
  EXPECT_EQ(level_of(turned(0.201), parameters), DiagnosticStatus::kWarn);
  parameters.shadow_max_position_m = 0.03;
  parameters.shadow_max_rotation_deg = 0.3;
  EXPECT_EQ(level_of(At(0.0201), parameters), DiagnosticStatus::kOk);
  EXPECT_EQ(level_of(turned(0.201), parameters), DiagnosticStatus::kOk);
}

TEST(ShadowComparison, CountsScansByWhoHasAPose) {
  ShadowComparison comparison;
  EXPECT_THAT(comparison.AddIncumbent(1 * kPeriodNs, At(1.0)), IsEmpty());
  EXPECT_EQ(comparison.AddScan(1 * kPeriodNs, At(1.0))[0].counts.compared, 1u);
  EXPECT_THAT(comparison.AddScan(2 * kPeriodNs, At(2.0)), IsEmpty()) << "it can still come";
  EXPECT_THAT(comparison.AddScan(3 * kPeriodNs, std::nullopt), IsEmpty());
  EXPECT_THAT(comparison.AddScan(4 * kPeriodNs, std::nullopt), IsEmpty());
  // Over a missing pose, 0.2 s, nothing is interpolated.
  const std::vector<ShadowScan> known = comparison.AddIncumbent(3 * kPeriodNs, At(3.0));
  ASSERT_THAT(known, SizeIs(2));
  EXPECT_EQ(known[0].counts.only_voxloc, 1u);
  EXPECT_FALSE(known[0].incumbent_map_T_base.has_value());
  EXPECT_EQ(known[1].counts.only_incumbent, 1u);
  // Neither has one: no count, and no warning.
  const std::vector<ShadowScan> neither = comparison.AddIncumbent(5 * kPeriodNs, At(5.0));
  ASSERT_THAT(neither, SizeIs(1));
  EXPECT_EQ(
      neither[0].counts.compared + neither[0].counts.only_voxloc + neither[0].counts.only_incumbent,
      3u);
  EXPECT_EQ(ShadowStatus("node", BridgeParameters(), neither[0]).level, DiagnosticStatus::kOk);
}

TEST(ShadowComparison, InterpolatesBetweenTheTwoPosesAround) {
  ShadowComparison comparison;
  const Pose older{{10.0, 0.0, 0.0}, RotationFromRosAngles(0.0, 0.0, 0.1)};
  const Pose newer{{14.0, 2.0, 0.0}, RotationFromRosAngles(0.0, 0.0, 0.5)};
  EXPECT_THAT(comparison.AddIncumbent(kPeriodNs, older), IsEmpty());
  EXPECT_THAT(comparison.AddScan(kPeriodNs + kPeriodNs / 4, Pose()), IsEmpty());
  const std::vector<ShadowScan> known = comparison.AddIncumbent(2 * kPeriodNs, newer);
  ASSERT_THAT(known, SizeIs(1));
  const Pose expected{{11.0, 0.5, 0.0}, RotationFromRosAngles(0.0, 0.0, 0.2)};
  EXPECT_LT(TranslationDistance(*known[0].incumbent_map_T_base, expected), 1e-12);
  EXPECT_LT(RotationDistance(*known[0].incumbent_map_T_base, expected), 1e-7);
  // A scan from before the first pose has none.
  EXPECT_FALSE(comparison.AddScan(kPeriodNs / 2, Pose())[0].incumbent_map_T_base.has_value());
}

TEST(ShadowComparison, AnIncumbentThatEndsOrIsFastTakesNoMemory) {
  ShadowComparison comparison;
  size_t known = 0;
  for (int i = 0; i < 1000; ++i) known += comparison.AddScan(i * kPeriodNs, Pose()).size();
  EXPECT_EQ(known, 1000 - ShadowComparison::kMaxWaiting);

  IncumbentHistory history;
  for (int64_t stamp = 0; stamp < 2000; ++stamp) history.Push({stamp, Pose(), Matrix6::Zero()});
  EXPECT_EQ(history.size(), kMaxPoses);
  EXPECT_TRUE(history.At(1999).has_value());
  EXPECT_FALSE(history.At(1499).has_value());
}

TEST(ShadowComparison, AReplayedLogIsComparedAgain) {
  ShadowComparison comparison;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 5; ++i) {
      static_cast<void>(comparison.AddIncumbent(i * kPeriodNs, At(i)));
      ASSERT_THAT(comparison.AddScan(i * kPeriodNs, At(i)), SizeIs(1));
    }
  }
  EXPECT_EQ(comparison.AddScan(0, At(0.0))[0].counts.only_voxloc, 0u);
}

}  // namespace
}  // namespace voxloc::ros
