// SPDX-License-Identifier: Apache-2.0
//
// CaptureRecorder: keeps scans that went badly. Thread-safe; Configure and Stop from one thread at
// a time.

#ifndef VOXLOC_SERVER_CAPTURE_CAPTURE_RECORDER_H_
#define VOXLOC_SERVER_CAPTURE_CAPTURE_RECORDER_H_

#include <Eigen/Core>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/cloud/point_cloud.h"
#include "core/estimate/covariance/covariance_estimator.h"
#include "core/geometry/covariance.h"
#include "core/geometry/pose.h"
#include "core/geometry/twist.h"
#include "server/capture/capture_store.h"
#include "server/capture/capture_writer.h"
#include "server/config/config.h"
#include "server/observe/metrics/metrics.h"
#include "server/observe/seconds.h"
#include "server/session/session_state.h"
#include "voxloc/v1/alignment.pb.h"
#include "voxloc/v1/scan.pb.h"

namespace voxloc::server {

// What an alignment starts from, in addition to the message of its scan.
struct AlignmentInputs {
  std::optional<Pose> guess_map_T_base;
  std::optional<Matrix6> guess_covariance;
  std::optional<Matrix6> motion_covariance;
  std::optional<Twist> base_twist;
  std::optional<Eigen::Vector3d> reference_map;
  // With the scans before it; null: not joined.
  std::shared_ptr<const PointCloud> joint_base;
  Eigen::Vector3d sensor_position_base = Eigen::Vector3d::Zero();  // of a joint cloud's newest scan
  bool deskewed = false;
  std::optional<SystematicError> systematic;  // as the session's filter knows it
};

// A scan with a bad result.
struct CapturedScan {
  std::shared_ptr<const ScanSource> source;
  std::unique_ptr<v1::Scan> scan;
  std::optional<AlignmentInputs> inputs;  // nullopt: the scan is malformed, and is kept as it came
  std::unique_ptr<v1::AlignmentResult> result;

  // As it lies in memory until it is written, about.
  [[nodiscard]] size_t bytes() const;
};

// The answer, without what is made of it alone: aligned_cloud, point_scores and trace. `result` is
// as before when it returns.
[[nodiscard]] std::unique_ptr<v1::AlignmentResult> ResultToCapture(v1::AlignmentResult& result);

// A token bucket that limits the captures per second. Thread-safe.
class CaptureRate {
 public:
  using Clock = std::chrono::steady_clock;

  void Set(double per_second) {
    const absl::MutexLock lock(&mutex_);
    per_second_ = per_second;
    tokens_ = std::max(tokens_, 1.0);
  }

  // Takes a token if there is one. The bucket holds max(1, per_second) tokens.
  [[nodiscard]] bool Admit(Clock::time_point now) {
    const absl::MutexLock lock(&mutex_);
    const double elapsed_s = ToSeconds(now - at_);
    at_ = std::max(at_, now);
    tokens_ =
        std::min(std::max(1.0, per_second_), tokens_ + per_second_ * std::max(0.0, elapsed_s));
    if (tokens_ < 1.0) return false;
    tokens_ -= 1.0;
    return true;
  }

 private:
  absl::Mutex mutex_;
  double per_second_ ABSL_GUARDED_BY(mutex_) = 0.0;
  double tokens_ ABSL_GUARDED_BY(mutex_) = 0.0;
  Clock::time_point at_ ABSL_GUARDED_BY(mutex_) = Clock::now();
};

class CaptureRecorder {
 public:
  // Captures nothing until it is configured. `id_prefix`: see CaptureStore::Open. The metrics must
  // outlive it.
  CaptureRecorder(std::string id_prefix, const Metrics& metrics, CaptureStore::Files files = {});

  // Puts capture.* into effect (CaptureWriter::Configure).
  void Configure(const Config& config);

  // Whether scans are to keep what a capture needs until they are answered.
  [[nodiscard]] bool enabled() const { return writer_.enabled(); }

  // Whether to capture a scan with this status. If true, it counts towards capture.max_per_second.
  [[nodiscard]] bool ShouldCapture(v1::AlignmentStatus status);

  // Queues a scan for which ShouldCapture returned true. Never blocks.
  void Record(CapturedScan scan);

  // As of CaptureWriter.
  [[nodiscard]] absl::StatusOr<std::shared_ptr<const CaptureStore>> store() const {
    return writer_.store();
  }
  void Stop() { writer_.Stop(); }

 private:
  const Metrics& metrics_;
  std::atomic<uint64_t> statuses_{0};  // a bit for each v1::AlignmentStatus
  CaptureRate rate_;
  CaptureWriter writer_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CAPTURE_CAPTURE_RECORDER_H_
