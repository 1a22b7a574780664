// SPDX-License-Identifier: Apache-2.0

#include "core/geometry/pose.h"

#include <cmath>
#include <limits>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace voxloc {
namespace {

using ::testing::HasSubstr;

Pose RandomPose(std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  Pose pose;
  pose.translation = Eigen::Vector3d(normal(random), normal(random), normal(random)) * 100.0;
  pose.rotation = Eigen::Quaterniond(normal(random), normal(random), normal(random), normal(random))
                      .normalized();
  return pose;
}

TEST(PoseTest, CompositionAndInverseAgreeWithMatrices) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    const Pose a_T_b = RandomPose(random);
    const Pose b_T_c = RandomPose(random);
    EXPECT_LT(((a_T_b * b_T_c).Matrix() - a_T_b.Matrix() * b_T_c.Matrix()).norm(), 1e-12);
    EXPECT_LT((a_T_b.Inverse().Matrix() - a_T_b.Matrix().inverse()).norm(), 1e-11);
    const Eigen::Vector3d point_b(1.0, -2.0, 3.0);
    EXPECT_LT(((a_T_b * point_b).homogeneous() - a_T_b.Matrix() * point_b.homogeneous()).norm(),
              1e-12);
  }
}

TEST(PoseTest, LongChainsOfPosesStayRotations) {
  std::mt19937_64 random(2);
  Pose pose;
  for (int i = 0; i < 100000; ++i) pose = pose * RandomPose(random);
  EXPECT_NEAR(pose.rotation.norm(), 1.0, 1e-15);
}

TEST(PoseTest, MatricesRoundedToFewDecimalsAreAccepted) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000; ++i) {
    const Pose pose = RandomPose(random);
    const Eigen::Matrix4d rounded = (pose.Matrix() * 1e4).array().round() / 1e4;
    const absl::StatusOr<Pose> read = PoseFromMatrix(rounded);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_LT(RotationDistance(pose, *read), 2e-4);
    EXPECT_LT(TranslationDistance(pose, *read), 1e-4);
    EXPECT_NEAR(read->rotation.norm(), 1.0, 1e-15);
  }
}

TEST(PoseTest, MatricesThatAreNoPosesAreRefused) {
  Eigen::Matrix4d scaled = Eigen::Matrix4d::Identity();
  scaled.topLeftCorner<3, 3>() *= 1.05;
  Eigen::Matrix4d mirrored = Eigen::Matrix4d::Identity();
  mirrored(2, 2) = -1.0;
  Eigen::Matrix4d projective = Eigen::Matrix4d::Identity();
  projective(3, 0) = 0.5;
  Eigen::Matrix4d not_finite = Eigen::Matrix4d::Identity();
  not_finite(0, 3) = std::numeric_limits<double>::quiet_NaN();
  for (const Eigen::Matrix4d& matrix :
       {scaled, mirrored, projective, not_finite, Eigen::Matrix4d(Eigen::Matrix4d::Zero())}) {
    const absl::StatusOr<Pose> read = PoseFromMatrix(matrix);
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument) << matrix;
  }
  EXPECT_THAT(std::string(PoseFromMatrix(scaled).status().message()), HasSubstr("0.05"));
}

TEST(PoseTest, QuaternionsOfAnyLengthAreNormalised) {
  const Eigen::Quaterniond rotation(Eigen::AngleAxisd(0.5, Eigen::Vector3d::UnitY()));
  for (const double length : {1e-3, 1.0, 7.0, 1e6}) {
    const absl::StatusOr<Pose> pose = PoseFromQuaternion(
        {1, 2, 3}, Eigen::Quaterniond(Eigen::Vector4d(rotation.coeffs() * length)));
    ASSERT_TRUE(pose.ok()) << pose.status();
    EXPECT_LT((pose->rotation.coeffs() - rotation.coeffs()).norm(), 1e-15);
    EXPECT_EQ(pose->translation, Eigen::Vector3d(1, 2, 3));
  }
}

TEST(PoseTest, ZeroAndNonFiniteQuaternionsAreRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const Eigen::Quaterniond unit = Eigen::Quaterniond::Identity();
  const auto code = [](const Eigen::Vector3d& translation, const Eigen::Quaterniond& rotation) {
    return PoseFromQuaternion(translation, rotation).status().code();
  };
  EXPECT_EQ(code({0, 0, 0}, Eigen::Quaterniond(0, 0, 0, 0)), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({0, 0, 0}, Eigen::Quaterniond(1e-9, 0, 0, 0)), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({0, 0, 0}, Eigen::Quaterniond(nan, 0, 0, 1)), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({0, 0, 0}, Eigen::Quaterniond(1e200, 1e200, 0, 0)),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({0, 0, 0}, Eigen::Quaterniond(0, 0, 2e6, 0)), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({inf, 0, 0}, unit), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({0, 0, 0}, unit), absl::StatusCode::kOk);
}

TEST(PoseTest, DistancesAreMetresAndRadians) {
  Pose a;
  Pose b;
  b.translation = {3, 4, 0};
  for (const double angle : {0.0, 1e-9, 0.3, 3.0, M_PI}) {
    b.rotation = Eigen::AngleAxisd(angle, Eigen::Vector3d(1, 2, 3).normalized());
    EXPECT_NEAR(RotationDistance(a, b), angle, 1e-14);
    b.rotation.coeffs() *= -1.0;  // the same rotation
    EXPECT_NEAR(RotationDistance(a, b), angle, 1e-14);
  }
  EXPECT_DOUBLE_EQ(TranslationDistance(a, b), 5.0);
}

}  // namespace
}  // namespace voxloc
