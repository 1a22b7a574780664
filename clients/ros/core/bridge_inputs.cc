// SPDX-License-Identifier: Apache-2.0

#include <Eigen/Cholesky>
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cpp/messages.h"
#include "clients/ros/core/bridge_impl.h"
#include "clients/ros/core/session_request.h"
#include "core/geometry/stamp.h"

namespace voxloc::ros {
namespace {

// A twist is computed from two transforms this far apart: the period of a LiDAR of 10 Hz.
constexpr int64_t kTwistSpanNs = 100'000'000;
// Rounding of the filter that made a covariance, relative to its largest value.
constexpr double kAsymmetry = 1e-6;

using SteadyClock = std::chrono::steady_clock;

void EncodeUsableCovariance(const Matrix6& covariance, v1::PoseWithCovariance* message) {
  if (const std::optional<Matrix6> usable = UsableCovariance(covariance)) {
    EncodeCovariance(*usable, message);
  }
}

}  // namespace

std::optional<Pose> OdometryOf(const v1::Scan& scan) {
  if (!scan.has_odom_t_base()) return std::nullopt;
  const absl::StatusOr<Pose> odom_T_base = client::DecodePose(scan.odom_t_base());
  return odom_T_base.ok() ? std::optional<Pose>(*odom_T_base) : std::nullopt;
}

std::optional<Matrix6> UsableCovariance(const Matrix6& covariance) {
  if (!covariance.allFinite()) return std::nullopt;
  const double asymmetry = (covariance - covariance.transpose()).cwiseAbs().maxCoeff();
  if (asymmetry > kAsymmetry * covariance.cwiseAbs().maxCoeff()) return std::nullopt;
  const Matrix6 symmetric = 0.5 * (covariance + covariance.transpose());
  if (Eigen::LLT<Matrix6>(symmetric).info() != Eigen::Success) return std::nullopt;
  return symmetric;
}

void BridgeImpl::OnInitialPose(const PoseWithCovarianceStamped& pose) {
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

void BridgeImpl::OnRegularizationPose(const PoseWithCovarianceStamped& pose) {
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

void BridgeImpl::OnTwist(const TwistStamped& twist) {
  if (!twist.twist.linear_m_s.allFinite() || !twist.twist.angular_rad_s.allFinite()) {
    log.Write("twist", LogLevel::kError, "a twist is not used: it is not finite");
    return;
  }
  const std::lock_guard<std::mutex> lock(mutex);
  twists.Push({twist.header.stamp_ns, twist.twist});
}

void BridgeImpl::OnUserPose(const PoseWithCovarianceStamped& pose) {
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
  uint64_t number = 0;  // of user_poses, for this pose
  {
    const std::lock_guard<std::mutex> lock(mutex);
    guess.Set(given, odom_T_base);
    number = ++user_poses;
  }
  // Planar poses have z = 0: query the server for the height of the map's surface there, and move
  // the guess to it unless a newer pose was set.
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

void BridgeImpl::OnIncumbentPose(const PoseWithCovarianceStamped& pose) {
  const absl::StatusOr<Pose> map_T_base =
      PoseFromQuaternion(pose.pose.translation, pose.pose.rotation);
  if (pose.header.frame_id != parameters.frame.map_frame || !map_T_base.ok()) {
    log.Write(
        "incumbent", LogLevel::kError,
        absl::StrCat("a pose of the incumbent is not used: it must be finite and in frame '",
                     parameters.frame.map_frame, "' (got frame '", pose.header.frame_id, "')"));
    return;
  }
  Publish([this, stamp_ns = pose.header.stamp_ns, incumbent = *map_T_base] {
    PublishShadow(shadow.AddIncumbent(stamp_ns, incumbent));
  });
}

std::optional<Pose> BridgeImpl::OdometryAt(std::optional<int64_t> stamp_ns) const {
  const std::string& odom_frame = parameters.voxloc.odom_frame;
  if (odom_frame.empty()) return std::nullopt;
  const absl::StatusOr<Pose> odom_T_base =
      ports.transforms->Lookup(odom_frame, parameters.frame.base_frame, stamp_ns);
  if (odom_T_base.ok()) return *odom_T_base;
  return std::nullopt;
}

std::optional<Twist> BridgeImpl::TwistAt(int64_t stamp_ns) const {
  if (parameters.voxloc.twist_source == "topic") return twists.At(stamp_ns);
  if (parameters.voxloc.twist_source != "odometry") return std::nullopt;
  const std::optional<Pose> before = OdometryAt(stamp_ns - kTwistSpanNs);
  const std::optional<Pose> now = OdometryAt(stamp_ns);
  if (!before.has_value() || !now.has_value()) return std::nullopt;
  return MeanTwist(*before, *now, static_cast<double>(kTwistSpanNs) * 1e-9);
}

void BridgeImpl::OnPoints(const PointCloud2View& cloud, size_t source) {
  SourceCloud arrived;
  arrived.received = SteadyClock::now();
  arrived.now_ns = ports.clock->NowNs();
  arrived.stamp_ns = cloud.header.stamp_ns;
  const bool leads = source == 0;
  if (source > parameters.voxloc.points_extra_topics.size()) {
    log.Write("no such source", LogLevel::kError,
              absl::StrCat("a cloud of source ", source, " is not used: there are ",
                           parameters.voxloc.points_extra_topics.size() + 1, " sources"));
    return;
  }
  if (leads) {
    ++received;
    arrived.status = std::make_shared<ScanStatus>(node_name, parameters, arrived.stamp_ns);
    if (!arrived.status->CheckSize(size_t{cloud.width} * cloud.height)) {
      RejectScan(arrived.status, arrived.stamp_ns);
      return;
    }
    arrived.status->CheckDelay(SecondsBetween(arrived.stamp_ns, arrived.now_ns));
  }
  const absl::StatusOr<std::optional<Pose>> mount = LookupMount(cloud.header);
  absl::StatusOr<EncodedCloud> encoded =
      mount.ok() ? EncodeCloud(cloud, *mount, encoding) : mount.status();
  if (!leads && !encoded.ok()) {
    log.Write("extra cloud", LogLevel::kWarn,
              absl::StrCat("a cloud of ", parameters.voxloc.points_extra_topics[source - 1],
                           " is not used: ", encoded.status().message()));
    return;
  }
  if (leads) {
    const bool readable = !mount.ok() || arrived.status->CheckPoints(encoded.status());
    if (!readable || !arrived.status->CheckTransform(mount.status())) {
      log.Write("cloud", LogLevel::kError,
                absl::StrCat("a scan is not used: ", encoded.status().message()));
      RejectScan(arrived.status, arrived.stamp_ns);
      return;
    }
  }
  arrived.base_T_sensor = *mount;
  arrived.encoded = *std::move(encoded);
  std::vector<std::vector<SourceCloud>> scans;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    scans = assembler.Add(source, std::move(arrived));
  }
  for (std::vector<SourceCloud>& clouds : scans) OnScan(std::move(clouds));
}

absl::StatusOr<std::optional<Pose>> BridgeImpl::LookupMount(const Header& header) const {
  const std::string& base_frame = parameters.frame.base_frame;
  if (header.frame_id == base_frame) return std::optional<Pose>();
  const absl::StatusOr<Pose> base_T_sensor = ports.transforms->Lookup(
      base_frame, header.frame_id,
      parameters.voxloc.points_transform_at_stamp ? std::optional<int64_t>(header.stamp_ns)
                                                  : std::nullopt);
  if (base_T_sensor.ok()) return std::optional<Pose>(*base_T_sensor);
  return absl::Status(base_T_sensor.status().code(),
                      absl::StrCat("there is no transform from '", header.frame_id, "' to '",
                                   base_frame, "': ", base_T_sensor.status().message()));
}

void BridgeImpl::OnScan(std::vector<SourceCloud> clouds) {
  SourceCloud& lead = clouds.front();
  const std::shared_ptr<ScanStatus> status = lead.status;
  v1::Scan scan;
  scan.set_stamp_ns(lead.stamp_ns);
  scan.set_age_s(std::max(0.0, SecondsBetween(lead.stamp_ns, lead.now_ns)));
  size_t points = 0;
  double max_distance_m = 0.0;
  for (SourceCloud& cloud : clouds) {
    points += cloud.encoded.received;
    max_distance_m = std::max(max_distance_m, cloud.encoded.max_distance_m);
    v1::SensorCloud& message = *scan.add_clouds();
    *message.mutable_cloud() = std::move(cloud.encoded.cloud);
    if (cloud.base_T_sensor.has_value()) {
      client::EncodePose(*cloud.base_T_sensor, message.mutable_base_t_sensor());
    }
    if (cloud.stamp_ns != lead.stamp_ns) message.set_stamp_ns(cloud.stamp_ns);
  }
  static_cast<void>(status->CheckSize(points));
  if (!status->CheckMaxDistance(max_distance_m)) {
    RejectScan(status, lead.stamp_ns);
    return;
  }
  if (const std::optional<Pose> odom_T_base = OdometryAt(lead.stamp_ns)) {
    client::EncodePose(*odom_T_base, scan.mutable_odom_t_base());
  }
  const bool active = status->CheckActivated(activated);
  InFlight flight{lead.stamp_ns, lead.received, status, {}};
  bool may_have_guess = true;
  {
    // Kept for ndt_align_srv, whatever the outcome; copied if it is also sent.
    auto kept = active ? std::make_shared<const v1::Scan>(scan)
                       : std::make_shared<const v1::Scan>(std::move(scan));
    const std::lock_guard<std::mutex> lock(mutex);
    last_scan = std::move(kept);
    if (active) may_have_guess = AddGuessAndMotion(flight, scan);
  }
  if (!active || !status->CheckInitialPose(may_have_guess)) {
    RejectScan(status, lead.stamp_ns);
    return;
  }
  Send(std::move(flight), std::move(scan));
}

bool BridgeImpl::AddGuessAndMotion(InFlight& flight, v1::Scan& scan) {
  const BridgeParameters& own = parameters.voxloc;
  if (own.guess_source == "poses") {
    flight.poses = poses.TakeFor(flight.stamp_ns);
    for (const PoseSample& sample : flight.poses) {
      v1::PoseSample& message = *scan.add_poses();
      message.set_stamp_ns(sample.stamp_ns);
      client::EncodePose(sample.map_T_base, message.mutable_map_t_base()->mutable_pose());
      EncodeUsableCovariance(sample.covariance, message.mutable_map_t_base());
    }
  } else {
    if (const std::optional<OdometryGuess::Guess> given = guess.At(OdometryOf(scan))) {
      client::EncodePose(given->map_T_base, scan.mutable_guess_map_t_base()->mutable_pose());
      EncodeUsableCovariance(given->covariance, scan.mutable_guess_map_t_base());
    }
  }
  if (const std::optional<Twist> twist = TwistAt(flight.stamp_ns)) {
    client::EncodeVector(twist->linear_m_s, scan.mutable_base_twist()->mutable_linear());
    client::EncodeVector(twist->angular_rad_s, scan.mutable_base_twist()->mutable_angular());
  }
  if (const std::optional<Eigen::Vector3d> reference = references.TakeAt(flight.stamp_ns)) {
    client::EncodeVector(*reference, scan.mutable_reference_position());
  }
  // The server can derive a guess without poses.
  return own.guess_source == "odometry" || !flight.poses.empty() || own.from_last_pose ||
         own.recovery_enable;
}

void BridgeImpl::Send(InFlight flight, v1::Scan scan) {
  link.SetOutputs(OutputsFor(parameters, *ports.output));
  const std::shared_ptr<ScanStatus> status = flight.status;
  const int64_t stamp_ns = flight.stamp_ns;
  uint64_t number = 0;
  {
    // OnResult may run before Send returns.
    const std::lock_guard<std::mutex> lock(mutex);
    number = ++last_number;
    in_flight.emplace(number, std::move(flight));
  }
  const absl::Status result = link.Send(number, std::move(scan));
  if (result.ok()) {
    ++sent;
    return;
  }
  {
    const std::lock_guard<std::mutex> lock(mutex);
    in_flight.erase(number);
  }
  status->AddFailure(result);
  log.Write("not sent", LogLevel::kWarn, absl::StrCat("a scan was not sent: ", result.message()));
  RejectScan(status, stamp_ns);
}

void BridgeImpl::RejectScan(const std::shared_ptr<ScanStatus>& status, int64_t stamp_ns) {
  ++refused;
  Publish([this, status, stamp_ns] {
    ports.output->PublishDiagnostics(stamp_ns, status->Finish(false, activated, skipped));
    if (activated) AddToShadow(stamp_ns, std::nullopt);
  });
}

void BridgeImpl::OnResult(uint64_t number, const v1::AlignmentResult& result) {
  InFlight flight;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = in_flight.find(number);
    if (found == in_flight.end()) return;
    flight = std::move(found->second);
    in_flight.erase(found);
  }
  ++outcomes;
  Publish([this, number, flight = std::move(flight), result] { Finish(number, flight, result); });
}

void BridgeImpl::Finish(uint64_t number, const InFlight& flight,
                        const v1::AlignmentResult& result) {
  ScanContext scan;
  scan.number = number;
  scan.stamp_ns = flight.stamp_ns;
  scan.execution_time_ms =
      std::chrono::duration<double, std::milli>(SteadyClock::now() - flight.received).count();
  const v1::Diagnostics& record = result.diagnostics();
  if (record.has_interpolated_guess()) {
    for (const PoseSample& sample : flight.poses) {
      if (sample.stamp_ns == record.interpolated_guess().older_stamp_ns()) {
        scan.guess_covariance = sample.covariance;
      }
    }
  }
  flight.status->AddAnswer(result);
  if (result.has_map_t_base()) flight.status->CheckExecutionTime(scan.execution_time_ms);
  const bool is_published = outputs.Publish(result, scan);
  if (is_published) ++published;
  // With a filter, guesses are its own once it has taken the result.
  if (is_published && (!result.has_fused() || result.fused().scan_used())) {
    const std::lock_guard<std::mutex> lock(mutex);
    guess.Clear();
  }
  if (result.has_fused()) {
    ports.output->PublishDiagnostics(
        flight.stamp_ns, FusionStatus(node_name, flight.stamp_ns, result.fused(), fusion_resets));
    fusion_resets = result.fused().resets();
  }
  ports.output->PublishDiagnostics(flight.stamp_ns,
                                   flight.status->Finish(is_published, activated, skipped));
  std::optional<Pose> map_T_base;
  if (is_published) map_T_base = *client::DecodePose(result.map_t_base().pose());
  AddToShadow(flight.stamp_ns, map_T_base);
}

void BridgeImpl::AddToShadow(int64_t stamp_ns, const std::optional<Pose>& map_T_base) {
  if (parameters.voxloc.shadow) PublishShadow(shadow.AddScan(stamp_ns, map_T_base));
}

void BridgeImpl::PublishShadow(const std::vector<ShadowScan>& scans) {
  for (const ShadowScan& scan : scans) {
    if (const std::optional<Pose> difference = scan.Difference()) {
      ports.output->Publish(Topic::kIncumbentToResultRelativePose,
                            PoseStamped{{scan.stamp_ns, parameters.frame.base_frame}, *difference});
    }
    ports.output->PublishDiagnostics(scan.stamp_ns,
                                     ShadowStatus(node_name, parameters.voxloc, scan));
  }
}

}  // namespace voxloc::ros
