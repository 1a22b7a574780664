// SPDX-License-Identifier: Apache-2.0

#include "server/capture/captured_scan.h"

#include <utility>

#include "server/convert/pose.h"
#include "server/convert/scan.h"
#include "server/observe/version.h"

namespace voxloc::server {
namespace {

// Component by component, so that it comes back to the last bit: PoseToProto turns the sign.
void ExactPoseToProto(const Pose& pose, v1::Pose& proto) {
  VectorToProto(pose.translation, *proto.mutable_position());
  v1::Quaternion& q = *proto.mutable_orientation();
  q.set_x(pose.rotation.x());
  q.set_y(pose.rotation.y());
  q.set_z(pose.rotation.z());
  q.set_w(pose.rotation.w());
}

void TwistToProto(const Twist& twist, v1::Twist& proto) {
  VectorToProto(twist.linear_m_s, *proto.mutable_linear());
  VectorToProto(twist.angular_rad_s, *proto.mutable_angular());
}

// The place of the newest scan's sensor is kept as a mount without rotation: the points lie around
// it, so that the mount brings them back.
void JointCloudToProto(const AlignmentInputs& inputs, v1::AlignScanRequest& request) {
  v1::ScanSetup& setup = *request.mutable_setup();
  setup.clear_filter();
  setup.clear_base_t_sensor();
  if (inputs.deskewed) {
    setup.mutable_options()->mutable_covariance()->mutable_systematic_skew_sigma_s()->set_value(
        0.0);
  }
  v1::SensorCloud& cloud = *request.mutable_scan()->add_clouds();
  EncodeCloud(*inputs.joint_base, *cloud.mutable_cloud());
  // Any other origin may lose its last bit on the way to the sensor and back.
  if (!inputs.joint_base->origin.isZero(0.0)) return;
  VectorToProto(-inputs.sensor_position_base, *cloud.mutable_cloud()->mutable_origin());
  Pose base_T_sensor;
  base_T_sensor.translation = inputs.sensor_position_base;
  ExactPoseToProto(base_T_sensor, *cloud.mutable_base_t_sensor());
}

void InputsToProto(const AlignmentInputs& inputs, v1::AlignScanRequest& request) {
  v1::Scan& scan = *request.mutable_scan();
  scan.clear_guess_map_t_base();
  if (inputs.guess_map_T_base.has_value()) {
    v1::PoseWithCovariance& guess = *scan.mutable_guess_map_t_base();
    ExactPoseToProto(*inputs.guess_map_T_base, *guess.mutable_pose());
    if (inputs.guess_covariance.has_value()) {
      AppendRowMajor(*inputs.guess_covariance, *guess.mutable_covariance());
    }
  }
  scan.clear_base_twist();
  if (inputs.base_twist.has_value()) TwistToProto(*inputs.base_twist, *scan.mutable_base_twist());
  scan.clear_reference_position();
  if (inputs.reference_map.has_value()) {
    VectorToProto(*inputs.reference_map, *scan.mutable_reference_position());
  }
  if (inputs.joint_base == nullptr) return;
  scan.clear_clouds();
  JointCloudToProto(inputs, request);
}

}  // namespace

size_t CapturedScan::bytes() const {
  size_t bytes = scan->ByteSizeLong() + result->ByteSizeLong();
  if (inputs.has_value() && inputs->joint_base != nullptr) {
    bytes += inputs->joint_base->size() * 3 * sizeof(float);
  }
  return bytes;
}

std::unique_ptr<v1::AlignmentResult> ResultToCapture(v1::AlignmentResult& result) {
  // Taken out and put back: they may have megabytes.
  std::unique_ptr<v1::Cloud> cloud(result.release_aligned_cloud());
  std::unique_ptr<v1::PointScores> scores(result.release_point_scores());
  std::unique_ptr<v1::AlignmentTrace> trace(result.release_trace());
  auto kept = std::make_unique<v1::AlignmentResult>(result);
  if (cloud != nullptr) result.set_allocated_aligned_cloud(cloud.release());
  if (scores != nullptr) result.set_allocated_point_scores(scores.release());
  if (trace != nullptr) result.set_allocated_trace(trace.release());
  return kept;
}

bool IsReplayable(const ScanSource& source, const AlignmentInputs& inputs) {
  return inputs.joint_base == nullptr || !source.recipe.align.sensor.moves_mount();
}

v1::Capture MakeCapture(CapturedScan captured, int64_t captured_unix_ns) {
  v1::Capture capture;
  v1::CaptureInfo& info = *capture.mutable_info();
  info.set_captured_at_ns(captured_unix_ns);
  info.set_session(captured.source->session);
  info.set_vehicle(captured.source->vehicle);
  info.set_map(captured.source->map);
  info.set_map_revision(captured.result->map_revision());
  info.set_status(captured.result->status());
  v1::AlignScanRequest& request = *capture.mutable_request();
  request.set_allocated_scan(captured.scan.release());
  request.mutable_scan()->clear_poses();  // the guess and the motion say what came of them
  request.mutable_scan()->clear_traceparent();
  request.mutable_scan()->clear_timeout_s();  // the time of another day
  v1::ScanSetup& setup = *request.mutable_setup();
  setup = *captured.source->setup;
  // A replay must not count as the vehicle's: it says nothing about its current position.
  setup.clear_vehicle();
  setup.clear_min_map_revision();
  setup.mutable_options()->set_profile(captured.source->recipe.align.profile.name);
  if (captured.inputs.has_value()) InputsToProto(*captured.inputs, request);
  capture.set_allocated_result(captured.result.release());
  capture.set_server_version(kVersion);
  capture.set_git_revision(kGitRevision);
  return capture;
}

}  // namespace voxloc::server
