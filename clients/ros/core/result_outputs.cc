// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/result_outputs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "clients/cpp/messages.h"
#include "core/status/try.h"

namespace voxloc::ros {
namespace {

// 6x6, row-major.
constexpr int kCovarianceSize = 36;

int64_t Later(int64_t stamp_ns, double by_s) { return stamp_ns + static_cast<int64_t>(by_s * 1e9); }

constexpr double kTwoPi = 6.283185307179586;
// Autoware's values that map to the red end of the colour scale.
constexpr double kStepColorScale = 15.0;
constexpr double kScoreColorScale = 4.5;
constexpr double kIterationColorScale = 30.0;
constexpr double kParticleColorScale = 100.0;
constexpr double kParticleLifetimeS = 10.0;
// Beyond the last iteration: one for the guess, and one to spare.
constexpr int64_t kSpareSteps = 2;

// The server sends valid poses; an invalid one is drawn at the origin.
Pose PoseOf(const v1::Pose& message) { return client::DecodePose(message).value_or(Pose()); }

constexpr uint32_t kFloatBytes = 4;

PointCloud2 EmptyCloud(const Header& header, bool with_colors) {
  PointCloud2 cloud;
  cloud.header = header;
  for (const char* name : {"x", "y", "z", "rgb"}) {
    if (!with_colors && cloud.fields.size() == 3) break;
    cloud.fields.push_back({name, cloud.point_step, PointField::kFloat32, 1});
    cloud.point_step += kFloatBytes;
  }
  return cloud;
}

// All zeros where there is none.
template <typename Values>
Matrix6 CovarianceOf(const Values& row_major) {
  Matrix6 covariance = Matrix6::Zero();
  if (row_major.size() != kCovarianceSize) return covariance;
  for (int i = 0; i < kCovarianceSize; ++i) covariance(i / 6, i % 6) = row_major.Get(i);
  return covariance;
}

Eigen::Vector3d VectorOf(const v1::Vector3& message) {
  return {message.x(), message.y(), message.z()};
}

// What is to be broadcast as the parent of voxloc.tf_output's frame; nullopt: nothing.
std::optional<Pose> TransformOf(const v1::AlignmentResult& result, const std::string& tf_output) {
  absl::StatusOr<Pose> pose = absl::NotFoundError("");
  if (tf_output == "base" && result.has_map_t_base()) {
    pose = client::DecodePose(result.map_t_base().pose());
  } else if (tf_output == "odom" && result.fused().has_map_t_odom()) {
    pose = client::DecodePose(result.fused().map_t_odom());
  } else if (tf_output == "odom" && result.accepted() && result.has_map_t_odom()) {
    pose = client::DecodePose(result.map_t_odom());
  }
  return pose.ok() ? std::optional<Pose>(*pose) : std::nullopt;
}

void PutXyz(const PointCloud& points, size_t i, uint8_t* out) {
  const Eigen::Vector3f xyz = points.Point(i).cast<float>();
  std::memcpy(out, xyz.data(), 3 * kFloatBytes);
}

// Publishes the outputs of one answer that has a pose.
struct ScanOutputs {
  const Parameters& parameters;
  Output& output;
  const v1::AlignmentResult& result;
  const ScanContext& scan;
  Pose map_T_base;
  Header header;  // of the scan, in the map's frame

  void PublishNumber(Topic topic, double value) const {
    output.Publish(topic, Float32Stamped{scan.stamp_ns, static_cast<float>(value)});
  }

  void PublishPose() const {
    output.Publish(Topic::kNdtPose, PoseStamped{header, map_T_base});
    output.Publish(Topic::kNdtPoseWithCovariance,
                   PoseWithCovarianceStamped{header, map_T_base,
                                             CovarianceOf(result.map_t_base().covariance())});
  }

  void PublishInitialToResult() const {
    const absl::StatusOr<Pose> guess = client::DecodePose(result.guess_map_t_base());
    if (!guess.ok()) return;
    PoseWithCovarianceStamped initial{header, *guess,
                                      scan.guess_covariance.value_or(Matrix6::Zero())};
    output.Publish(Topic::kInitialPoseWithCovariance, initial);
    output.Publish(Topic::kInitialToResultRelativePose,
                   PoseStamped{header, guess->Inverse() * map_T_base});
    PublishNumber(Topic::kInitialToResultDistance, TranslationDistance(*guess, map_T_base));
    if (result.diagnostics().has_interpolated_guess()) {
      const v1::InterpolatedGuess& between = result.diagnostics().interpolated_guess();
      PublishNumber(Topic::kInitialToResultDistanceOld, between.initial_to_result_distance_old_m());
      PublishNumber(Topic::kInitialToResultDistanceNew, between.initial_to_result_distance_new_m());
    }
    if (result.has_trace()) {
      output.Publish(Topic::kNdtMarker,
                     StepMarkers(result.trace(), *guess, header, parameters.ndt.max_iterations));
    }
  }

  void PublishClouds() const {
    if (result.has_aligned_cloud()) {
      if (output.HasSubscribers(Topic::kPointsAligned)) {
        auto cloud = XyzCloud(header, result.aligned_cloud());
        if (cloud.ok()) output.Publish(Topic::kPointsAligned, *std::move(cloud));
      }
      if (result.has_point_scores()) {
        auto cloud = ScoreCloud(header, result.aligned_cloud(), result.point_scores());
        if (cloud.ok()) output.Publish(Topic::kVoxelScorePoints, *std::move(cloud));
      }
    }
    if (!result.has_no_ground()) return;
    const v1::Scores& scores = result.no_ground().scores();
    PublishNumber(Topic::kNoGroundTransformProbability, scores.transform_probability());
    PublishNumber(Topic::kNoGroundNearestVoxelTransformationLikelihood, scores.nvtl());
    if (!result.no_ground().has_cloud()) return;
    auto cloud = XyzCloud(header, result.no_ground().cloud());
    if (cloud.ok()) output.Publish(Topic::kPointsAlignedNoGround, *std::move(cloud));
  }

  void PublishCovarianceSearch() const {
    const v1::CovarianceReport& report = result.covariance_report();
    if (report.offset_map_t_base().empty()) return;
    const auto publish = [&](Topic topic, const Pose& first, const auto& others) {
      PoseArray array{header, {first}};
      for (const v1::Pose& other : others) array.poses.push_back(PoseOf(other));
      output.Publish(topic, array);
    };
    if (!report.aligned_map_t_base().empty()) {
      publish(Topic::kMultiNdtPose, map_T_base, report.aligned_map_t_base());
    }
    publish(Topic::kMultiInitialPose, PoseOf(result.guess_map_t_base()),
            report.offset_map_t_base());
  }
};

}  // namespace

void ResultOutputs::BroadcastTransform(const v1::AlignmentResult& result, const ScanContext& scan) {
  if (parameters_.voxloc.shadow) return;
  const std::string& tf_output = parameters_.voxloc.tf_output;
  const std::optional<Pose> pose = TransformOf(result, tf_output);
  if (!pose.has_value() || scan.number < last_transform_) return;
  TransformStamped transform;
  transform.header = {Later(scan.stamp_ns, parameters_.voxloc.tf_tolerance_sec),
                      parameters_.frame.map_frame};
  transform.child_frame_id =
      tf_output == "base" ? parameters_.frame.ndt_base_frame : parameters_.voxloc.odom_frame;
  transform.parent_T_child = *pose;
  output_.Broadcast(transform);
  last_transform_ = scan.number;
}

bool ResultOutputs::Publish(const v1::AlignmentResult& result, const ScanContext& scan) {
  const Header header = {scan.stamp_ns, parameters_.frame.map_frame};
  BroadcastTransform(result, scan);
  if (result.has_fused()) {
    const v1::FusedPose& fused = result.fused();
    if (const auto pose = client::DecodePose(fused.map_t_base().pose()); pose.ok()) {
      output_.Publish(
          Topic::kFusedPoseWithCovariance,
          PoseWithCovarianceStamped{header, *pose, CovarianceOf(fused.map_t_base().covariance())});
    }
    if (fused.has_base_twist()) {
      const v1::Twist& twist = fused.base_twist();
      output_.Publish(
          Topic::kFusedTwistWithCovariance,
          TwistWithCovarianceStamped{{scan.stamp_ns, parameters_.frame.base_frame},
                                     {VectorOf(twist.linear()), VectorOf(twist.angular())},
                                     CovarianceOf(fused.base_twist_covariance())});
    }
  }
  if (!result.has_map_t_base()) return false;
  const absl::StatusOr<Pose> map_T_base = client::DecodePose(result.map_t_base().pose());
  if (!map_T_base.ok()) return false;
  const ScanOutputs out{parameters_, output_, result, scan, *map_T_base, header};
  out.PublishNumber(Topic::kExeTimeMs, scan.execution_time_ms);
  out.PublishNumber(Topic::kTransformProbability, result.scores().transform_probability());
  out.PublishNumber(Topic::kNearestVoxelTransformationLikelihood, result.scores().nvtl());
  output_.Publish(Topic::kIterationNum,
                  Int32Stamped{scan.stamp_ns, static_cast<int32_t>(result.iterations())});
  if (result.accepted()) out.PublishPose();
  out.PublishInitialToResult();
  out.PublishClouds();
  out.PublishCovarianceSearch();
  return result.accepted();
}

Color ColorOfRatio(double share) {
  const double x = std::clamp(share, 0.0, 0.9999);
  const auto wave = static_cast<float>(std::sin(kTwoPi * x));
  Color color;
  color.a = 0.999F;
  if (x <= 0.25) {
    color.g = wave;
    color.b = 1.0F;
  } else if (x <= 0.5) {
    color.g = 1.0F;
    color.b = wave;
  } else if (x <= 0.75) {
    color.r = -wave;
    color.g = 1.0F;
  } else {
    color.r = 1.0F;
    color.g = -wave;
  }
  return color;
}

std::vector<ArrowMarker> StepMarkers(const v1::AlignmentTrace& trace, const Pose& map_T_base_guess,
                                     const Header& header, int64_t max_iterations) {
  std::vector<ArrowMarker> markers;
  const auto add = [&markers, &header](const Pose& pose, bool is_step) {
    ArrowMarker marker;
    marker.header = header;
    marker.ns = "result_pose_matrix_array";
    marker.id = static_cast<int32_t>(markers.size());
    marker.pose = pose;
    marker.color =
        ColorOfRatio(is_step ? static_cast<double>(markers.size() + 1) / kStepColorScale : 0.0);
    markers.push_back(std::move(marker));
  };
  add(map_T_base_guess, true);
  for (const v1::TraceIteration& iteration : trace.iterations()) {
    add(PoseOf(iteration.map_t_base_after()), true);
  }
  while (static_cast<int64_t>(markers.size()) < max_iterations + kSpareSteps) add(Pose(), false);
  return markers;
}

std::vector<ArrowMarker> ParticleMarkers(const v1::SearchParticle& particle, const Header& header) {
  const std::pair<const char*, double> scales[] = {
      {"transform_probability", particle.scores().nvtl() / kScoreColorScale},
      {"iteration", static_cast<double>(particle.iterations()) / kIterationColorScale},
      {"index", static_cast<double>(particle.index()) / kParticleColorScale}};
  const std::pair<const char*, Pose> ends[] = {
      {"initial_pose", PoseOf(particle.start_map_t_base())},
      {"result_pose", PoseOf(particle.map_t_base())}};
  std::vector<ArrowMarker> markers;
  for (const auto& [end, pose] : ends) {
    for (const auto& [scale, share] : scales) {
      ArrowMarker& marker = markers.emplace_back();
      marker.header = header;
      marker.ns = absl::StrCat(end, "_", scale, "_color_marker");
      marker.id = static_cast<int32_t>(particle.index());
      marker.pose = pose;
      marker.color = ColorOfRatio(share);
      marker.lifetime_s = kParticleLifetimeS;
    }
  }
  return markers;
}

PointCloud2 XyzCloud(const Header& header, const PointCloud& cloud) {
  PointCloud2 message = EmptyCloud(header, false);
  message.width = static_cast<uint32_t>(cloud.size());
  message.data.resize(cloud.size() * message.point_step);
  for (size_t i = 0; i < cloud.size(); ++i) {
    PutXyz(cloud, i, message.data.data() + i * message.point_step);
  }
  return message;
}

absl::StatusOr<PointCloud2> XyzCloud(const Header& header, const v1::Cloud& cloud) {
  PointCloud points;
  VOXLOC_TRY(client::DecodePoints(cloud, &points));
  return XyzCloud(header, points);
}

absl::StatusOr<PointCloud2> ScoreCloud(const Header& header, const v1::Cloud& cloud,
                                       const v1::PointScores& scores) {
  PointCloud points;
  VOXLOC_TRY(client::DecodePoints(cloud, &points));
  const size_t count = points.size();
  if (static_cast<size_t>(scores.best_score_size()) != count || scores.rgb().size() != 3 * count) {
    return absl::InvalidArgumentError(
        absl::StrCat("point_scores must have ", count, " scores and ", 3 * count, " colours (got ",
                     scores.best_score_size(), " and ", scores.rgb().size(), ")"));
  }
  PointCloud2 message = EmptyCloud(header, true);
  message.data.resize(count * message.point_step);
  uint8_t* out = message.data.data();
  for (size_t i = 0; i < count; ++i) {
    if (scores.best_score(static_cast<int>(i)) <= 0.0F) continue;
    PutXyz(points, i, out);
    const char* rgb = scores.rgb().data() + 3 * i;
    // 0x00RRGGBB in little endian.
    const char color[kFloatBytes] = {rgb[2], rgb[1], rgb[0], 0};
    std::memcpy(out + 3 * kFloatBytes, color, sizeof(color));
    out += message.point_step;
  }
  message.data.resize(static_cast<size_t>(out - message.data.data()));
  message.width = static_cast<uint32_t>(message.data.size() / message.point_step);
  return message;
}

}  // namespace voxloc::ros
