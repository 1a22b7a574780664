// SPDX-License-Identifier: Apache-2.0
//
// The node as a component that containers can load.

#include <rclcpp_components/register_node_macro.hpp>

#include "clients/ros/ros2/node/ndt_scan_matcher.h"

RCLCPP_COMPONENTS_REGISTER_NODE(voxloc::ros2::NdtScanMatcher)
