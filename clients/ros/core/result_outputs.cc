// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/result_outputs.h"

#include "absl/status/statusor.h"
#include "clients/cpp/messages.h"
#include "clients/ros/core/visualization.h"

namespace voxloc::ros {
namespace {

// 6x6, row-major.
constexpr int kCovarianceSize = 36;

int64_t Later(int64_t stamp_ns, double by_s) { return stamp_ns + static_cast<int64_t>(by_s * 1e9); }

}  // namespace

bool ResultOutputs::Publish(const v1::AlignmentResult& result, const ScanContext& scan) {
  if (!result.has_map_t_base()) return false;
  const absl::StatusOr<Pose> map_T_base = client::DecodePose(result.map_t_base().pose());
  if (!map_T_base.ok()) return false;
  const int64_t stamp_ns = scan.stamp_ns;
  PublishNumber(Topic::kExeTimeMs, stamp_ns, scan.execution_time_ms);
  PublishNumber(Topic::kTransformProbability, stamp_ns, result.scores().transform_probability());
  PublishNumber(Topic::kNearestVoxelTransformationLikelihood, stamp_ns, result.scores().nvtl());
  output_.Publish(Topic::kIterationNum,
                  Int32Stamped{stamp_ns, static_cast<int32_t>(result.iterations())});
  PublishTransform(result, *map_T_base, scan);
  if (result.accepted()) PublishPose(result, *map_T_base, stamp_ns);
  PublishInitialToResult(result, *map_T_base, scan);
  PublishClouds(result, stamp_ns);
  PublishCovarianceSearch(result, *map_T_base, stamp_ns);
  return result.accepted();
}

void ResultOutputs::PublishTransform(const v1::AlignmentResult& result, const Pose& map_T_base,
                                     const ScanContext& scan) {
  if (scan.number < last_transform_) return;
  TransformStamped transform;
  transform.header = {Later(scan.stamp_ns, parameters_.voxloc.tf_tolerance_sec),
                      parameters_.frame.map_frame};
  if (parameters_.voxloc.tf_output == "base") {
    transform.child_frame_id = parameters_.frame.ndt_base_frame;
    transform.parent_T_child = map_T_base;
  } else if (parameters_.voxloc.tf_output == "odom" && result.accepted() &&
             result.has_map_t_odom()) {
    const absl::StatusOr<Pose> map_T_odom = client::DecodePose(result.map_t_odom());
    if (!map_T_odom.ok()) return;
    transform.child_frame_id = parameters_.voxloc.odom_frame;
    transform.parent_T_child = *map_T_odom;
  } else {
    return;
  }
  last_transform_ = scan.number;
  output_.Broadcast(transform);
}

void ResultOutputs::PublishPose(const v1::AlignmentResult& result, const Pose& map_T_base,
                                int64_t stamp_ns) {
  PoseWithCovarianceStamped pose;
  pose.header = {stamp_ns, parameters_.frame.map_frame};
  pose.pose = map_T_base;
  if (result.map_t_base().covariance_size() == kCovarianceSize) {
    for (int i = 0; i < kCovarianceSize; ++i) {
      pose.covariance(i / 6, i % 6) = result.map_t_base().covariance(i);
    }
  }
  output_.Publish(Topic::kNdtPose, PoseStamped{pose.header, pose.pose});
  output_.Publish(Topic::kNdtPoseWithCovariance, pose);
}

void ResultOutputs::PublishInitialToResult(const v1::AlignmentResult& result,
                                           const Pose& map_T_base, const ScanContext& scan) {
  const absl::StatusOr<Pose> guess = client::DecodePose(result.guess_map_t_base());
  if (!guess.ok()) return;
  const Header header{scan.stamp_ns, parameters_.frame.map_frame};
  PoseWithCovarianceStamped initial{header, *guess,
                                    scan.guess_covariance.value_or(Matrix6::Zero())};
  output_.Publish(Topic::kInitialPoseWithCovariance, initial);
  output_.Publish(Topic::kInitialToResultRelativePose,
                  PoseStamped{header, guess->Inverse() * map_T_base});
  PublishNumber(Topic::kInitialToResultDistance, scan.stamp_ns,
                TranslationDistance(*guess, map_T_base));
  if (result.diagnostics().has_interpolated_guess()) {
    const v1::InterpolatedGuess& between = result.diagnostics().interpolated_guess();
    PublishNumber(Topic::kInitialToResultDistanceOld, scan.stamp_ns,
                  between.initial_to_result_distance_old_m());
    PublishNumber(Topic::kInitialToResultDistanceNew, scan.stamp_ns,
                  between.initial_to_result_distance_new_m());
  }
  if (result.has_trace()) {
    output_.Publish(Topic::kNdtMarker,
                    StepMarkers(result.trace(), *guess, header, parameters_.ndt.max_iterations));
  }
}

void ResultOutputs::PublishClouds(const v1::AlignmentResult& result, int64_t stamp_ns) {
  const Header header{stamp_ns, parameters_.frame.map_frame};
  if (result.has_aligned_cloud()) {
    if (output_.HasSubscribers(Topic::kPointsAligned)) {
      auto cloud = XyzCloud(header, result.aligned_cloud());
      if (cloud.ok()) output_.Publish(Topic::kPointsAligned, *std::move(cloud));
    }
    if (result.has_point_scores()) {
      auto cloud = ScoreCloud(header, result.aligned_cloud(), result.point_scores());
      if (cloud.ok()) output_.Publish(Topic::kVoxelScorePoints, *std::move(cloud));
    }
  }
  if (!result.has_no_ground()) return;
  const v1::Scores& scores = result.no_ground().scores();
  PublishNumber(Topic::kNoGroundTransformProbability, stamp_ns, scores.transform_probability());
  PublishNumber(Topic::kNoGroundNearestVoxelTransformationLikelihood, stamp_ns, scores.nvtl());
  if (!result.no_ground().has_cloud()) return;
  auto cloud = XyzCloud(header, result.no_ground().cloud());
  if (cloud.ok()) output_.Publish(Topic::kPointsAlignedNoGround, *std::move(cloud));
}

void ResultOutputs::PublishCovarianceSearch(const v1::AlignmentResult& result,
                                            const Pose& map_T_base, int64_t stamp_ns) {
  const v1::CovarianceReport& report = result.covariance_report();
  if (report.offset_map_t_base().empty()) return;
  const Header header{stamp_ns, parameters_.frame.map_frame};
  const auto publish = [&](Topic topic, const Pose& first, const auto& others) {
    PoseArray array{header, {first}};
    for (const v1::Pose& other : others) {
      array.poses.push_back(client::DecodePose(other).value_or(Pose()));
    }
    output_.Publish(topic, array);
  };
  if (!report.aligned_map_t_base().empty()) {
    publish(Topic::kMultiNdtPose, map_T_base, report.aligned_map_t_base());
  }
  publish(Topic::kMultiInitialPose, client::DecodePose(result.guess_map_t_base()).value_or(Pose()),
          report.offset_map_t_base());
}

}  // namespace voxloc::ros
