// SPDX-License-Identifier: Apache-2.0
//
// What the bridge sends with a scan, as a server sees it, and what it makes of answers that the
// test gives.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "clients/cpp/messages.h"
#include "clients/ros/core/bridge.h"
#include "clients/ros/core/session_request.h"
#include "core/geometry/euler.h"
#include "tests/clients/cpp/fake_server.h"
#include "tests/clients/ros/cloud_messages.h"
#include "tests/clients/ros/fake_ports.h"
#include "tests/support/eventually.h"

namespace voxloc::ros {
namespace {

using client::FakeBehaviour;
using client::FakeServer;
using ::testing::ElementsAre;

constexpr int64_t kStamp = 1'000'000'000'000;

class ScanRequestTest : public ::testing::Test {
 protected:
  void SetUp() override {
    parameters_.voxloc.activate_at_start = true;
    parameters_.sensor_points.required_distance = 0.0;
    answer_.set_status(v1::ALIGNMENT_STATUS_NO_PRIOR);
    answer_.set_detail("as the test has it");
    FakeBehaviour behaviour;
    behaviour.align_scans = [this](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
      v1::AlignScansRequest request;
      while (stream->Read(&request)) {
        v1::AlignScansResponse response;
        {
          const std::lock_guard<std::mutex> lock(mutex_);
          requests_.push_back(request);
          if (request.has_scan()) *response.mutable_result() = answer_;
        }
        if (request.has_open()) response.mutable_opened()->set_session("s");
        if (request.has_scan()) {
          response.mutable_result()->set_sequence(request.scan().sequence());
        }
        if (response.response_case() != v1::AlignScansResponse::RESPONSE_NOT_SET) {
          stream->Write(response);
        }
      }
      return grpc::Status::OK;
    };
    server_ = std::make_unique<FakeServer>(behaviour);
  }
  void TearDown() override { bridge_.reset(); }

  void Start() {
    parameters_.voxloc.server = server_->address();
    auto bridge = Bridge::Create("node", parameters_, fakes_.ports());
    ASSERT_TRUE(bridge.ok()) << bridge.status();
    bridge_ = *std::move(bridge);
    ASSERT_TRUE(Eventually([this] { return bridge_->server().connection.ok(); }));
  }

  static PoseWithCovarianceStamped PoseAt(int64_t stamp_ns, double x) {
    PoseWithCovarianceStamped pose;
    pose.header = {stamp_ns, "map"};
    pose.pose.translation.x() = x;
    pose.covariance = Matrix6::Identity();
    return pose;
  }

  void SendScan(int64_t stamp_ns, bool with_times = false) {
    TestCloud cloud(1, 16);
    cloud.fields = XyzFields();
    if (with_times) cloud.fields.push_back({"t", 12, PointField::kUint32, 1});
    for (uint32_t axis = 0; axis < 3; ++axis) cloud.Put(0, 4 * axis, 1.0F);
    cloud.Put(0, 12, uint32_t{1000});
    cloud.header = {stamp_ns, "base_link"};
    bridge_->OnPoints(cloud.View());
  }

  // The scans that the server has had, once there are as many.
  std::vector<v1::Scan> Scans(size_t count) {
    const auto collect = [this] {
      const std::lock_guard<std::mutex> lock(mutex_);
      std::vector<v1::Scan> scans;
      for (const v1::AlignScansRequest& request : requests_) {
        if (request.has_scan()) scans.push_back(request.scan());
      }
      return scans;
    };
    EXPECT_TRUE(Eventually([&] { return collect().size() >= count; }));
    return collect();
  }

  Parameters parameters_;
  FakePorts fakes_;
  std::unique_ptr<FakeServer> server_;
  std::unique_ptr<Bridge> bridge_;
  std::mutex mutex_;
  std::vector<v1::AlignScansRequest> requests_;
  v1::AlignmentResult answer_;  // to every scan
};

TEST_F(ScanRequestTest, BringsThePosesAroundItsStampAndItsAge) {
  Start();
  fakes_.clock.now_ns = kStamp + 70'000'000;
  for (int k = -3; k <= 1; ++k) bridge_->OnInitialPose(PoseAt(kStamp + k * 20'000'000 + 5, k));
  PoseWithCovarianceStamped unknown = PoseAt(kStamp + 40'000'000, 2);
  unknown.covariance.setZero();
  bridge_->OnInitialPose(unknown);
  SendScan(kStamp);
  const v1::Scan scan = Scans(1)[0];
  EXPECT_EQ(scan.stamp_ns(), kStamp);
  EXPECT_NEAR(scan.age_s(), 0.07, 1e-9);
  std::vector<double> xs;
  for (const v1::PoseSample& pose : scan.poses()) {
    xs.push_back(pose.map_t_base().pose().position().x());
  }
  EXPECT_THAT(xs, ElementsAre(-2.0, -1.0, 0.0, 1.0, 2.0));
  EXPECT_EQ(scan.poses(0).map_t_base().covariance_size(), 36);
  EXPECT_EQ(scan.poses(4).map_t_base().covariance_size(), 0) << "zero means unknown";
  EXPECT_FALSE(scan.has_guess_map_t_base()) << "the server interpolates";
  EXPECT_FALSE(scan.has_reference_position() || scan.has_odom_t_base() || scan.has_base_twist());
  EXPECT_FALSE(scan.clouds(0).has_base_t_sensor()) << "the cloud is in the base frame";
}

TEST_F(ScanRequestTest, BringsOdometryTwistAndReference) {
  parameters_.voxloc.odom_frame = "odom";
  parameters_.voxloc.twist_source = "topic";
  parameters_.voxloc.points_time_field = "auto";
  parameters_.ndt.regularization_enable = true;
  fakes_.transforms.Set("odom", "base_link", Pose{{4.0, 5.0, 6.0}, Eigen::Quaterniond::Identity()});
  Start();
  fakes_.clock.now_ns = kStamp;
  bridge_->OnInitialPose(PoseAt(kStamp, 0));
  bridge_->OnRegularizationPose(PoseAt(kStamp - 100, 10));
  bridge_->OnRegularizationPose(PoseAt(kStamp + 100, 20));
  TwistStamped twist;
  twist.header = {kStamp + 1'000, "base_link"};
  twist.twist.linear_m_s.x() = 7.0;
  twist.twist.angular_rad_s.z() = 0.5;
  bridge_->OnTwist(twist);
  SendScan(kStamp, true);
  const v1::Scan scan = Scans(1)[0];
  EXPECT_EQ(scan.odom_t_base().position().y(), 5.0);
  EXPECT_EQ(scan.base_twist().linear().x(), 7.0);
  EXPECT_EQ(scan.base_twist().angular().z(), 0.5);
  EXPECT_EQ(scan.reference_position().x(), 15.0);
  EXPECT_EQ(scan.clouds(0).cloud().layout(), v1::CLOUD_LAYOUT_FLOAT32_XYZT);
  ASSERT_TRUE(Eventually([this] {
    return fakes_.output.Statuses("regularization_pose_subscriber_status").size() == 2;
  }));
  // Odometry that is not known at the stamp is left out.
  fakes_.transforms.known_from_ns = kStamp + 1;
  SendScan(kStamp);
  EXPECT_FALSE(Scans(2)[1].has_odom_t_base());
}

TEST_F(ScanRequestTest, OpensWithWhatTheParametersAskForAndConfiguresWhatIsListenedTo) {
  parameters_.voxloc.map = "garage";
  Start();
  bridge_->OnInitialPose(PoseAt(kStamp, 0));
  SendScan(kStamp);
  static_cast<void>(Scans(1));
  fakes_.output.Subscribe(Topic::kNdtMarker);
  SendScan(kStamp);
  static_cast<void>(Scans(2));
  const std::lock_guard<std::mutex> lock(mutex_);
  ASSERT_GE(requests_.size(), 4u);
  EXPECT_EQ(requests_[0].open().setup().map(), "garage");
  EXPECT_EQ(requests_[0].open().clock(), v1::STAMP_CLOCK_OWN);
  EXPECT_TRUE(requests_[0].open().setup().output().diagnostics());
  EXPECT_TRUE(requests_[1].has_scan()) << "nothing has changed";
  ASSERT_TRUE(requests_[2].has_configure());
  EXPECT_TRUE(requests_[2].configure().setup().output().trace());
  EXPECT_FALSE(requests_[2].configure().setup().has_options());
  EXPECT_TRUE(requests_[3].has_scan());
}

TEST_F(ScanRequestTest, ARefusalOfTheServerIsAWarningThatNamesIt) {
  Start();
  fakes_.clock.now_ns = kStamp;
  bridge_->OnInitialPose(PoseAt(kStamp, 0));
  SendScan(kStamp);
  ASSERT_TRUE(
      Eventually([this] { return !fakes_.output.Statuses("scan_matching_status").empty(); }));
  const auto status = fakes_.output.Statuses("scan_matching_status").back();
  EXPECT_EQ(status.level, DiagnosticStatus::kWarn);
  EXPECT_EQ(status.message, "NO_PRIOR: as the test has it");
}

// A session with a filter, whose odometry stands at x = 4.
class FusionRequestTest : public ScanRequestTest {
 protected:
  void SetUp() override {
    ScanRequestTest::SetUp();
    parameters_.voxloc.fusion = true;
    parameters_.voxloc.guess_source = "odometry";
    parameters_.voxloc.tf_output = "odom";
    parameters_.voxloc.odom_frame = "odom";
    fakes_.transforms.Set("odom", "base_link", At(4.0));
    v1::FusedPose& fused = *answer_.mutable_fused();
    client::EncodePose(At(104.0), fused.mutable_map_t_base()->mutable_pose());
    EncodeCovariance(0.25 * Matrix6::Identity(), fused.mutable_map_t_base());
    client::EncodePose(At(100.0), fused.mutable_map_t_odom());
    for (int axis = 0; axis < 6; ++axis) fused.add_distance_since_observed_m(axis == 0 ? 7.5 : 0.0);
    fused.mutable_base_twist()->mutable_linear()->set_x(8.0);
    fused.mutable_base_twist()->mutable_angular()->set_z(0.5);
    for (int i = 0; i < 36; ++i) fused.add_base_twist_covariance(i);
    fused.set_resets(1);
    fused.set_detail("nothing to use");
  }

  static Pose At(double x) { return {{x, 0.0, 0.0}, Eigen::Quaterniond::Identity()}; }

  // Sends a scan, and waits until its answer is published.
  void Answered(int number) {
    SendScan(kStamp + number);
    ASSERT_TRUE(Eventually([&] {
      return fakes_.output.Statuses("scan_matching_status").size() == static_cast<size_t>(number);
    }));
  }

  template <typename Change>
  void ChangeAnswer(const Change& change) {
    const std::lock_guard<std::mutex> lock(mutex_);
    change(answer_);
  }
};

TEST_F(FusionRequestTest, ThePoseOfTheFilterIsPublishedWhateverBecameOfTheScan) {
  Start();
  Answered(1);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    EXPECT_TRUE(requests_[0].open().has_fusion());
  }
  const auto poses = fakes_.output.Of<PoseWithCovarianceStamped>(Topic::kFusedPoseWithCovariance);
  ASSERT_EQ(poses.size(), 1u);
  EXPECT_EQ(poses[0].header.frame_id, "map");
  EXPECT_EQ(poses[0].header.stamp_ns, kStamp + 1);
  EXPECT_EQ(poses[0].pose.translation.x(), 104.0);
  EXPECT_EQ(poses[0].covariance, Matrix6(0.25 * Matrix6::Identity()));
  const auto twists =
      fakes_.output.Of<TwistWithCovarianceStamped>(Topic::kFusedTwistWithCovariance);
  ASSERT_EQ(twists.size(), 1u);
  EXPECT_EQ(twists[0].header.frame_id, "base_link");
  EXPECT_EQ(twists[0].header.stamp_ns, kStamp + 1);
  EXPECT_EQ(twists[0].twist.linear_m_s, Eigen::Vector3d(8.0, 0.0, 0.0));
  EXPECT_EQ(twists[0].twist.angular_rad_s, Eigen::Vector3d(0.0, 0.0, 0.5));
  EXPECT_EQ(twists[0].covariance(1, 2), 8.0);
  EXPECT_EQ(fakes_.output.Count(Topic::kNdtPose), 0u);
  ASSERT_EQ(fakes_.output.transforms().size(), 1u);
  EXPECT_EQ(fakes_.output.transforms()[0].child_frame_id, "odom");
  EXPECT_EQ(fakes_.output.transforms()[0].parent_T_child.translation.x(), 100.0);
  ChangeAnswer([](v1::AlignmentResult& answer) { answer.mutable_fused()->set_resets(2); });
  Answered(2);
  const auto statuses = fakes_.output.Statuses("fusion_status");
  ASSERT_EQ(statuses.size(), 2u);
  EXPECT_EQ(statuses[0].level, DiagnosticStatus::kOk);
  EXPECT_EQ(ValueOf(statuses[0], "is_scan_used"), "False");
  EXPECT_EQ(ValueOf(statuses[0], "detail"), "nothing to use");
  EXPECT_EQ(ValueOf(statuses[0], "resets"), "1");
  EXPECT_EQ(ValueOf(statuses[0], "distance_since_observed_x"), "7.500000");
  EXPECT_EQ(statuses[1].level, DiagnosticStatus::kWarn) << "it was set anew";
}

TEST_F(FusionRequestTest, AGivenPoseStaysTheGuessUntilTheFilterTakesAResult) {
  Start();
  PoseWithCovarianceStamped given = PoseAt(kStamp, 50.0);
  bridge_->OnUserPose(given);
  // Accepted, but it contradicts the filter.
  ChangeAnswer([](v1::AlignmentResult& answer) {
    answer.set_status(v1::ALIGNMENT_STATUS_OK);
    answer.set_accepted(true);
    client::EncodePose(At(50.0), answer.mutable_map_t_base()->mutable_pose());
  });
  Answered(1);
  EXPECT_EQ(fakes_.output.Count(Topic::kNdtPose), 1u);
  ChangeAnswer([](v1::AlignmentResult& answer) { answer.mutable_fused()->set_scan_used(true); });
  Answered(2);
  Answered(3);
  const std::vector<v1::Scan> scans = Scans(3);
  EXPECT_EQ(scans[0].guess_map_t_base().pose().position().x(), 50.0);
  EXPECT_EQ(scans[1].guess_map_t_base().pose().position().x(), 50.0);
  EXPECT_FALSE(scans[2].has_guess_map_t_base());
}

}  // namespace
}  // namespace voxloc::ros
