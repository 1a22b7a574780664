// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/bag/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/clients/dataset/bag/mcap_writer.h"

namespace voxloc::bag {
namespace {

using ::testing::HasSubstr;

// A number of the given endianness.
template <typename T>
std::string Number(T value, bool big_endian) {
  std::string bytes = LittleEndian(value);
  if (big_endian) std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

const Topic kCdrPose{"/pose", "geometry_msgs/msg/PoseStamped", "cdr", 1};
const Topic kRos1Pose{"/pose", "geometry_msgs/PoseStamped", "ros1", 1};

// geometry_msgs/PoseStamped in the frame "map" with the stamp -2 s + 5 ns, by hand.
std::string CdrPose(bool big_endian) {
  std::string bytes = big_endian ? std::string("\0\0\0\0", 4) : std::string("\0\1\0\0", 4);
  bytes += Number(int32_t{-2}, big_endian) + Number(uint32_t{5}, big_endian);
  bytes += Number(uint32_t{4}, big_endian) + std::string("map\0", 4);
  // Sixteen bytes so far, a multiple of eight: no gap before the doubles.
  for (const double value : {1.0, -2.0, 3.5, 0.0, 0.0, 0.6, 0.8})
    bytes += Number(value, big_endian);
  return bytes;
}

TEST(DecodePose, ReadsCdrInBothEndiannesses) {
  for (const bool big_endian : {false, true}) {
    const auto pose = DecodePose(kCdrPose, CdrPose(big_endian));
    ASSERT_TRUE(pose.ok()) << pose.status();
    EXPECT_EQ(pose->stamp_ns, -2'000'000'000 + 5);
    EXPECT_EQ(pose->parent, "map");
    EXPECT_EQ(pose->child, "");
    EXPECT_EQ(pose->translation, Eigen::Vector3d(1.0, -2.0, 3.5));
    EXPECT_EQ(pose->rotation.z(), 0.6);
    EXPECT_EQ(pose->rotation.w(), 0.8);
  }
}

TEST(DecodePose, LeavesTheGapsThatCdrHasBeforeDoubles) {
  std::string bytes("\0\1\0\0", 4);
  bytes += LittleEndian(int32_t{1}) + LittleEndian(uint32_t{0});
  bytes += LittleEndian(uint32_t{5}) + std::string("odom\0", 5);
  bytes += std::string(7, '\x55');  // 17 bytes so far; doubles begin at 24
  for (const double value : {1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0}) bytes += LittleEndian(value);
  const auto pose = DecodePose(kCdrPose, bytes);
  ASSERT_TRUE(pose.ok()) << pose.status();
  EXPECT_EQ(pose->parent, "odom");
  EXPECT_EQ(pose->translation, Eigen::Vector3d(1.0, 2.0, 3.0));
}

TEST(DecodePose, ReadsRos1WithoutGapsAndDropsTheSlashBeforeFrames) {
  std::string bytes = LittleEndian(uint32_t{9}) + LittleEndian(uint32_t{3'000'000'000U}) +
                      LittleEndian(uint32_t{1}) + LittleEndian(uint32_t{6}) + "/world";
  for (const double value : {1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0}) bytes += LittleEndian(value);
  const auto pose = DecodePose(kRos1Pose, bytes);
  ASSERT_TRUE(pose.ok()) << pose.status();
  EXPECT_EQ(pose->stamp_ns, 3'000'000'000'000'000'001);
  EXPECT_EQ(pose->parent, "world");
}

TEST(DecodePose, RefusesEveryPrefix) {
  const std::string whole = CdrPose(false);
  for (size_t size = 0; size < whole.size(); ++size) {
    // A copy of its own, so that a sanitizer sees a read past the end.
    const std::string part(whole.data(), size);
    EXPECT_EQ(DecodePose(kCdrPose, part).status().code(), absl::StatusCode::kInvalidArgument)
        << size;
  }
}

TEST(DecodePose, NamesEncodingsThatItDoesNotKnow) {
  Topic topic = kCdrPose;
  topic.encoding = "protobuf";
  EXPECT_THAT(std::string(DecodePose(topic, "abc").status().message()), HasSubstr("'protobuf'"));
  EXPECT_THAT(std::string(DecodePose(kCdrPose, std::string("\0\3\0\0abc", 7)).status().message()),
              HasSubstr("plain CDR"));
}

TEST(DecodeTransforms, DoesNotTrustTheNumberOfTransforms) {
  const Topic topic{"/tf", "tf2_msgs/TFMessage", "ros1", 1};
  const auto transforms = DecodeTransforms(topic, LittleEndian(uint32_t{0xFFFFFFFF}) + "abcdef");
  EXPECT_EQ(transforms.status().code(), absl::StatusCode::kInvalidArgument);
}

// A text of CDR, with the gap before its length where there were `position` bytes before.
std::string CdrText(size_t position, const std::string& text) {
  return std::string((4 - position % 4) % 4, '\x55') +
         LittleEndian(static_cast<uint32_t>(text.size() + 1)) + text + '\0';
}

TEST(DecodeNumber, ReadsFloatsAndIntegersAfterAStampWithoutAFrame) {
  const std::string stamp =
      std::string("\0\1\0\0", 4) + LittleEndian(int32_t{7}) + LittleEndian(uint32_t{9});
  const Topic floats{"/nvtl", "autoware_internal_debug_msgs/msg/Float32Stamped", "cdr", 1};
  const auto score = DecodeNumber(floats, stamp + LittleEndian(2.5F));
  ASSERT_TRUE(score.ok()) << score.status();
  EXPECT_EQ(score->stamp_ns, 7'000'000'009);
  EXPECT_EQ(score->value, 2.5);
  const Topic integers{"/iteration_num", "tier4_debug_msgs/msg/Int32Stamped", "cdr", 1};
  EXPECT_EQ(DecodeNumber(integers, stamp + LittleEndian(int32_t{-3}))->value, -3.0);
  EXPECT_TRUE(absl::IsInvalidArgument(DecodeNumber(floats, stamp).status()));
}

TEST(DecodeDiagnostics, ReadsStatusesWithTheirValues) {
  const Topic topic{"/diagnostics", "diagnostic_msgs/msg/DiagnosticArray", "cdr", 1};
  std::string body = LittleEndian(int32_t{1}) + LittleEndian(uint32_t{2}) + CdrText(8, "");
  body += std::string(3, '\0') + LittleEndian(uint32_t{2});  // 13 bytes so far; two statuses
  for (const char* name : {"first", "second"}) {
    body += name[0] == 'f' ? '\1' : '\0';
    for (const std::string& text : {std::string(name), std::string("m"), std::string("id")}) {
      body += CdrText(body.size(), text);
    }
    body += std::string((4 - body.size() % 4) % 4, '\0') + LittleEndian(uint32_t{1});
    body += CdrText(body.size(), "key");
    body += CdrText(body.size(), std::string("value of ") + name);
  }
  const std::string whole = std::string("\0\1\0\0", 4) + body;
  const auto statuses = DecodeDiagnostics(topic, whole);
  ASSERT_TRUE(statuses.ok()) << statuses.status();
  ASSERT_EQ(statuses->size(), 2u);
  EXPECT_EQ((*statuses)[0].level, 1);
  EXPECT_EQ((*statuses)[1].level, 0);
  EXPECT_EQ((*statuses)[1].name, "second");
  EXPECT_EQ((*statuses)[1].message, "m");
  EXPECT_EQ((*statuses)[1].values.at("key"), "value of second");
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::string part(whole.data(), size);
    EXPECT_FALSE(DecodeDiagnostics(topic, part).ok()) << size;
  }
}

TEST(KindOf, KnowsTheTypesOfBothRos) {
  const auto kind = [](const std::string& type) { return KindOf({"/x", type, "cdr", 1}); };
  EXPECT_EQ(kind("sensor_msgs/PointCloud2"), MessageKind::kPointCloud2);
  EXPECT_EQ(kind("sensor_msgs/msg/PointCloud2"), MessageKind::kPointCloud2);
  EXPECT_EQ(kind("tf/tfMessage"), MessageKind::kTransforms);
  EXPECT_EQ(kind("nav_msgs/msg/Odometry"), MessageKind::kOdometry);
  EXPECT_EQ(kind("tier4_debug_msgs/msg/Float32Stamped"), MessageKind::kNumber);
  EXPECT_EQ(kind("autoware_internal_debug_msgs/msg/Int32Stamped"), MessageKind::kNumber);
  EXPECT_EQ(kind("diagnostic_msgs/msg/DiagnosticArray"), MessageKind::kDiagnostics);
  EXPECT_EQ(kind("point_cloud_interfaces/msg/CompressedPointCloud2"), MessageKind::kOther);
}

}  // namespace
}  // namespace voxloc::bag
