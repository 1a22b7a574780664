// SPDX-License-Identifier: Apache-2.0
//
// Sessions that fuse scans with odometry.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <optional>

#include "core/geometry/euler.h"
#include "server/convert/pose.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/engine_test.h"

namespace voxloc::server {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr int64_t kScanPeriodNs = 100'000'000;

Pose FusedPoseOf(const v1::AlignmentResult& result) {
  auto pose = PoseFromProto(result.fused().map_t_base().pose(), "pose");
  EXPECT_TRUE(pose.ok()) << pose.status();
  return pose.value_or(Pose());
}

double FusedSigma(const v1::AlignmentResult& result, int axis) {
  return std::sqrt(result.fused().map_t_base().covariance(7 * axis));
}

// A vehicle that drives ahead and turns, by wheels that count 2 % too much.
class Fusion : public EngineTest {
 protected:
  static v1::OpenSession Open() {
    v1::OpenSession open = TownSession();
    open.mutable_fusion();
    return open;
  }

  static Pose Truth(int step) {
    return VehiclePose() * Pose{{0.3 * step, 0.0, 0.0}, Eigen::Quaterniond::Identity()};
  }

  // The scan of this step. `seen`: the step that its points are of; nullopt: of a place that the
  // map does not have.
  static v1::Scan ScanAt(int step, std::optional<int> seen) {
    v1::Scan scan = GoodScan(static_cast<uint64_t>(step));
    scan.set_stamp_ns(1'000'000'000 + step * kScanPeriodNs);
    if (step > 0) scan.clear_guess_map_t_base();
    PointCloud points = ScanFrom(Truth(seen.value_or(0)));
    if (!seen.has_value()) {
      for (size_t i = 0; i < points.size(); ++i) points.z[i] = -points.z[i] + 5.0F;
    }
    *scan.mutable_clouds(0)->mutable_cloud() = CloudOf(points);
    *scan.mutable_odom_t_base() = PoseOf(Odometry(step));
    return scan;
  }

  static Pose Odometry(int step) {
    const Pose odom_T_start{{-700.0, 31.0, 4.0}, RotationFromRosAngles(0.0, 0.0, 2.1)};
    return odom_T_start * Pose{{1.02 * 0.3 * step, 0.0, 0.0}, Eigen::Quaterniond::Identity()};
  }

  // That the fused pose is the truth, as well as the little town tells it: its walls and poles say
  // x and y, and its ground hardly z, for which results differ by centimetres from machine to
  // machine.
  static void ExpectAt(int step, const v1::AlignmentResult& result) {
    const Eigen::Vector3d error = FusedPoseOf(result).translation - Truth(step).translation;
    EXPECT_LT(error.head<2>().norm(), 0.03) << step;
    EXPECT_LT(std::abs(error.z()), 0.1) << step;
  }

  TownServer server_{{}, EngineHandle()};
};
VOXLOC_INSTANTIATE_ON_ENGINES(Fusion);

TEST_P(Fusion, ResultsHaveTheFusedPose) {
  TestSession session(server_, Open());
  for (int step = 0; step < 20; ++step) {
    const v1::AlignmentResult result = session.Align(ScanAt(step, step));
    ASSERT_TRUE(result.accepted()) << step << result.ShortDebugString();
    const v1::FusedPose& fused = result.fused();
    EXPECT_TRUE(fused.scan_used()) << fused.detail();
    EXPECT_EQ(fused.resets(), 1U);
    ASSERT_EQ(fused.sources_size(), 6);
    ASSERT_EQ(fused.distance_since_observed_m_size(), 6);
    for (const int axis : {0, 1, 5}) {
      EXPECT_EQ(fused.sources(axis), v1::AXIS_SOURCE_SCAN) << step << " " << axis;
      EXPECT_EQ(fused.distance_since_observed_m(axis), 0.0) << step << " " << axis;
    }
    ExpectAt(step, result);
    // The errors that all scans have in common do not average out.
    EXPECT_GT(FusedSigma(result, 0), 0.04);
    EXPECT_LT(FusedSigma(result, 0), 0.1);
    const Pose map_T_odom = PoseFromProto(fused.map_t_odom(), "map_t_odom").value();
    EXPECT_LT(TranslationDistance(map_T_odom * Odometry(step), FusedPoseOf(result)), 1e-9);
    if (step == 0) continue;
    // The guess is the filter's, which soon knows the scale.
    const Pose guess = PoseFromProto(result.guess_map_t_base(), "guess").value();
    EXPECT_LT(TranslationDistance(guess, Truth(step)), 0.05) << step;
    if (step == 19) {
      EXPECT_NEAR(fused.base_twist().linear().x(), 3.0, 0.06) << "0.3 m each 0.1 s";
      ASSERT_EQ(fused.base_twist_covariance_size(), 36);
      EXPECT_GT(fused.base_twist_covariance(0), 0.0);
      EXPECT_NEAR(fused.odometry_scale(), 1.0 / 1.02, 3.0 * fused.odometry_scale_sigma());
      EXPECT_LT(fused.odometry_scale_sigma(), 0.02);
    }
  }
}

TEST_P(Fusion, TheOdometryCarriesThePoseWhereScansFail) {
  TestSession session(server_, Open());
  for (int step = 0; step < 10; ++step) static_cast<void>(session.Align(ScanAt(step, step)));
  for (int step = 10; step < 20; ++step) {
    const v1::AlignmentResult result = session.Align(ScanAt(step, std::nullopt));
    EXPECT_FALSE(result.accepted());
    const v1::FusedPose& fused = result.fused();
    EXPECT_FALSE(fused.scan_used());
    EXPECT_THAT(fused.detail(), HasSubstr("no accepted result"));
    EXPECT_THAT(fused.sources(), Each(v1::AXIS_SOURCE_MOTION));
    EXPECT_NEAR(fused.distance_since_observed_m(0), 1.02 * 0.3 * (step - 9), 1e-6);
    EXPECT_LT(TranslationDistance(FusedPoseOf(result), Truth(step)), 0.1);
  }
  const v1::AlignmentResult back = session.Align(ScanAt(20, 20));
  EXPECT_TRUE(back.fused().scan_used()) << back.ShortDebugString();
  ExpectAt(20, back);
}

TEST_P(Fusion, ActivatingForgetsThePose) {
  TestSession session(server_, Open());
  ASSERT_TRUE(session.Align(ScanAt(0, 0)).has_fused());
  v1::AlignScansRequest activate;
  activate.mutable_activate()->set_active(true);
  session.Send(activate);
  EXPECT_TRUE(session.Read().has_activated());
  const v1::AlignmentResult result = session.Align(ScanAt(1, 1));
  EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_NO_PRIOR);
  EXPECT_FALSE(result.has_fused());
}

TEST_P(Fusion, IsOffUnlessAskedFor) {
  TestSession session(server_, TownSession());
  EXPECT_FALSE(session.Align(ScanAt(0, 0)).has_fused());
}

TEST_P(Fusion, OptionsAreChecked) {
  v1::OpenSession open = Open();
  open.mutable_fusion()->mutable_scale_sigma()->set_value(0.7);
  const grpc::Status status = OpenError(server_, open);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("fusion.scale_sigma must be from 0 to 0.5"));
}

}  // namespace
}  // namespace voxloc::server
