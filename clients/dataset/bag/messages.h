// SPDX-License-Identifier: Apache-2.0
//
// The messages of ROS that drives are made of, out of their serialized bytes: ROS 1's
// serialization, and CDR in either endianness as ROS 2 has it; and the topics of a recording that
// have them. Pure functions.
//
// InvalidArgument: unknown encoding, or truncated bytes. Numbers are as recorded and not validated:
// see PoseFromQuaternion for poses.

#ifndef VOXLOC_CLIENTS_DATASET_BAG_MESSAGES_H_
#define VOXLOC_CLIENTS_DATASET_BAG_MESSAGES_H_

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/dataset/bag/bag.h"
#include "clients/pointcloud2/point_cloud2.h"

namespace voxloc::bag {

enum class MessageKind {
  kPointCloud2,         // sensor_msgs/PointCloud2
  kPose,                // geometry_msgs/PoseStamped
  kPoseWithCovariance,  // geometry_msgs/PoseWithCovarianceStamped
  kOdometry,            // nav_msgs/Odometry
  kTransforms,          // tf2_msgs/TFMessage, tf/tfMessage
  kNumber,              // Float32Stamped, Int32Stamped of Autoware's debug messages
  kDiagnostics,         // diagnostic_msgs/DiagnosticArray
  kOther,
};
[[nodiscard]] MessageKind KindOf(const Topic& topic);

// parent_T_child as recorded.
struct PoseMessage {
  int64_t stamp_ns = 0;
  std::string parent;  // frames are without the slash that old tf puts before them
  std::string child;   // empty: the type has none
  Eigen::Vector3d translation = Eigen::Vector3d::Zero();
  Eigen::Quaterniond rotation = Eigen::Quaterniond::Identity();
};

struct NumberMessage {
  int64_t stamp_ns = 0;
  double value = 0.0;
};

// One of the statuses of a DiagnosticArray.
struct DiagnosticMessage {
  int level = 0;  // 0 OK, 1 WARN, 2 ERROR, 3 STALE
  std::string name;
  std::string message;
  std::map<std::string, std::string> values;
};

// The view points into the message's bytes and into `fields`.
struct CloudMessage {
  ros::PointCloud2View view;
  std::vector<ros::PointField> fields;
};

// Of any message that begins with one.
[[nodiscard]] absl::StatusOr<ros::Header> DecodeHeader(const Topic& topic, absl::string_view bytes);

// kPose, kPoseWithCovariance or kOdometry.
[[nodiscard]] absl::StatusOr<PoseMessage> DecodePose(const Topic& topic, absl::string_view bytes);

[[nodiscard]] absl::StatusOr<std::vector<PoseMessage>> DecodeTransforms(const Topic& topic,
                                                                        absl::string_view bytes);

// kNumber.
[[nodiscard]] absl::StatusOr<NumberMessage> DecodeNumber(const Topic& topic,
                                                         absl::string_view bytes);

[[nodiscard]] absl::StatusOr<std::vector<DiagnosticMessage>> DecodeDiagnostics(
    const Topic& topic, absl::string_view bytes);

// `cloud` is filled; `bytes` must outlive it.
[[nodiscard]] absl::Status DecodePointCloud2(const Topic& topic, absl::string_view bytes,
                                             CloudMessage* cloud);

// The topics with messages of one of these kinds, and a list of topics for people.
[[nodiscard]] std::vector<size_t> TopicsOfKinds(const BagContents& contents,
                                                const std::vector<MessageKind>& kinds);
[[nodiscard]] std::string TopicsText(const BagContents& contents,
                                     const std::vector<size_t>& topics);

// The topics with messages of that kind. A drive is made of the only topic of a kind, or of the one
// that the user names; never of the first of several.
[[nodiscard]] std::vector<size_t> TopicsOfKind(const BagContents& contents, MessageKind kind);

// The topic of that name, which must be of one of the kinds and have messages. NotFound lists the
// topics that could be meant and the nearest name; InvalidArgument: another type.
[[nodiscard]] absl::StatusOr<size_t> TopicNamed(const BagContents& contents,
                                                const std::string& name,
                                                const std::vector<MessageKind>& kinds);

// The topic with the clouds: the one named, or the only one. InvalidArgument: several;
// NotFound: none, and what there is instead.
[[nodiscard]] absl::StatusOr<size_t> ChoosePoints(const BagContents& contents,
                                                  const std::string& named);

// The topic with the poses: the one named, which may be one of tf, or the only one of poses or
// odometry; nullopt: there is none, use tf.
[[nodiscard]] absl::StatusOr<std::optional<size_t>> ChoosePoses(const BagContents& contents,
                                                                const std::string& named);

// "/points (sensor_msgs/msg/PointCloud2, 312 messages)".
[[nodiscard]] std::string TopicText(const Topic& topic);

}  // namespace voxloc::bag

#endif  // VOXLOC_CLIENTS_DATASET_BAG_MESSAGES_H_
