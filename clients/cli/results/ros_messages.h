// SPDX-License-Identifier: Apache-2.0
//
// Messages of ROS 2 as they are stored in recordings: serialized in CDR (OMG DDS-XTypes, XCDR1,
// little-endian), with the definitions of their types in the format ros2msg, which readers without
// ROS decode them by. Pure functions.

#ifndef VOXLOC_CLIENTS_CLI_RESULTS_ROS_MESSAGES_H_
#define VOXLOC_CLIENTS_CLI_RESULTS_ROS_MESSAGES_H_

#include <Eigen/Core>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "clients/ros/core/messages.h"

namespace voxloc::cli {

// visualization_msgs/Marker of type TRIANGLE_LIST and action ADD, for ever.
struct TriangleMarker {
  ros::Header header;
  std::string ns;
  std::vector<Eigen::Vector3d> corners;  // three a triangle
  std::vector<ros::Color> colors;        // as many as corners
};

// The names of the types that have a definition, such as "sensor_msgs/msg/PointCloud2".
inline constexpr char kPoseWithCovarianceType[] = "geometry_msgs/msg/PoseWithCovarianceStamped";
inline constexpr char kPointCloudType[] = "sensor_msgs/msg/PointCloud2";
inline constexpr char kFloatType[] = "autoware_internal_debug_msgs/msg/Float32Stamped";
inline constexpr char kIntType[] = "autoware_internal_debug_msgs/msg/Int32Stamped";
inline constexpr char kTransformsType[] = "tf2_msgs/msg/TFMessage";
inline constexpr char kDiagnosticsType[] = "diagnostic_msgs/msg/DiagnosticArray";
inline constexpr char kMarkersType[] = "visualization_msgs/msg/MarkerArray";

// The definition of one of these, followed by those of the types within it.
[[nodiscard]] std::string DefinitionOf(absl::string_view type);

[[nodiscard]] std::string ToCdr(const ros::PoseWithCovarianceStamped& message);
[[nodiscard]] std::string ToCdr(const ros::PointCloud2& message);
[[nodiscard]] std::string ToCdr(const ros::Float32Stamped& message);
[[nodiscard]] std::string ToCdr(const ros::Int32Stamped& message);
// A TFMessage of one transform.
[[nodiscard]] std::string ToCdr(const ros::TransformStamped& message);
// A DiagnosticArray of one status.
[[nodiscard]] std::string ToCdr(int64_t stamp_ns, const ros::DiagnosticStatus& status);
// A MarkerArray.
[[nodiscard]] std::string ToCdr(const std::vector<ros::ArrowMarker>& markers);
// A MarkerArray of one marker.
[[nodiscard]] std::string ToCdr(const TriangleMarker& marker);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_RESULTS_ROS_MESSAGES_H_
