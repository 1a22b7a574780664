// SPDX-License-Identifier: Apache-2.0

#include "server/capture/capture_recorder.h"

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/parallel/this_thread.h"
#include "core/status/try.h"
#include "server/convert/pose.h"
#include "server/convert/scan.h"
#include "server/observe/logging.h"
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

// Scans of the largest size that may wait for the disk.
constexpr uint64_t kMaxQueuedScans = 4;

// Between two looks for captures that are too old: a sixth of the smallest capture.max_age_s.
constexpr absl::Duration kExpiryPeriod = absl::Seconds(10);

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

CaptureStore::Limits StoreLimits(const Config& config) {
  return {config.capture.max_bytes, config.limits.max_message_bytes, config.capture.max_age_s};
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
    : id_prefix_(std::move(id_prefix)), metrics_(metrics), files_(std::move(files)) {}

CaptureRecorder::~CaptureRecorder() { Stop(); }

void CaptureRecorder::Configure(const Config& config) {
  statuses_ = BitsOf(config.capture.statuses);
  rate_.Set(config.capture.max_per_second);
  if (config.capture.max_bytes == 0) {
    enabled_ = false;
    return;
  }
  const absl::Status status = OpenStore(config);
  if (!status.ok()) {
    Log(LogLevel::kError, "captures_unusable",
        {{"directory", CaptureDirectory(config)}, {"error", status.message()}});
  }
  const absl::MutexLock lock(&mutex_);
  store_error_ = status;
  max_waiting_bytes_ = kMaxQueuedScans * config.limits.max_message_bytes;
  enabled_ = status.ok() && !stopping_;
}

absl::Status CaptureRecorder::OpenStore(const Config& config) {
  std::shared_ptr<CaptureStore> store;
  {
    const absl::MutexLock lock(&mutex_);
    store = store_;
  }
  if (store != nullptr) {
    store->SetLimits(StoreLimits(config));
    return absl::OkStatus();
  }
  const std::string directory = CaptureDirectory(config);
  if (directory.empty()) {
    return absl::FailedPreconditionError("neither capture.directory nor data_dir is set");
  }
  VOXLOC_ASSIGN_OR_RETURN(auto opened, CaptureStore::Open(directory, id_prefix_,
                                                          StoreLimits(config), metrics_, files_));
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { Run(); });
    } catch (const std::system_error& error) {
      return absl::ResourceExhaustedError(absl::StrCat("no thread can be started: ", error.what()));
    }
  }
  const absl::MutexLock lock(&mutex_);
  store_ = std::move(opened);
  return absl::OkStatus();
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
  const uint64_t bytes = scan.bytes();
  const absl::MutexLock lock(&mutex_);
  if (stopping_ || waiting_bytes_ + bytes > max_waiting_bytes_) {
    metrics_.captures_queue_full.Increment();
    return;
  }
  waiting_bytes_ += bytes;
  waiting_.push_back(std::move(scan));
}

absl::StatusOr<std::shared_ptr<const CaptureStore>> CaptureRecorder::store() const {
  const absl::MutexLock lock(&mutex_);
  if (enabled() && store_ != nullptr) return store_;
  return absl::FailedPreconditionError(
      store_error_.ok() ? "the server captures no scans; capture.max_bytes switches it on"
                        : "the folder of captures cannot be used; the server's log says why");
}

void CaptureRecorder::Stop() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
  enabled_ = false;
}

void CaptureRecorder::Run() {
  SetThreadName("captures");
  LowerThreadPriority();
  const auto has_work = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !waiting_.empty();
  };
  while (true) {
    CapturedScan next;
    std::shared_ptr<CaptureStore> store;
    {
      const absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithTimeout(absl::Condition(&has_work), kExpiryPeriod);
      store = store_;
      if (waiting_.empty()) {
        if (stopping_) return;
      } else {
        next = std::move(waiting_.front());
        waiting_.pop_front();
        waiting_bytes_ -= next.bytes();
      }
    }
    if (store == nullptr) continue;
    store->DeleteExpired();
    if (next.scan == nullptr) continue;
    const std::string session = next.source->session;
    const absl::Status status =
        store->Add(MakeCapture(std::move(next), absl::GetCurrentTimeNanos()));
    if (!status.ok()) {
      LogRateLimited(LogLevel::kWarn, "capture_failed",
                     {{"session", session}, {"error", status.message()}});
    }
  }
}

}  // namespace voxloc::server
