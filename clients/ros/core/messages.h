// SPDX-License-Identifier: Apache-2.0
//
// The messages of ROS that the bridge takes and gives, as plain values with ROS's names, so that
// neither ROS nor DDS is needed here. An adapter copies small fields, and lets views point into its
// own buffers: no point is copied on the way in, and vectors can be moved on the way out.
//
// A Pose of a message is position and orientation as they came: inputs may hold any numbers, which
// the bridge checks. Stamps are nanoseconds of the node's clock.

#ifndef VOXLOC_CLIENTS_ROS_CORE_MESSAGES_H_
#define VOXLOC_CLIENTS_ROS_CORE_MESSAGES_H_

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "clients/pointcloud2/point_cloud2.h"
#include "core/geometry/covariance.h"
#include "core/geometry/pose.h"
#include "core/geometry/twist.h"

namespace voxloc::ros {

// sensor_msgs/PointCloud2 of the bridge's own: little endian, one row, without gaps between points.
struct PointCloud2 {
  Header header;
  uint32_t width = 0;
  std::vector<PointField> fields;
  uint32_t point_step = 0;
  std::vector<uint8_t> data;
  bool is_dense = true;

  [[nodiscard]] PointCloud2View View() const {
    return {header,
            1,
            width,
            fields,
            false,
            point_step,
            static_cast<uint32_t>(data.size()),
            absl::MakeConstSpan(data)};
  }
};

// geometry_msgs/PoseStamped: header.frame_id is the parent frame.
struct PoseStamped {
  Header header;
  Pose pose;
};

// geometry_msgs/PoseWithCovarianceStamped. The covariance is ROS's: order x y z rx ry rz, about the
// parent's fixed axes.
struct PoseWithCovarianceStamped {
  Header header;
  Pose pose;
  Matrix6 covariance = Matrix6::Zero();
};

// geometry_msgs/PoseArray.
struct PoseArray {
  Header header;
  std::vector<Pose> poses;
};

// geometry_msgs/TransformStamped: parent_T_child, the parent being header.frame_id.
struct TransformStamped {
  Header header;
  std::string child_frame_id;
  Pose parent_T_child;
};

// geometry_msgs/TwistStamped, or TwistWithCovarianceStamped without its covariance, in the axes of
// the base frame.
struct TwistStamped {
  Header header;  // frame_id: the base frame
  Twist twist;
};

// geometry_msgs/TwistWithCovarianceStamped, as it is published: order vx vy vz wx wy wz.
struct TwistWithCovarianceStamped {
  Header header;  // frame_id: the base frame
  Twist twist;
  Matrix6 covariance = Matrix6::Zero();
};

// autoware_internal_debug_msgs/Float32Stamped and Int32Stamped.
struct Float32Stamped {
  int64_t stamp_ns = 0;
  float data = 0.0F;
};
struct Int32Stamped {
  int64_t stamp_ns = 0;
  int32_t data = 0;
};

// std_msgs/ColorRGBA, each 0 to 1.
struct Color {
  float r = 0.0F;
  float g = 0.0F;
  float b = 0.0F;
  float a = 1.0F;
};

// visualization_msgs/Marker of type ARROW and action ADD: all that Autoware's node draws.
struct ArrowMarker {
  Header header;
  std::string ns;
  int32_t id = 0;
  Pose pose;
  Eigen::Vector3d scale = {0.3, 0.1, 0.1};
  Color color;
  double lifetime_s = 0.0;  // 0: for ever
};

// diagnostic_msgs/DiagnosticStatus.
struct DiagnosticStatus {
  enum Level : uint8_t { kOk = 0, kWarn = 1, kError = 2 };
  struct KeyValue {
    std::string key;
    std::string value;
  };
  Level level = kOk;
  std::string name;
  std::string message;
  std::string hardware_id;
  std::vector<KeyValue> values;
};

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_MESSAGES_H_
