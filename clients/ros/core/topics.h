// SPDX-License-Identifier: Apache-2.0
//
// The topics and services of the node, with the names, types and depths of Autoware's
// ndt_scan_matcher: adapters create their publishers, subscriptions and services from these tables,
// and docs/ros.md is tested against them. Thread-safe: constants and pure functions.

#ifndef VOXLOC_CLIENTS_ROS_CORE_TOPICS_H_
#define VOXLOC_CLIENTS_ROS_CORE_TOPICS_H_

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

namespace voxloc::ros {

// Published topics, without /tf and /diagnostics.
enum class Topic {
  kNdtPose,
  kNdtPoseWithCovariance,
  kFusedPoseWithCovariance,
  kFusedTwistWithCovariance,
  kInitialPoseWithCovariance,
  kInitialToResultRelativePose,
  kIncumbentToResultRelativePose,
  kMultiNdtPose,
  kMultiInitialPose,
  kPointsAligned,
  kPointsAlignedNoGround,
  kVoxelScorePoints,
  kLoadedPointCloudMap,
  kExeTimeMs,
  kTransformProbability,
  kNearestVoxelTransformationLikelihood,
  kNoGroundTransformProbability,
  kNoGroundNearestVoxelTransformationLikelihood,
  kInitialToResultDistance,
  kInitialToResultDistanceOld,
  kInitialToResultDistanceNew,
  kIterationNum,
  kNdtMarker,
  kMonteCarloInitialPoseMarker,
};

// The types of what is published.
enum class MessageType {
  kPoseStamped,                 // geometry_msgs/msg/PoseStamped
  kPoseWithCovarianceStamped,   // geometry_msgs/msg/PoseWithCovarianceStamped
  kTwistWithCovarianceStamped,  // geometry_msgs/msg/TwistWithCovarianceStamped
  kPoseArray,                   // geometry_msgs/msg/PoseArray
  kPointCloud2,                 // sensor_msgs/msg/PointCloud2
  kFloat32Stamped,              // autoware_internal_debug_msgs/msg/Float32Stamped
  kInt32Stamped,                // autoware_internal_debug_msgs/msg/Int32Stamped
  kMarkerArray,                 // visualization_msgs/msg/MarkerArray
};

struct TopicInfo {
  Topic topic;
  const char* name;  // relative to the node's namespace, as Autoware's
  MessageType type;
  int depth = 10;                // of its queue
  bool transient_local = false;  // a late subscriber gets the last one
};

// In the order of Topic.
inline constexpr TopicInfo kPublishedTopics[] = {
    {Topic::kNdtPose, "ndt_pose", MessageType::kPoseStamped},
    {Topic::kNdtPoseWithCovariance, "ndt_pose_with_covariance",
     MessageType::kPoseWithCovarianceStamped},
    {Topic::kFusedPoseWithCovariance, "fused_pose_with_covariance",
     MessageType::kPoseWithCovarianceStamped},
    {Topic::kFusedTwistWithCovariance, "fused_twist_with_covariance",
     MessageType::kTwistWithCovarianceStamped},
    {Topic::kInitialPoseWithCovariance, "initial_pose_with_covariance",
     MessageType::kPoseWithCovarianceStamped},
    {Topic::kInitialToResultRelativePose, "initial_to_result_relative_pose",
     MessageType::kPoseStamped},
    {Topic::kIncumbentToResultRelativePose, "incumbent_to_result_relative_pose",
     MessageType::kPoseStamped},
    {Topic::kMultiNdtPose, "multi_ndt_pose", MessageType::kPoseArray},
    {Topic::kMultiInitialPose, "multi_initial_pose", MessageType::kPoseArray},
    {Topic::kPointsAligned, "points_aligned", MessageType::kPointCloud2},
    {Topic::kPointsAlignedNoGround, "points_aligned_no_ground", MessageType::kPointCloud2},
    {Topic::kVoxelScorePoints, "voxel_score_points", MessageType::kPointCloud2},
    {Topic::kLoadedPointCloudMap, "debug/loaded_pointcloud_map", MessageType::kPointCloud2, 1,
     true},
    {Topic::kExeTimeMs, "exe_time_ms", MessageType::kFloat32Stamped},
    {Topic::kTransformProbability, "transform_probability", MessageType::kFloat32Stamped},
    {Topic::kNearestVoxelTransformationLikelihood, "nearest_voxel_transformation_likelihood",
     MessageType::kFloat32Stamped},
    {Topic::kNoGroundTransformProbability, "no_ground_transform_probability",
     MessageType::kFloat32Stamped},
    {Topic::kNoGroundNearestVoxelTransformationLikelihood,
     "no_ground_nearest_voxel_transformation_likelihood", MessageType::kFloat32Stamped},
    {Topic::kInitialToResultDistance, "initial_to_result_distance", MessageType::kFloat32Stamped},
    {Topic::kInitialToResultDistanceOld, "initial_to_result_distance_old",
     MessageType::kFloat32Stamped},
    {Topic::kInitialToResultDistanceNew, "initial_to_result_distance_new",
     MessageType::kFloat32Stamped},
    {Topic::kIterationNum, "iteration_num", MessageType::kInt32Stamped},
    {Topic::kNdtMarker, "ndt_marker", MessageType::kMarkerArray},
    {Topic::kMonteCarloInitialPoseMarker, "monte_carlo_initial_pose_marker",
     MessageType::kMarkerArray},
};
[[nodiscard]] inline absl::Span<const TopicInfo> PublishedTopics() { return kPublishedTopics; }
[[nodiscard]] constexpr const TopicInfo& InfoOf(Topic topic) {
  return kPublishedTopics[static_cast<size_t>(topic)];
}

// Of the subscriptions.
inline constexpr char kPointsTopic[] = "points_raw";  // best effort, depth 1
inline constexpr char kInitialPoseTopic[] = "ekf_pose_with_covariance";
inline constexpr char kRegularizationPoseTopic[] = "regularization_pose_with_covariance";
// With voxloc.twist_source = topic: TwistStamped and TwistWithCovarianceStamped, of which one is to
// be published.
inline constexpr char kTwistTopic[] = "twist";
inline constexpr char kTwistWithCovarianceTopic[] = "twist_with_covariance";
// With voxloc.pointcloud_map: reliable, transient local, depth 1.
inline constexpr char kMapTopic[] = "pointcloud_map";
inline constexpr char kUserPoseTopic[] = "initialpose";  // with voxloc.guess_source = odometry
// With voxloc.shadow: where the incumbent publishes the poses that this node would publish.
inline constexpr const char* kIncumbentPoseTopic = InfoOf(Topic::kNdtPoseWithCovariance).name;
inline constexpr int kPoseDepth = 10;

// Of the services and of the client.
inline constexpr char kAlignService[] = "ndt_align_srv";
inline constexpr char kTriggerService[] = "trigger_node_srv";
inline constexpr char kReinitializeService[] = "reinitialize_global_localization";
inline constexpr char kMapLoaderClient[] = "pcd_loader_service";

// The name under which a topic of PublishedTopics or a service is offered: with voxloc.shadow a
// namespace of its own, so that nobody who reads or calls the incumbent meets this node.
[[nodiscard]] inline std::string OfferedName(absl::string_view name, bool shadow) {
  return absl::StrCat(shadow ? "shadow/" : "", name);
}

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_TOPICS_H_
