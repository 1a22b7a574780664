// SPDX-License-Identifier: Apache-2.0

#include <Eigen/Cholesky>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/ros/core/bridge_impl.h"

namespace voxloc::ros {
namespace {

// A twist is computed from two transforms this far apart: the period of a LiDAR of 10 Hz.
constexpr int64_t kTwistSpanNs = 100'000'000;
// Rounding of the filter that made a covariance, relative to its largest value.
constexpr double kAsymmetry = 1e-6;

}  // namespace

std::optional<Matrix6> UsableCovariance(const Matrix6& covariance) {
  if (!covariance.allFinite()) return std::nullopt;
  const double asymmetry = (covariance - covariance.transpose()).cwiseAbs().maxCoeff();
  if (asymmetry > kAsymmetry * covariance.cwiseAbs().maxCoeff()) return std::nullopt;
  const Matrix6 symmetric = 0.5 * (covariance + covariance.transpose());
  if (Eigen::LLT<Matrix6>(symmetric).info() != Eigen::Success) return std::nullopt;
  return symmetric;
}

void Bridge::Impl::OnInitialPose(const PoseWithCovarianceStamped& pose) {
  const int64_t stamp_ns = pose.header.stamp_ns;
  StatusReport report(node_name, kInitialPoseStatus);
  report.SetInt("topic_time_stamp", stamp_ns);
  const bool active = activated;
  report.SetBool("is_activated", active);
  if (!active) {
    report.Warn("the node is not activated");
  } else {
    const bool expected = pose.header.frame_id == parameters.frame.map_frame;
    report.SetBool("is_expected_frame_id", expected);
    const absl::StatusOr<Pose> map_T_base =
        PoseFromQuaternion(pose.pose.translation, pose.pose.rotation);
    if (!expected) {
      report.Error(absl::StrCat("the frame_id of the pose must be '", parameters.frame.map_frame,
                                "' (got '", pose.header.frame_id, "')"));
    } else if (!map_T_base.ok()) {
      report.Error(absl::StrCat("the pose is not one: ", map_T_base.status().message()));
    } else {
      const std::lock_guard<std::mutex> lock(mutex);
      poses.Push({stamp_ns, *map_T_base, pose.covariance});
      position_map = map_T_base->translation;
    }
  }
  PublishStatus(stamp_ns, report.Status());
}

void Bridge::Impl::OnRegularizationPose(const PoseWithCovarianceStamped& pose) {
  StatusReport report(node_name, kRegularizationPoseStatus);
  report.SetInt("topic_time_stamp", pose.header.stamp_ns);
  if (pose.pose.translation.allFinite()) {
    const std::lock_guard<std::mutex> lock(mutex);
    references.Push({pose.header.stamp_ns, pose.pose.translation});
  } else {
    report.Error("the position of the pose must be finite");
  }
  PublishStatus(pose.header.stamp_ns, report.Status());
}

void Bridge::Impl::OnTwist(const TwistStamped& twist) {
  if (!twist.twist.linear_m_s.allFinite() || !twist.twist.angular_rad_s.allFinite()) {
    log.Write("twist", LogLevel::kError, "a twist is not used: it is not finite");
    return;
  }
  const std::lock_guard<std::mutex> lock(mutex);
  twists.Push({twist.header.stamp_ns, twist.twist});
}

void Bridge::Impl::OnUserPose(const PoseWithCovarianceStamped& pose) {
  const std::string& map_frame = parameters.frame.map_frame;
  const absl::StatusOr<Pose> map_T_frame =
      pose.header.frame_id == map_frame
          ? absl::StatusOr<Pose>(Pose())
          : ports.transforms->Lookup(map_frame, pose.header.frame_id, std::nullopt);
  const absl::StatusOr<Pose> frame_T_base =
      PoseFromQuaternion(pose.pose.translation, pose.pose.rotation);
  if (!map_T_frame.ok() || !frame_T_base.ok()) {
    const absl::Status& why = map_T_frame.ok() ? frame_T_base.status() : map_T_frame.status();
    log.Write("initialpose", LogLevel::kError,
              absl::StrCat("the pose on initialpose is not used: ", why.message()));
    return;
  }
  const std::optional<Pose> odom_T_base = OdometryAt(std::nullopt);
  const OdometryGuess::Guess given{*map_T_frame * *frame_T_base, pose.covariance};
  uint64_t number = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    guess.Set(given, odom_T_base);
    number = ++user_poses;
  }
  MoveGuessToSurface(pose, given, odom_T_base, number);
}

void Bridge::Impl::MoveGuessToSurface(const PoseWithCovarianceStamped& pose,
                                      const OdometryGuess::Guess& given,
                                      const std::optional<Pose>& odom_T_base, uint64_t number) {
  AlignCall call = MakeAlignCall();
  if (call.scan == nullptr) return;
  call.prior = pose;
  call.height_only = true;
  align.Call(std::move(call), [this, given, odom_T_base, number](const AlignResponse& response) {
    if (response.prior_height_shift_m == 0.0) return;
    OdometryGuess::Guess raised = given;
    raised.map_T_base.translation.z() += response.prior_height_shift_m;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      // A newer pose was set, or this one has been used.
      if (number != user_poses || !guess.At(std::nullopt).has_value()) return;
      guess.Set(raised, odom_T_base);
    }
    log.Write("initialpose", LogLevel::kWarn,
              absl::StrFormat("the pose on initialpose misses the map's surface, and was moved by "
                              "%+.1f m along z",
                              response.prior_height_shift_m));
  });
}

std::optional<Pose> Bridge::Impl::OdometryAt(std::optional<int64_t> stamp_ns) const {
  const std::string& odom_frame = parameters.voxloc.odom_frame;
  if (odom_frame.empty()) return std::nullopt;
  const absl::StatusOr<Pose> odom_T_base =
      ports.transforms->Lookup(odom_frame, parameters.frame.base_frame, stamp_ns);
  if (odom_T_base.ok()) return *odom_T_base;
  return std::nullopt;
}

std::optional<Twist> Bridge::Impl::TwistAt(int64_t stamp_ns) const {
  if (parameters.voxloc.twist_source == "topic") return twists.At(stamp_ns);
  if (parameters.voxloc.twist_source != "odometry") return std::nullopt;
  const std::optional<Pose> before = OdometryAt(stamp_ns - kTwistSpanNs);
  const std::optional<Pose> now = OdometryAt(stamp_ns);
  if (!before.has_value() || !now.has_value()) return std::nullopt;
  return MeanTwist(*before, *now, static_cast<double>(kTwistSpanNs) * 1e-9);
}

}  // namespace voxloc::ros
