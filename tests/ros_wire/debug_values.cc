// SPDX-License-Identifier: Apache-2.0

#include "tests/ros_wire/debug_values.h"

#include "tests/ros_wire/values.h"

namespace voxloc::ros_wire {
namespace {

Arrow ArrowFromWire(const MarkerMessage& message) {
  Arrow arrow;
  arrow.stamp_ns = FromWire(message.header.stamp);
  arrow.frame_id = message.header.frame_id == nullptr ? "" : message.header.frame_id;
  arrow.ns = message.ns == nullptr ? "" : message.ns;
  arrow.id = message.id;
  arrow.type = message.type;
  arrow.action = message.action;
  arrow.pose = FromWire(message.pose);
  arrow.scale = {message.scale.x, message.scale.y, message.scale.z};
  arrow.rgba = {message.color.r, message.color.g, message.color.b, message.color.a};
  arrow.lifetime_ns = int64_t{message.lifetime.sec} * 1'000'000'000 + message.lifetime.nanosec;
  return arrow;
}

}  // namespace

StampedPoses FromWire(const PoseArrayMessage& message) {
  StampedPoses value;
  value.stamp_ns = FromWire(message.header.stamp);
  value.frame_id = message.header.frame_id == nullptr ? "" : message.header.frame_id;
  for (uint32_t i = 0; i < message.poses._length; ++i) {
    value.poses.push_back(FromWire(message.poses._buffer[i]));
  }
  return value;
}

StampedArrows FromWire(const MarkerArrayMessage& message) {
  StampedArrows value;
  for (uint32_t i = 0; i < message.markers._length; ++i) {
    value.arrows.push_back(ArrowFromWire(message.markers._buffer[i]));
  }
  if (!value.arrows.empty()) value.stamp_ns = value.arrows.front().stamp_ns;
  return value;
}

}  // namespace voxloc::ros_wire
