// SPDX-License-Identifier: Apache-2.0
//
// The headers of tf2, which end in .hpp in the newest versions of ROS 2 and in .h in older ones.

#ifndef VOXLOC_CLIENTS_ROS_ROS2_NODE_TF2_HEADERS_H_
#define VOXLOC_CLIENTS_ROS_ROS2_NODE_TF2_HEADERS_H_

#if __has_include(<tf2_ros/buffer.hpp>)
#include <tf2/exceptions.hpp>
#include <tf2/time.hpp>
#include <tf2_ros/buffer.hpp>
#include <tf2_ros/static_transform_broadcaster.hpp>
#include <tf2_ros/transform_broadcaster.hpp>
#include <tf2_ros/transform_listener.hpp>
#else
#include <tf2/exceptions.h>
#include <tf2/time.h>
#include <tf2_ros/buffer.h>
#include <tf2_ros/static_transform_broadcaster.h>
#include <tf2_ros/transform_broadcaster.h>
#include <tf2_ros/transform_listener.h>
#endif

#endif  // VOXLOC_CLIENTS_ROS_ROS2_NODE_TF2_HEADERS_H_
