// SPDX-License-Identifier: Apache-2.0

#include "server/convert/pose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "core/geometry/euler.h"
#include "tests/server/convert/not_finite.h"
#include "tests/server/small_town.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

TEST(ConvertPose, GoesThereAndBack) {
  const Pose pose{{4e6, -2.5, 100.0}, RotationFromRosAngles(0.3, -0.2, 2.9)};
  v1::Pose proto;
  PoseToProto(pose, proto);
  EXPECT_GE(proto.orientation().w(), 0.0);
  auto back = PoseFromProto(proto, "pose");
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->translation, pose.translation);
  EXPECT_LT(RotationDistance(*back, pose), 1e-12);
}

TEST(ConvertPose, NormalisesQuaternionsOfAnySize) {
  for (const double size : {1e-5, 1.0, 1e5}) {
    v1::Pose proto;
    proto.mutable_orientation()->set_w(size);
    proto.mutable_orientation()->set_z(size);
    auto pose = PoseFromProto(proto, "pose");
    ASSERT_TRUE(pose.ok()) << size;
    EXPECT_NEAR(RosAnglesFromRotation(pose->rotation).z(), M_PI / 2.0, 1e-12);
  }
}

TEST(ConvertPose, AQuaternionThatWasNormalizedOnceComesBackToTheLastBit) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 100'000; ++i) {
    v1::Pose proto;
    proto.mutable_orientation()->set_x(normal(random));
    proto.mutable_orientation()->set_y(normal(random));
    proto.mutable_orientation()->set_z(normal(random));
    proto.mutable_orientation()->set_w(std::abs(normal(random)));
    const auto first = PoseFromProto(proto, "pose");
    ASSERT_TRUE(first.ok());
    PoseToProto(*first, proto);
    const auto again = PoseFromProto(proto, "pose");
    ASSERT_TRUE(again.ok());
    ASSERT_EQ(again->rotation.coeffs(), first->rotation.coeffs()) << i;
  }
}

TEST(ConvertPose, RefusesWhatIsNotAPoseByName) {
  v1::Pose zero;
  EXPECT_THAT(std::string(PoseFromProto(zero, "guess").status().message()),
              HasSubstr("guess.orientation"));
  zero.mutable_orientation()->set_w(1e-7);
  EXPECT_FALSE(PoseFromProto(zero, "guess").ok());
  zero.mutable_orientation()->set_w(1e200);
  EXPECT_THAT(std::string(PoseFromProto(zero, "guess").status().message()), HasSubstr("1e+200"));
  for (const double bad : {kNan, kInfinity}) {
    v1::Pose proto = PoseOf(Pose{});
    proto.mutable_position()->set_y(bad);
    EXPECT_FALSE(PoseFromProto(proto, "guess").ok());
    proto = PoseOf(Pose{});
    proto.mutable_orientation()->set_x(bad);
    EXPECT_FALSE(PoseFromProto(proto, "guess").ok());
  }
  EXPECT_TRUE(MountFromProto(PoseOf(Pose{})).ok());
  EXPECT_FALSE(MountFromProto(PoseOf({{1e4, 0.0, 0.0}, Eigen::Quaterniond::Identity()})).ok());
}

}  // namespace
}  // namespace voxloc::server
