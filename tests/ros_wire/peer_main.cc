// SPDX-License-Identifier: Apache-2.0
//
// voxloc_ros_peer: plays a recorded drive to a node ndt_scan_matcher on the wire, as Autoware or a
// robot with Nav2 does, and reports what came back. For the bridge's ROS package, or Autoware's own
// node, in another process: domain and settings are those of ROS_DOMAIN_ID and CYCLONEDDS_URI.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "clients/dataset/cloud_sources.h"
#include "clients/dataset/trajectory_file.h"
#include "core/cloud/io/cloud_file.h"
#include "tests/ros_wire/peer.h"
#include "tests/ros_wire/xyz_cloud.h"
#include "tests/support/eventually.h"

namespace voxloc::ros_wire {
namespace {

// voxloc.tf_tolerance_sec of clients/ros/ros2/config/nav2.param.yaml.
constexpr int64_t kTfTolerance_ns = 500'000'000;

struct Flags {
  std::string scans;
  std::string poses;
  std::string guesses;
  std::string frame = "base_link";
  std::string odometry;
  std::string node = "ndt_scan_matcher";
  double rate_hz = 10.0;
  size_t max_scans = 0;
  bool align = false;
  double timeout_s = 30.0;
};

class Player {
 public:
  Player(const Flags& flags, Peer* peer) : flags_(flags), peer_(*peer) {}

  absl::StatusOr<nlohmann::json> Play() {
    auto files = ListClouds(flags_.scans);
    if (!files.ok()) return files.status();
    auto truth = ReadTrajectory(flags_.poses, TrajectoryFormat::kTum);
    if (!truth.ok()) return truth.status();
    auto guesses =
        flags_.guesses.empty() ? truth : ReadTrajectory(flags_.guesses, TrajectoryFormat::kTum);
    if (!guesses.ok()) return guesses.status();
    if (files->size() != truth->size() || guesses->size() != truth->size()) {
      return absl::InvalidArgumentError(absl::StrCat("each of the ", files->size(),
                                                     " scans must have a pose and a guess (got ",
                                                     truth->size(), " and ", guesses->size(), ")"));
    }
    if (flags_.odometry.empty() && !peer_.AwaitNode(timeout())) {
      return absl::UnavailableError(
          "no node subscribes to points_raw and ekf_pose_with_covariance and serves ndt_align_srv "
          "and trigger_node_srv");
    }
    if (!peer_.AwaitReaders(timeout())) {
      return absl::UnavailableError("no node subscribes to points_raw and initialpose");
    }
    const size_t count =
        flags_.max_scans == 0 ? files->size() : std::min(flags_.max_scans, files->size());
    const auto first = ReadCloud(files->front());
    if (!first.ok()) return first.status();
    if (absl::Status status = BeforeTheDrive(*first, guesses->front().pose, truth->front().pose);
        !status.ok()) {
      return status;
    }
    for (size_t i = 0; i < count; ++i) {
      const auto cloud = ReadCloud(files->at(i));
      if (!cloud.ok()) return cloud.status();
      SendScan(*cloud, guesses->at(i).pose, truth->at(i).pose);
    }
    (void)Eventually([&] { return peer_.scan_statuses_received() >= truth_.size(); }, timeout());
    return Report();
  }

 private:
  [[nodiscard]] absl::Duration timeout() const { return absl::Seconds(flags_.timeout_s); }

  // The search, which needs a scan, and the activation, or the first pose of a robot.
  absl::Status BeforeTheDrive(const PointCloud& cloud, const Pose& guess, const Pose& map_T_base) {
    // Either side can know the other first, and what is best effort is lost until both do.
    if (!Eventually(
            [&] {
              if (SendScan(cloud, guess, map_T_base)) return true;
              truth_.clear();
              return false;
            },
            timeout())) {
      return absl::DeadlineExceededError("no scan has a status");
    }
    if (flags_.align) {
      StampedPose prior = Estimate(absl::ToUnixNanos(absl::Now()), guess);
      prior.covariance[35] = 10.0;  // of GNSS: no heading
      const auto answer = peer_.CallAlign(prior, timeout());
      if (!answer.has_value()) return absl::DeadlineExceededError("ndt_align_srv does not answer");
      report_["align"] = {{"success", answer->success},
                          {"reliable", answer->reliable},
                          {"distance_m", TranslationDistance(answer->pose.frame_T_base, guess)}};
    }
    if (!flags_.odometry.empty()) {
      peer_.PublishInitialPose(Estimate(absl::ToUnixNanos(absl::Now()), guess));
      const auto is_found = [&] {
        (void)SendScan(cloud, guess, map_T_base);
        return peer_.poses_received() > 0;
      };
      if (!Eventually(is_found, timeout())) {
        return absl::DeadlineExceededError("initialpose leads to no pose");
      }
      return absl::OkStatus();
    }
    const auto activated = peer_.CallTrigger(true, timeout());
    if (!activated.has_value()) {
      return absl::DeadlineExceededError("trigger_node_srv does not answer");
    }
    report_["trigger"] = {{"success", activated->success}, {"message", activated->message}};
    return absl::OkStatus();
  }

  [[nodiscard]] static StampedPose Estimate(int64_t stamp_ns, const Pose& map_T_base) {
    StampedPose pose{stamp_ns, "map", map_T_base, {}};
    for (size_t i = 0; i < 6; ++i) pose.covariance.at(7 * i) = 0.01;
    return pose;
  }

  // Where the vehicle is at the stamp, before its scan: by the filter, or by the robot's odometry.
  void SendMotion(int64_t stamp_ns, const Pose& guess, const Pose& map_T_base) {
    constexpr int64_t kPoseLead_ns = 50'000'000;
    if (!flags_.odometry.empty()) {
      peer_.PublishTransform(
          {stamp_ns, flags_.odometry, "base_link", map_T_odom_.Inverse() * map_T_base});
      // Nothing tells when it has arrived. Clouds of a LiDAR take longer after their stamps.
      absl::SleepFor(absl::Milliseconds(30));
      return;
    }
    peer_.PublishEkfPose(Estimate(stamp_ns - kPoseLead_ns, guess));
    peer_.PublishEkfPose(Estimate(stamp_ns, guess));
    const std::string pose_status = flags_.node + ": initial_pose_subscriber_status";
    (void)Eventually(
        [&] {
          const auto status = peer_.NewestDiagnostic(pose_status);
          return status.has_value() && status->Find("topic_time_stamp") == absl::StrCat(stamp_ns);
        },
        absl::Seconds(1));
  }

  // With the time of now. The next one follows when this has its status and it is time. False: it
  // has none within a second.
  bool SendScan(const PointCloud& points, const Pose& guess, const Pose& map_T_base) {
    const absl::Time sent = absl::Now();
    const int64_t stamp_ns = absl::ToUnixNanos(sent);
    truth_[stamp_ns] = map_T_base;
    SendMotion(stamp_ns, guess, map_T_base);
    const size_t before = peer_.scan_statuses_received();
    peer_.Publish(XyzCloud(points, stamp_ns, flags_.frame));
    const bool has_status =
        Eventually([&] { return peer_.scan_statuses_received() > before; }, absl::Seconds(1));
    if (flags_.rate_hz > 0.0) {
      absl::SleepFor(sent + absl::Seconds(1.0 / flags_.rate_hz) - absl::Now());
    }
    return has_status;
  }

  nlohmann::json Report() {
    std::map<std::string, int> levels;
    std::map<std::string, std::vector<std::string>> keys;
    std::set<std::string> messages;
    size_t statuses = 0;
    for (const Diagnostic& diagnostic : peer_.TakeDiagnostics()) {
      std::vector<std::string> of_this;
      for (const auto& value : diagnostic.values) of_this.push_back(value.first);
      if (of_this.size() > keys[diagnostic.name].size()) keys[diagnostic.name] = of_this;
      if (diagnostic.name != flags_.node + ": scan_matching_status") continue;
      ++statuses;
      ++levels[absl::StrCat(diagnostic.level)];
      messages.insert(diagnostic.message);
    }
    std::map<int64_t, Pose> found;
    size_t unknown_stamps = 0;
    std::vector<double> errors_m;
    for (const StampedPose& pose : peer_.TakePoses()) {
      found[pose.stamp_ns] = pose.frame_T_base;
      const auto truth = truth_.find(pose.stamp_ns);
      if (truth == truth_.end()) {
        ++unknown_stamps;
      } else {
        errors_m.push_back(TranslationDistance(pose.frame_T_base, truth->second));
      }
    }
    size_t transforms = 0;
    size_t other_transforms = 0;
    for (const StampedTransform& transform : peer_.TakeTransforms()) {
      if (transform.frame_id != "map") continue;  // the peer's own
      ++transforms;
      if (!Agrees(transform, found)) ++other_transforms;
    }
    std::sort(errors_m.begin(), errors_m.end());
    report_["scans"] = truth_.size();
    report_["statuses"] = statuses;
    report_["levels"] = levels;
    report_["messages"] = messages;
    report_["diagnostics"] = keys;
    report_["poses"] = found.size();
    report_["poses_with_unknown_stamps"] = unknown_stamps;
    report_["transforms"] = transforms;
    report_["transforms_that_differ"] = other_transforms;
    if (!errors_m.empty()) {
      report_["error_m"] = {{"p50", errors_m[errors_m.size() / 2]}, {"max", errors_m.back()}};
    }
    return report_;
  }

  // Whether a transform of the node is the pose of its scan. With odometry only accepted scans have
  // one, which have a pose too.
  [[nodiscard]] bool Agrees(const StampedTransform& transform,
                            const std::map<int64_t, Pose>& found) const {
    const bool to_odometry = !flags_.odometry.empty();
    const auto pose = found.find(transform.stamp_ns - (to_odometry ? kTfTolerance_ns : 0));
    if (pose == found.end()) return !to_odometry;
    if (!to_odometry) return pose->second.Matrix() == transform.frame_T_child.Matrix();
    const auto truth = truth_.find(pose->first);
    if (truth == truth_.end()) return false;
    const Pose map_T_base = transform.frame_T_child * map_T_odom_.Inverse() * truth->second;
    return transform.child_frame_id == flags_.odometry &&
           map_T_base.Matrix().isApprox(pose->second.Matrix(), 1e-9);
  }

  // The robot's odometry is right but for where it began.
  const Pose map_T_odom_ = {{12.0, -7.0, 0.3},
                            Eigen::Quaterniond(Eigen::AngleAxisd(1.1, Eigen::Vector3d::UnitZ()))};
  const Flags& flags_;
  Peer& peer_;
  std::map<int64_t, Pose> truth_;  // of each scan, by its stamp
  nlohmann::json report_;
};

int Run(int argc, char** argv) {
  Flags flags;
  CLI::App app("Play a drive to ndt_scan_matcher over DDS, and report what it publishes");
  app.add_option("--scans", flags.scans, "Send the scans of this directory")->required();
  app.add_option("--poses", flags.poses, "Read the true pose of every scan from FILE, format tum")
      ->required();
  app.add_option("--guesses", flags.guesses,
                 "Publish these as the filter's poses; default: --poses");
  app.add_option("--frame", flags.frame, "Name this frame in the clouds")->capture_default_str();
  app.add_option("--odometry", flags.odometry,
                 "Be a robot with Nav2: publish the transform of this frame to base_link, and the "
                 "first guess on initialpose, in place of a filter's poses");
  app.add_option("--node", flags.node, "Expect diagnostics of this node")->capture_default_str();
  app.add_option("--rate", flags.rate_hz, "Send at most this many scans per second; 0: no limit")
      ->capture_default_str();
  app.add_option("--max-scans", flags.max_scans, "Stop after so many scans; 0: all");
  app.add_flag("--align", flags.align, "Call ndt_align_srv with the first guess before the drive");
  app.add_option("--timeout", flags.timeout_s, "Wait so many seconds for the node and its services")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  dds_domainid_t domain_id = 0;
  const char* domain = std::getenv("ROS_DOMAIN_ID");
  if (domain != nullptr && !absl::SimpleAtoi(domain, &domain_id)) {
    std::cerr << "voxloc_ros_peer: ROS_DOMAIN_ID must be a whole number (got '" << domain << "')\n";
    return 2;
  }
  auto peer = Peer::Create(domain_id);
  if (!peer.ok()) {
    std::cerr << "voxloc_ros_peer: " << peer.status().message() << "\n";
    return 1;
  }
  const absl::StatusOr<nlohmann::json> report = Player(flags, peer->get()).Play();
  if (!report.ok()) {
    std::cerr << "voxloc_ros_peer: " << report.status().message() << "\n";
    return 1;
  }
  std::cout << report->dump(2) << "\n";
  const bool complete = (*report)["statuses"] == (*report)["scans"] && (*report)["poses"] > 0 &&
                        (*report)["poses_with_unknown_stamps"] == 0 &&
                        (*report)["transforms"] > 0 && (*report)["transforms_that_differ"] == 0;
  return complete ? 0 : 4;
}

}  // namespace
}  // namespace voxloc::ros_wire

int main(int argc, char** argv) { return voxloc::ros_wire::Run(argc, argv); }
