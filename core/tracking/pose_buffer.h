// SPDX-License-Identifier: Apache-2.0
//
// PoseBuffer: a vehicle's latest poses by time, and the pose between two of them. A session keeps
// two: the poses that guesses are interpolated from, and, with the identity for a rotation, the
// reference positions (GNSS) for the regularisation. The rules are those of Autoware's
// SmartPoseBuffer, with a bound on its size. Not thread-safe: its session locks.

#ifndef VOXLOC_CORE_TRACKING_POSE_BUFFER_H_
#define VOXLOC_CORE_TRACKING_POSE_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/cloud/motion.h"
#include "core/cloud/point_cloud.h"
#include "core/geometry/covariance.h"
#include "core/geometry/pose.h"

namespace voxloc {

struct BufferedPose {
  int64_t stamp_ns = 0;  // of any clock; 0 is a stamp like any other
  Pose map_T_base;
  Matrix6 covariance = Matrix6::Zero();  // about fixed map axes; finite
};

// A pose between two others. At or after the last pose of a buffer, all three are that pose.
struct InterpolatedPose : BufferedPose {
  BufferedPose older;  // the last one not after the stamp
  BufferedPose newer;  // the next one
};

// The names in brackets are Autoware's.
struct PoseBufferOptions {
  // Both poses of an interpolation must be within timeout_s of the stamp and within
  // distance_tolerance_m of each other. > 0.
  double timeout_s = 1.0;              // [validation.initial_pose_timeout_sec]
  double distance_tolerance_m = 10.0;  // [validation.initial_pose_distance_tolerance_m]
  // The oldest pose goes when there are more. 2 to kMaxBufferedPoses.
  size_t max_poses = 2000;
};

constexpr size_t kMaxBufferedPoses = 100'000;

// For reference positions: practically no validation, 1000 s and 1000 m.
[[nodiscard]] inline PoseBufferOptions ReferenceBufferOptions() { return {1000.0, 1000.0}; }

// InvalidArgument names the field, its value and what is allowed.
[[nodiscard]] absl::Status ValidatePoseBufferOptions(const PoseBufferOptions& options);

class PoseBuffer {
 public:
  explicit PoseBuffer(const PoseBufferOptions& options) : options_(options) {}

  // How near poses must be from now on; valid as in PoseBufferOptions.
  void SetLimits(double timeout_s, double distance_tolerance_m) {
    options_.timeout_s = timeout_s;
    options_.distance_tolerance_m = distance_tolerance_m;
  }

  // A stamp before the last one's, as in a replayed log, empties the buffer first.
  // InvalidArgument, and nothing changes: a component that is not finite, a rotation of no length.
  [[nodiscard]] absl::Status Push(const BufferedPose& pose);

  // The pose at this stamp: position, roll, pitch and yaw (ROS) linear between the last pose not
  // after it and the next one, angles the short way; the covariance is the older pose's. At or
  // after the last stamp it is the last pose: nothing is extrapolated. FailedPrecondition: fewer
  // than 2 poses, a stamp before the first one's, poses that are too old, too new or too far apart.
  [[nodiscard]] absl::StatusOr<InterpolatedPose> Interpolate(int64_t stamp_ns) const;

  // Forgets the poses before this stamp.
  void PopOld(int64_t stamp_ns);
  void Clear() { poses_.clear(); }

  [[nodiscard]] size_t size() const { return poses_.size(); }

 private:
  PoseBufferOptions options_;
  std::deque<BufferedPose> poses_;  // stamps never fall
};

// As many scans of a LiDAR of 10 Hz as the default age holds.
constexpr size_t kMaxAccumulatedScans = 100;

struct AccumulationOptions {
  size_t max_scans = 1;  // that are joined, the newest included; 1 to kMaxAccumulatedScans
  // A gyroscope that drifts by 0.01 degrees a second turns the oldest scan by a tenth of a degree.
  double max_age_s = 10.0;  // finite, > 0
  // Odometry that drifts by 1 % of the way, as of wheels, places the farthest scan to a decimetre.
  double max_distance_m = 10.0;  // between the bases; over 0, at most 1000
  // Of all scans that are joined; the points of a turn of a LiDAR of 128 beams.
  size_t max_points = 262'144;
};

// InvalidArgument names the field, its value and what is allowed.
[[nodiscard]] absl::Status ValidateAccumulationOptions(const AccumulationOptions& options);

// ScanHistory: the latest scans of a vehicle, prepared in the base frame, with the odometry at
// each, for clouds that are made of several scans. Scans that are too old, too far away or too many
// are dropped, so that memory is bounded and no scan from before a jump of the odometry is used.
// Points are shared, never copied. Not thread-safe: its session locks.
class ScanHistory {
 public:
  explicit ScanHistory(const AccumulationOptions& options) : options_(options) {}

  // The earlier scans that are to be joined with this one, the newest first, each with where its
  // base lies in the base of this one. Keeps the scan for those that follow, unless it has more
  // than max_points by itself. A stamp before the last one's, as in a replayed log, empties the
  // history first.
  [[nodiscard]] std::vector<PlacedCloud> Add(int64_t stamp_ns, const Pose& odom_T_base,
                                             std::shared_ptr<const PointCloud> scan_base);
  void Clear();

  // Of the scans that are kept.
  [[nodiscard]] size_t points() const { return points_; }

 private:
  struct Scan {
    int64_t stamp_ns = 0;
    Pose odom_T_base;
    std::shared_ptr<const PointCloud> base;
  };

  void DropOldest();

  AccumulationOptions options_;
  std::deque<Scan> scans_;  // stamps never fall
  size_t points_ = 0;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_TRACKING_POSE_BUFFER_H_
