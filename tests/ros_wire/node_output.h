// SPDX-License-Identifier: Apache-2.0
//
// What the bridge publishes, as topics of a node. It must not outlive the node.

#ifndef VOXLOC_TESTS_ROS_WIRE_NODE_OUTPUT_H_
#define VOXLOC_TESTS_ROS_WIRE_NODE_OUTPUT_H_

#include <map>
#include <vector>

#include "clients/ros/core/ports.h"
#include "tests/ros_wire/node.h"

namespace voxloc::ros_wire {

class NodeOutput : public ros::Output {
 public:
  // In shadow mode under the names of that, and without /tf.
  NodeOutput(Node& node, bool shadow);

  [[nodiscard]] bool HasSubscribers(ros::Topic topic) const override;
  [[nodiscard]] bool HasDiagnosticsReader() const { return diagnostics_.readers() > 0; }
  void Publish(ros::Topic topic, const ros::PoseStamped& message) override;
  void Publish(ros::Topic topic, const ros::PoseWithCovarianceStamped& message) override;
  void Publish(ros::Topic topic, const ros::TwistWithCovarianceStamped& message) override;
  void Publish(ros::Topic topic, const ros::PoseArray& message) override;
  void Publish(ros::Topic topic, ros::PointCloud2 message) override;
  void Publish(ros::Topic topic, const ros::Float32Stamped& message) override;
  void Publish(ros::Topic topic, const ros::Int32Stamped& message) override;
  void Publish(ros::Topic topic, const std::vector<ros::ArrowMarker>& message) override;
  void PublishDiagnostics(int64_t stamp_ns, const ros::DiagnosticStatus& status) override;
  void Broadcast(const ros::TransformStamped& transform) override;

 private:
  template <typename Message>
  [[nodiscard]] Writer<Message> WriterOf(ros::Topic topic) const {
    return Writer<Message>(writers_.at(topic));
  }

  std::map<ros::Topic, dds_entity_t> writers_;
  const Writer<TfMessage> transforms_;
  const Writer<DiagnosticArrayMessage> diagnostics_;
};

}  // namespace voxloc::ros_wire

#endif  // VOXLOC_TESTS_ROS_WIRE_NODE_OUTPUT_H_
