// SPDX-License-Identifier: Apache-2.0

#include "tests/ros_wire/bridge_test.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace voxloc::ros_wire {
namespace {

constexpr int64_t kScanDelay_ns = 50'000'000;  // from a stamp to the cloud's arrival
constexpr int64_t kPoseLead_ns = 100'000'000;  // of the pose before the first one
constexpr char kPoseStatus[] = "initial_pose_subscriber_status";

}  // namespace

std::unique_ptr<ScratchDir> BridgeTest::scratch_;
std::unique_ptr<TownDrive> BridgeTest::drive_;
std::unique_ptr<TownServer> BridgeTest::server_;

void BridgeTest::SetUpTestSuite() {
  scratch_ = std::make_unique<ScratchDir>();
  drive_ = std::make_unique<TownDrive>();
  ASSERT_NO_FATAL_FAILURE(MakeTownDrive(scratch_->Path("town"), drive_.get()));
  server_ = std::make_unique<TownServer>();
  std::filesystem::create_directories(scratch_->Path("server"));
  ASSERT_NO_FATAL_FAILURE(
      StartTownServer("cpu", scratch_->Path("server"), scratch_->Path("town"), server_.get()));
}

void BridgeTest::TearDownTestSuite() {
  if (server_ != nullptr && server_->process != nullptr) {
    EXPECT_EQ(server_->process->Stop(), 0);
  }
  server_.reset();
  drive_.reset();
  scratch_.reset();
}

void BridgeTest::SetUp() {
  ASSERT_FALSE(server_ == nullptr || server_->address.empty()) << "there is no server";
  absl::StatusOr<LoopbackDomain> domain = LoopbackDomain::Claim();
  ASSERT_TRUE(domain.ok()) << domain.status();
  domain_ = std::make_unique<LoopbackDomain>(*std::move(domain));
}

void BridgeTest::TearDown() {
  if (HasFailure() && node_ != nullptr) {
    std::cout << "log of the node:\n" << node_->LogText();
  }
  node_.reset();
  peer_.reset();
}

ros::Parameters BridgeTest::Defaults() {
  ros::Parameters parameters;
  parameters.voxloc.server = server_->address;
  parameters.voxloc.map = "town";
  parameters.validation.critical_upper_bound_exe_time_ms = 1e6;
  return parameters;
}

void BridgeTest::StartBridge(const ros::Parameters& parameters, bool use_sim_time) {
  BridgeNodeOptions options;
  options.settings = domain_->Settings();
  options.parameters = parameters;
  if (parameters.voxloc.shadow) options.name = "voxloc_shadow";
  node_name_ = options.name;
  options.use_sim_time = use_sim_time;
  options.reliable_clouds = true;  // each cloud counts, also with a small receive buffer
  absl::StatusOr<std::unique_ptr<BridgeNode>> node = BridgeNode::Create(options);
  ASSERT_TRUE(node.ok()) << node.status();
  node_ = *std::move(node);
}

void BridgeTest::Start(const ros::Parameters& parameters, bool use_sim_time) {
  ASSERT_NO_FATAL_FAILURE(StartBridge(parameters, use_sim_time));
  absl::StatusOr<JoinedDomain> peer_domain = JoinedDomain::Join(domain_->Settings());
  ASSERT_TRUE(peer_domain.ok()) << peer_domain.status();
  peer_domain_ = std::make_unique<JoinedDomain>(*std::move(peer_domain));
  absl::StatusOr<std::unique_ptr<Peer>> peer =
      Peer::Create(peer_domain_->id(), parameters.voxloc.shadow ? "/shadow" : "");
  ASSERT_TRUE(peer.ok()) << peer.status();
  peer_ = *std::move(peer);
  ASSERT_TRUE(peer_->AwaitNode(kTestTimeout)) << "the peer does not see the node";
  // The peer subscribes to the diagnostics last, and DDS announces readers in order.
  ASSERT_TRUE(Eventually([&] { return node_->HasDiagnosticsReader(); }))
      << "the node does not see the peer's subscriptions";
}

void BridgeTest::SetTime(int64_t now_ns) {
  peer_->PublishClock(now_ns);
  ASSERT_TRUE(Eventually([&] { return node_->NowNs() == now_ns; }));
}

void BridgeTest::GivePose(int64_t stamp_ns, const Pose& map_T_base) {
  StampedPose pose;
  pose.stamp_ns = stamp_ns;
  pose.frame_id = "map";
  pose.frame_T_base = map_T_base;
  for (size_t i = 0; i < 6; ++i) pose.covariance.at(7 * i) = 0.01;
  const auto has_status = [&] {
    const std::optional<Diagnostic> status = Newest(kPoseStatus);
    return status.has_value() && status->Find("topic_time_stamp") == absl::StrCat(stamp_ns);
  };
  peer_->PublishEkfPose(pose);
  ASSERT_TRUE(Eventually(has_status)) << "the pose of " << stamp_ns << " has no status";
}

std::optional<Diagnostic> BridgeTest::SendCloud(const Cloud& cloud, absl::Duration timeout) {
  const size_t before = peer_->scan_statuses_received();
  peer_->Publish(cloud);
  ++clouds_sent_;
  const auto has_come = [&] { return peer_->scan_statuses_received() > before; };
  if (!Eventually(has_come, timeout)) return std::nullopt;
  return Newest(kScanStatus);
}

std::optional<Diagnostic> BridgeTest::SendScan(size_t index) {
  return SendScanAt(index, drive_->guessed.at(index).stamp_ns);
}

std::optional<Diagnostic> BridgeTest::SendScanAt(size_t index, int64_t stamp_ns) {
  const Pose& guess = drive_->guessed.at(index).pose;
  SetTime(stamp_ns + kScanDelay_ns);
  if (peer_->scan_statuses_received() == 0) GivePose(stamp_ns - kPoseLead_ns, guess);
  GivePose(stamp_ns, guess);
  return SendCloud(XyzCloud(drive_->clouds.at(index), stamp_ns, kBaseFrame));
}

std::optional<Diagnostic> BridgeTest::SendScanNow(size_t index, absl::Duration timeout) {
  const int64_t stamp_ns = absl::ToUnixNanos(absl::Now());
  const Pose& guess = drive_->guessed.at(index).pose;
  GivePose(stamp_ns - kPoseLead_ns, guess);
  GivePose(stamp_ns, guess);
  return SendCloud(XyzCloud(drive_->clouds.at(index), stamp_ns, kBaseFrame), timeout);
}

std::optional<Diagnostic> BridgeTest::Newest(const std::string& group) const {
  return peer_->NewestDiagnostic(node_name_ + ": " + group);
}

std::vector<StampedPose> BridgeTest::AwaitPoses(size_t count) {
  EXPECT_TRUE(Eventually([&] { return peer_->poses_received() >= count; }))
      << peer_->poses_received() << " of " << count << " poses arrived";
  return peer_->TakePoses();
}

}  // namespace voxloc::ros_wire
