// SPDX-License-Identifier: Apache-2.0
//
// Messages of ROS 1 and ROS 2, up to the points of clouds. The first byte chooses the type (its low
// bits) and ROS 1's serialization (its bit 3); the message follows.

#include <optional>

#include "clients/dataset/bag/messages.h"
#include "clients/pointcloud2/cloud_encoding.h"
#include "tests/fuzz/fuzz_targets.h"

namespace voxloc {
namespace {

absl::Status DecodeCloud(const bag::Topic& topic, absl::string_view bytes) {
  bag::CloudMessage cloud;
  if (absl::Status status = bag::DecodePointCloud2(topic, bytes, &cloud); !status.ok()) {
    return status;
  }
  ros::CloudEncodingOptions options;
  options.encoding = ros::CloudEncoding::kFloat32;
  const auto plain = ros::EncodeCloud(cloud.view, std::nullopt, options);
  if (!plain.ok()) return plain.status();
  FuzzRequire(plain->cloud.data().size() == 12 * plain->sent, "a point has 12 bytes");
  FuzzRequire(plain->sent <= bytes.size(), "a point is made of bytes");
  options.time.any = true;
  return ros::EncodeCloud(cloud.view, std::nullopt, options).status();
}

}  // namespace

absl::Status FuzzBagMessage(absl::string_view bytes) {
  constexpr const char* kTypes[] = {"sensor_msgs/PointCloud2",
                                    "geometry_msgs/PoseStamped",
                                    "geometry_msgs/PoseWithCovarianceStamped",
                                    "nav_msgs/Odometry",
                                    "tf2_msgs/TFMessage",
                                    "diagnostic_msgs/DiagnosticArray",
                                    "autoware_internal_debug_msgs/Float32Stamped"};
  if (bytes.empty()) return absl::InvalidArgumentError("there must be a first byte (got none)");
  const auto choice = static_cast<unsigned char>(bytes[0]);
  bytes.remove_prefix(1);
  const bag::Topic topic{"/topic", kTypes[(choice & 7U) % 7], (choice & 8U) != 0 ? "ros1" : "cdr",
                         1};
  switch (bag::KindOf(topic)) {
    case bag::MessageKind::kPointCloud2:
      return DecodeCloud(topic, bytes);
    case bag::MessageKind::kTransforms:
      return bag::DecodeTransforms(topic, bytes).status();
    case bag::MessageKind::kDiagnostics:
      return bag::DecodeDiagnostics(topic, bytes).status();
    case bag::MessageKind::kNumber:
      return bag::DecodeNumber(topic, bytes).status();
    default:
      return bag::DecodePose(topic, bytes).status();
  }
}

}  // namespace voxloc
