// SPDX-License-Identifier: Apache-2.0
#include "clients/ros/ros2/node/node_ports.h"

#include <chrono>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "clients/ros/ros2/node/conversions.h"

namespace voxloc::ros2 {
namespace {

// /tf_static is transient local, which intra-process communication does not support in Humble, so
// it is off for both topics.
rclcpp::SubscriptionOptions NoIntraProcess() {
  rclcpp::SubscriptionOptions options;
  options.use_intra_process_comm = rclcpp::IntraProcessSetting::Disable;
  return options;
}

}  // namespace

NodeTransforms::NodeTransforms(rclcpp::Node& node)
    : buffer_(node.get_clock()),
      listener_(buffer_, &node, /*spin_thread=*/true, tf2_ros::DynamicListenerQoS(),
                tf2_ros::StaticListenerQoS(), NoIntraProcess(), NoIntraProcess()) {}

absl::StatusOr<Pose> NodeTransforms::Lookup(const std::string& target_frame,
                                            const std::string& source_frame,
                                            std::optional<int64_t> stamp_ns) const {
  const tf2::TimePoint time =
      stamp_ns ? tf2::TimePoint(std::chrono::nanoseconds(*stamp_ns)) : tf2::TimePointZero;
  try {
    return FromRos(buffer_.lookupTransform(target_frame, source_frame, time).transform);
  } catch (const tf2::ExtrapolationException& error) {
    return absl::OutOfRangeError(error.what());
  } catch (const tf2::TransformException& error) {
    return absl::NotFoundError(error.what());
  }
}

void NodeLog::Write(ros::LogLevel level, absl::string_view text) {
  const int length = static_cast<int>(text.size());
  switch (level) {
    case ros::LogLevel::kDebug:
      RCLCPP_DEBUG(logger_, "%.*s", length, text.data());
      break;
    case ros::LogLevel::kInfo:
      RCLCPP_INFO(logger_, "%.*s", length, text.data());
      break;
    case ros::LogLevel::kWarn:
      RCLCPP_WARN(logger_, "%.*s", length, text.data());
      break;
    case ros::LogLevel::kError:
      RCLCPP_ERROR(logger_, "%.*s", length, text.data());
      break;
  }
}

}  // namespace voxloc::ros2
