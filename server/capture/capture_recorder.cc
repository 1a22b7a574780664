// SPDX-License-Identifier: Apache-2.0

#include "server/capture/capture_recorder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/capture/sensor_cloud.h"
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

void JointCloudToProto(const AlignmentInputs& inputs, v1::AlignScanRequest& request) {
  v1::ScanSetup& setup = *request.mutable_setup();
  setup.clear_filter();
  setup.clear_base_t_sensor();
  if (inputs.deskewed) {
    setup.mutable_options()->mutable_covariance()->mutable_systematic_skew_sigma_s()->set_value(
        0.0);
  }
  v1::SensorCloud& cloud = *request.mutable_scan()->add_clouds();
  if (inputs.joint_base->origin.isZero(0.0)) {
    SensorCloudToProto(*inputs.joint_base, inputs.sensor_position_base, cloud);
  } else {
    // It may lose its last bit on the way to the sensor and back.
    EncodeCloud(*inputs.joint_base, *cloud.mutable_cloud());
  }
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
  scan.clear_motion_covariance();
  if (inputs.motion_covariance.has_value()) {
    AppendRowMajor(*inputs.motion_covariance, *scan.mutable_motion_covariance());
  }
  scan.clear_base_twist();
  if (inputs.base_twist.has_value()) TwistToProto(*inputs.base_twist, *scan.mutable_base_twist());
  scan.clear_reference_position();
  if (inputs.reference_map.has_value()) {
    VectorToProto(*inputs.reference_map, *scan.mutable_reference_position());
  }
  if (inputs.systematic.has_value()) {
    v1::CovarianceOptions& options =
        *request.mutable_setup()->mutable_options()->mutable_covariance();
    options.mutable_systematic_time_sigma_s()->set_value(inputs.systematic->time_sigma_s);
    options.clear_systematic_position_sigma_m();
    for (const double sigma_m : inputs.systematic->position_sigma_m) {
      options.add_systematic_position_sigma_m(sigma_m);
    }
  }
  if (inputs.joint_base == nullptr) return;
  scan.clear_clouds();
  JointCloudToProto(inputs, request);
}

// Whether a request leads to the same pose. False: the scan was joined with earlier ones, and its
// sensor's calibration moves mounts, which would move the joint cloud.
bool IsReplayable(const ScanSource& source, const AlignmentInputs& inputs) {
  return inputs.joint_base == nullptr || !source.recipe.align.sensor.moves_mount();
}

// The capture, without an id and without its size: an AlignScanRequest from which the same engine
// computes a bit-identical pose.
//
// What the session knew when the scan was aligned is written out in the request: the guess with its
// covariance, wherever it came from, the motion that the points were moved by, and the reference
// position. Points are those of the client, with their mounts, stamps and times. Where the session
// joined the scan with earlier ones, they are the joint cloud as it was aligned: the pose is the
// same, and what is estimated of single rays (the confidence, and a verdict that follows from it)
// may differ. So may a verdict that the session's earlier results had a part in.
v1::Capture MakeCapture(CapturedScan captured, int64_t captured_unix_ns) {
  v1::Capture capture;
  v1::CaptureInfo& info = *capture.mutable_info();
  info.set_captured_at_ns(captured_unix_ns);
  info.set_session(captured.source->session);
  info.set_vehicle(captured.source->vehicle);
  info.set_map(captured.source->map);
  info.set_map_revision(captured.result->map_revision());
  info.set_status(captured.result->status());
  info.set_purpose(v1::CAPTURE_PURPOSE_BAD_SCAN);
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

uint64_t BitOf(v1::AlignmentStatus status) { return uint64_t{1} << static_cast<unsigned>(status); }

uint64_t BitsOf(const std::vector<std::string>& statuses) {
  uint64_t bits = 0;
  for (const std::string& name : statuses) {
    v1::AlignmentStatus status = v1::ALIGNMENT_STATUS_UNSPECIFIED;
    // The settings allow no others.
    if (v1::AlignmentStatus_Parse("ALIGNMENT_STATUS_" + name, &status)) bits |= BitOf(status);
  }
  return bits;
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

CaptureRecorder::CaptureRecorder(std::string id_prefix, const Metrics& metrics,
                                 CaptureStore::Files files)
    : metrics_(metrics),
      writer_("capture", std::move(id_prefix), metrics.captures, std::move(files)) {}

void CaptureRecorder::Configure(const Config& config) {
  statuses_ = BitsOf(config.capture.statuses);
  rate_.Set(config.capture.max_per_second);
  writer_.Configure(
      CaptureDirectory(config),
      {config.capture.max_bytes, config.limits.max_message_bytes, config.capture.max_age_s});
}

bool CaptureRecorder::ShouldCapture(v1::AlignmentStatus status) {
  if (!enabled() || (statuses_.load(std::memory_order_relaxed) & BitOf(status)) == 0) return false;
  if (rate_.Admit(CaptureRate::Clock::now())) return true;
  metrics_.captures_rate_limited.Increment();
  return false;
}

void CaptureRecorder::Record(CapturedScan scan) {
  if (scan.inputs.has_value() && !IsReplayable(*scan.source, *scan.inputs)) {
    metrics_.captures_not_replayable.Increment();
    return;
  }
  const std::string session = scan.source->session;
  const uint64_t bytes = scan.bytes();
  writer_.Post(session, bytes, [scan = std::move(scan)](CaptureStore& store) mutable {
    return store.Add(MakeCapture(std::move(scan), absl::GetCurrentTimeNanos()));
  });
}

}  // namespace voxloc::server
