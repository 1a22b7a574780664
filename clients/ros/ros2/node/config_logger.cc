// SPDX-License-Identifier: Apache-2.0
#include "clients/ros/ros2/node/config_logger.h"

#if defined(VOXLOC_ROS_LOGGING_DEMO)
#include <rcutils/allocator.h>
#include <rcutils/error_handling.h>
#include <rcutils/logging.h>

#include <logging_demo/srv/config_logger.hpp>
#include <memory>

#include "clients/ros/ros2/node/ros_versions.h"
#endif

namespace voxloc::ros2 {

#if defined(VOXLOC_ROS_LOGGING_DEMO)

rclcpp::ServiceBase::SharedPtr ServeConfigLogger(rclcpp::Node& node,
                                                 const rclcpp::CallbackGroup::SharedPtr& group) {
  using logging_demo::srv::ConfigLogger;
  return node.create_service<ConfigLogger>(
      "~/config_logger",
      [logger = node.get_logger()](const std::shared_ptr<ConfigLogger::Request>& request,
                                   const std::shared_ptr<ConfigLogger::Response>& response) {
        int severity = 0;
        response->success = rcutils_logging_severity_level_from_string(
                                request->level.c_str(), rcutils_get_default_allocator(),
                                &severity) == RCUTILS_RET_OK &&
                            rcutils_logging_set_logger_level(request->logger_name.c_str(),
                                                             severity) == RCUTILS_RET_OK;
        if (!response->success) {
          rcutils_reset_error();
          RCLCPP_WARN(logger,
                      "config_logger: level must be UNSET, DEBUG, INFO, WARN, ERROR or FATAL "
                      "(got '%s' for logger '%s')",
                      request->level.c_str(), request->logger_name.c_str());
        }
      },
      ServicesQos(), group);
}

#else

rclcpp::ServiceBase::SharedPtr ServeConfigLogger(
    rclcpp::Node& /*node*/, const rclcpp::CallbackGroup::SharedPtr& /*group*/) {
  return nullptr;
}

#endif

}  // namespace voxloc::ros2
