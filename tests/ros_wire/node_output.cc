// SPDX-License-Identifier: Apache-2.0

#include "tests/ros_wire/node_output.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/ros_wire/core_messages.h"
#include "tests/ros_wire/values.h"

namespace voxloc::ros_wire {
namespace {

const dds_topic_descriptor_t& DescriptorOf(ros::MessageType type) {
  switch (type) {
    case ros::MessageType::kPoseStamped:
      return Descriptor<PoseStampedMessage>();
    case ros::MessageType::kPoseWithCovarianceStamped:
      return Descriptor<PoseWithCovarianceStampedMessage>();
    case ros::MessageType::kTwistWithCovarianceStamped:
      return Descriptor<TwistWithCovarianceStampedMessage>();
    case ros::MessageType::kPoseArray:
      return Descriptor<PoseArrayMessage>();
    case ros::MessageType::kPointCloud2:
      return Descriptor<PointCloud2Message>();
    case ros::MessageType::kFloat32Stamped:
      return Descriptor<Float32StampedMessage>();
    case ros::MessageType::kInt32Stamped:
      return Descriptor<Int32StampedMessage>();
    case ros::MessageType::kMarkerArray:
      break;
  }
  return Descriptor<MarkerArrayMessage>();
}

}  // namespace

NodeOutput::NodeOutput(Node& node, bool shadow)
    : transforms_(shadow ? Writer<TfMessage>() : node.Advertise<TfMessage>("/tf", kTfQos)),
      diagnostics_(node.Advertise<DiagnosticArrayMessage>("/diagnostics", kDefaultQos)) {
  for (const ros::TopicInfo& info : ros::PublishedTopics()) {
    const std::string name = absl::StrCat("rt/", ros::OfferedName(info.name, shadow));
    writers_[info.topic] = node.MakeWriter(DescriptorOf(info.type), name,
                                           {true, info.transient_local, info.depth}, "");
  }
}

bool NodeOutput::HasSubscribers(ros::Topic topic) const {
  return Writer<PoseStampedMessage>(writers_.at(topic)).readers() > 0;
}

void NodeOutput::Publish(ros::Topic topic, const ros::PoseStamped& message) {
  WriterOf<PoseStampedMessage>(topic).Write(ToWire(message));
}

void NodeOutput::Publish(ros::Topic topic, const ros::PoseWithCovarianceStamped& message) {
  WriterOf<PoseWithCovarianceStampedMessage>(topic).Write(ToWire(message));
}

void NodeOutput::Publish(ros::Topic topic, const ros::TwistWithCovarianceStamped& message) {
  WriterOf<TwistWithCovarianceStampedMessage>(topic).Write(ToWire(message));
}

void NodeOutput::Publish(ros::Topic topic, const ros::PoseArray& message) {
  std::vector<PoseMessage> poses;
  for (const Pose& pose : message.poses) poses.push_back(ros_wire::ToWire(pose));
  PoseArrayMessage made{};
  made.header = ros_wire::ToWire(message.header.stamp_ns, message.header.frame_id);
  made.poses._length = made.poses._maximum = static_cast<uint32_t>(poses.size());
  made.poses._buffer = poses.data();
  WriterOf<PoseArrayMessage>(topic).Write(made);
}

void NodeOutput::Publish(ros::Topic topic, ros::PointCloud2 message) {
  std::vector<PointFieldMessage> fields;
  for (const ros::PointField& field : message.fields) {
    fields.push_back({Borrow(field.name), field.offset, field.datatype, field.count});
  }
  PointCloud2Message made{};
  made.header = ros_wire::ToWire(message.header.stamp_ns, message.header.frame_id);
  made.height = 1;
  made.width = message.width;
  made.fields._length = made.fields._maximum = static_cast<uint32_t>(fields.size());
  made.fields._buffer = fields.data();
  made.point_step = message.point_step;
  made.row_step = made.data._length = made.data._maximum =
      static_cast<uint32_t>(message.data.size());
  made.data._buffer = message.data.data();
  made.is_dense = message.is_dense;
  WriterOf<PointCloud2Message>(topic).Write(made);
}

void NodeOutput::Publish(ros::Topic topic, const ros::Float32Stamped& message) {
  WriterOf<Float32StampedMessage>(topic).Write({ros_wire::ToWire(message.stamp_ns), message.data});
}

void NodeOutput::Publish(ros::Topic topic, const ros::Int32Stamped& message) {
  WriterOf<Int32StampedMessage>(topic).Write({ros_wire::ToWire(message.stamp_ns), message.data});
}

void NodeOutput::Publish(ros::Topic topic, const std::vector<ros::ArrowMarker>& message) {
  std::vector<MarkerMessage> markers;
  for (const ros::ArrowMarker& marker : message) markers.push_back(ToWire(marker));
  MarkerArrayMessage made{};
  made.markers._length = made.markers._maximum = static_cast<uint32_t>(markers.size());
  made.markers._buffer = markers.data();
  WriterOf<MarkerArrayMessage>(topic).Write(made);
}

void NodeOutput::PublishDiagnostics(int64_t stamp_ns, const ros::DiagnosticStatus& status) {
  const std::string no_frame;
  std::vector<KeyValueMessage> values;
  for (const ros::DiagnosticStatus::KeyValue& value : status.values) {
    values.push_back({Borrow(value.key), Borrow(value.value)});
  }
  DiagnosticStatusMessage one{};
  one.level = status.level;
  one.name = Borrow(status.name);
  one.message = Borrow(status.message);
  one.hardware_id = Borrow(status.hardware_id);
  one.values._length = one.values._maximum = static_cast<uint32_t>(values.size());
  one.values._buffer = values.data();
  DiagnosticArrayMessage made{};
  made.header = ros_wire::ToWire(stamp_ns, no_frame);
  made.status._length = made.status._maximum = 1;
  made.status._buffer = &one;
  diagnostics_.Write(made);
}

void NodeOutput::Broadcast(const ros::TransformStamped& transform) {
  TransformStampedMessage one = ToWire(transform);
  TfMessage made{};
  made.transforms._length = made.transforms._maximum = 1;
  made.transforms._buffer = &one;
  transforms_.Write(made);
}

}  // namespace voxloc::ros_wire
