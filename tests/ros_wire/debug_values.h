// SPDX-License-Identifier: Apache-2.0
//
// What the node publishes for people to look at, as values of C++: arrays of poses, and arrows.

#ifndef VOXLOC_TESTS_ROS_WIRE_DEBUG_VALUES_H_
#define VOXLOC_TESTS_ROS_WIRE_DEBUG_VALUES_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/geometry/pose.h"
#include "tests/ros_wire/wire_types.h"

namespace voxloc::ros_wire {

// Of geometry_msgs/PoseArray.
struct StampedPoses {
  int64_t stamp_ns = 0;
  std::string frame_id;
  std::vector<Pose> poses;
};

// Of visualization_msgs/Marker.
struct Arrow {
  int64_t stamp_ns = 0;
  std::string frame_id;
  std::string ns;
  int32_t id = 0;
  int32_t type = -1;
  int32_t action = -1;
  Pose pose;
  std::array<double, 3> scale{};
  std::array<float, 4> rgba{};
  int64_t lifetime_ns = 0;
};
inline constexpr int32_t kArrowType = 0;
inline constexpr int32_t kAddAction = 0;

// Of visualization_msgs/MarkerArray: the stamp is that of its first arrow.
struct StampedArrows {
  int64_t stamp_ns = 0;
  std::vector<Arrow> arrows;
};

[[nodiscard]] StampedPoses FromWire(const PoseArrayMessage& message);
[[nodiscard]] StampedArrows FromWire(const MarkerArrayMessage& message);

}  // namespace voxloc::ros_wire

#endif  // VOXLOC_TESTS_ROS_WIRE_DEBUG_VALUES_H_
