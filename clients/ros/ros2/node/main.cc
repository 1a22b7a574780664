// SPDX-License-Identifier: Apache-2.0
//
// The node as a process of its own, until SIGINT or SIGTERM.

#include <exception>
#include <memory>
#include <rclcpp/rclcpp.hpp>

#include "clients/ros/ros2/node/ndt_scan_matcher.h"

int main(int argc, char** argv) {
  rclcpp::init(argc, argv);
  int status = 0;
  try {
    const auto node = std::make_shared<voxloc::ros2::NdtScanMatcher>(rclcpp::NodeOptions());
    rclcpp::executors::MultiThreadedExecutor executor(rclcpp::ExecutorOptions(),
                                                      voxloc::ros2::kCallbackGroups);
    executor.add_node(node);
    executor.spin();
    executor.remove_node(node);
  } catch (const std::exception& error) {
    RCLCPP_FATAL(rclcpp::get_logger("ndt_scan_matcher"), "%s", error.what());
    status = 1;
  }
  rclcpp::shutdown();
  return status;
}
