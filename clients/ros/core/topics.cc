// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/topics.h"

#include <cstddef>

namespace voxloc::ros {
namespace {

constexpr int kDepth = 10;

constexpr TopicInfo Plain(Topic topic, const char* name, MessageType type) {
  return {topic, name, type, kDepth, false};
}

constexpr TopicInfo kTopics[] = {
    Plain(Topic::kNdtPose, "ndt_pose", MessageType::kPoseStamped),
    Plain(Topic::kNdtPoseWithCovariance, "ndt_pose_with_covariance",
          MessageType::kPoseWithCovarianceStamped),
    Plain(Topic::kInitialPoseWithCovariance, "initial_pose_with_covariance",
          MessageType::kPoseWithCovarianceStamped),
    Plain(Topic::kInitialToResultRelativePose, "initial_to_result_relative_pose",
          MessageType::kPoseStamped),
    Plain(Topic::kMultiNdtPose, "multi_ndt_pose", MessageType::kPoseArray),
    Plain(Topic::kMultiInitialPose, "multi_initial_pose", MessageType::kPoseArray),
    Plain(Topic::kPointsAligned, "points_aligned", MessageType::kPointCloud2),
    Plain(Topic::kPointsAlignedNoGround, "points_aligned_no_ground", MessageType::kPointCloud2),
    Plain(Topic::kVoxelScorePoints, "voxel_score_points", MessageType::kPointCloud2),
    {Topic::kLoadedPointCloudMap, "debug/loaded_pointcloud_map", MessageType::kPointCloud2, 1,
     true},
    Plain(Topic::kExeTimeMs, "exe_time_ms", MessageType::kFloat32Stamped),
    Plain(Topic::kTransformProbability, "transform_probability", MessageType::kFloat32Stamped),
    Plain(Topic::kNearestVoxelTransformationLikelihood, "nearest_voxel_transformation_likelihood",
          MessageType::kFloat32Stamped),
    Plain(Topic::kNoGroundTransformProbability, "no_ground_transform_probability",
          MessageType::kFloat32Stamped),
    Plain(Topic::kNoGroundNearestVoxelTransformationLikelihood,
          "no_ground_nearest_voxel_transformation_likelihood", MessageType::kFloat32Stamped),
    Plain(Topic::kInitialToResultDistance, "initial_to_result_distance",
          MessageType::kFloat32Stamped),
    Plain(Topic::kInitialToResultDistanceOld, "initial_to_result_distance_old",
          MessageType::kFloat32Stamped),
    Plain(Topic::kInitialToResultDistanceNew, "initial_to_result_distance_new",
          MessageType::kFloat32Stamped),
    Plain(Topic::kIterationNum, "iteration_num", MessageType::kInt32Stamped),
    Plain(Topic::kNdtMarker, "ndt_marker", MessageType::kMarkerArray),
    Plain(Topic::kMonteCarloInitialPoseMarker, "monte_carlo_initial_pose_marker",
          MessageType::kMarkerArray),
};

}  // namespace

absl::Span<const TopicInfo> PublishedTopics() { return kTopics; }

const TopicInfo& InfoOf(Topic topic) { return kTopics[static_cast<size_t>(topic)]; }

}  // namespace voxloc::ros
