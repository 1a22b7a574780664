// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/topics.h"

#include <cstddef>

namespace voxloc::ros {
namespace {

constexpr TopicInfo kTopics[] = {
    {Topic::kNdtPose, "ndt_pose", MessageType::kPoseStamped},
    {Topic::kNdtPoseWithCovariance, "ndt_pose_with_covariance",
     MessageType::kPoseWithCovarianceStamped},
    {Topic::kInitialPoseWithCovariance, "initial_pose_with_covariance",
     MessageType::kPoseWithCovarianceStamped},
    {Topic::kInitialToResultRelativePose, "initial_to_result_relative_pose",
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

}  // namespace

absl::Span<const TopicInfo> PublishedTopics() { return kTopics; }

const TopicInfo& InfoOf(Topic topic) { return kTopics[static_cast<size_t>(topic)]; }

}  // namespace voxloc::ros
