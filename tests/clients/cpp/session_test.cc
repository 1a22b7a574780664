// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "clients/cpp/messages.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/clients/cpp/fake_server.h"
#include "tests/support/eventually.h"

namespace voxloc::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

PointCloud ThreePoints() {
  PointCloud cloud;
  cloud.PushBack(1.0f, 2.0f, 3.0f);
  cloud.PushBack(-4.0f, 5.5f, 0.0f);
  cloud.PushBack(0.25f, 0.0f, -9.0f);
  return cloud;
}

SessionOptions SessionOf(const std::string& map) {
  SessionOptions options;
  options.open.mutable_setup()->set_map(map);
  options.open_timeout_s = 20.0;
  options.reconnect.initial_wait_s = 0.02;
  options.reconnect.max_wait_s = 0.1;
  return options;
}

// Reads `open` and answers it.
bool AnswerOpen(FakeBehaviour::AlignStream* stream) {
  v1::AlignScansRequest request;
  if (!stream->Read(&request) || !request.has_open()) return false;
  v1::AlignScansResponse response;
  response.mutable_opened()->set_session("s-1");
  response.mutable_opened()->set_max_message_bytes(1 << 20);
  return stream->Write(response);
}

void AnswerScan(const v1::Scan& scan, FakeBehaviour::AlignStream* stream) {
  v1::AlignScansResponse response;
  v1::AlignmentResult* result = response.mutable_result();
  result->set_sequence(scan.sequence());
  result->set_stamp_ns(scan.stamp_ns());
  result->set_status(v1::ALIGNMENT_STATUS_OK);
  result->set_accepted(true);
  *result->mutable_map_t_base() = scan.guess_map_t_base();
  stream->Write(response);
}

grpc::Status Echo(grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
  if (!AnswerOpen(stream)) return grpc::Status::OK;
  v1::AlignScansRequest request;
  while (stream->Read(&request)) AnswerScan(request.scan(), stream);
  return grpc::Status::OK;
}

// Answers every scan, and leaves the last one in `seen`.
FakeBehaviour RememberScan(v1::Scan* seen) {
  FakeBehaviour behaviour;
  behaviour.align_scans = [seen](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    AnswerOpen(stream);
    v1::AlignScansRequest request;
    while (stream->Read(&request)) {
      *seen = request.scan();
      AnswerScan(request.scan(), stream);
    }
    return grpc::Status::OK;
  };
  return behaviour;
}

TEST(LocalizationSession, SendsTheCloudAsFloatsAndTheGuessAsAPose) {
  v1::Scan seen;
  FakeServer server(RememberScan(&seen));
  auto session = LocalizationSession::Open(ChannelTo(server.address()), SessionOf("town"));
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ((*session)->opened().session(), "s-1");
  PointCloud cloud = ThreePoints();
  cloud.origin = Eigen::Vector3d(10.0, 20.0, 30.0);
  ScanInput scan;
  scan.stamp_ns = 123;
  scan.cloud = &cloud;
  scan.guess_map_T_base = Pose{Eigen::Vector3d(7.0, 8.0, 9.0), Eigen::Quaterniond::Identity()};
  const auto sequence = (*session)->Send(scan);
  ASSERT_TRUE(sequence.ok()) << sequence.status();
  const auto result = (*session)->ReceiveResultOf(*sequence, 20.0);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE((*session)->Close(20.0).ok());

  EXPECT_EQ(seen.stamp_ns(), 123);
  EXPECT_EQ(seen.clouds(0).cloud().layout(), v1::CLOUD_LAYOUT_FLOAT32_XYZ);
  EXPECT_EQ(seen.clouds(0).cloud().origin().y(), 20.0);
  EXPECT_EQ(seen.guess_map_t_base().pose().position().z(), 9.0);
  ASSERT_EQ(seen.clouds(0).cloud().data().size(), 36u);
  std::vector<float> values(9);
  std::memcpy(values.data(), seen.clouds(0).cloud().data().data(), 36);
  EXPECT_THAT(values, ElementsAre(1.0f, 2.0f, 3.0f, -4.0f, 5.5f, 0.0f, 0.25f, 0.0f, -9.0f));
}

TEST(LocalizationSession, MatchesResultsThatComeInAnotherOrder) {
  FakeBehaviour behaviour;
  behaviour.align_scans = [](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    AnswerOpen(stream);
    std::vector<v1::Scan> scans;
    v1::AlignScansRequest request;
    while (scans.size() < 3 && stream->Read(&request)) scans.push_back(request.scan());
    for (const size_t i : {2, 0, 1}) AnswerScan(scans[i], stream);
    while (stream->Read(&request)) {
    }
    return grpc::Status::OK;
  };
  FakeServer server(behaviour);
  auto session = LocalizationSession::Open(ChannelTo(server.address()), SessionOf("town"));
  ASSERT_TRUE(session.ok()) << session.status();
  const PointCloud cloud = ThreePoints();
  for (int64_t stamp : {100, 200, 300}) {
    ScanInput scan;
    scan.stamp_ns = stamp;
    scan.cloud = &cloud;
    ASSERT_TRUE((*session)->Send(scan).ok());
  }
  EXPECT_EQ((*session)->ReceiveResultOf(1, 20.0)->stamp_ns(), 100);
  EXPECT_EQ((*session)->Receive(20.0)->stamp_ns(), 300);
  EXPECT_EQ((*session)->Receive(20.0)->stamp_ns(), 200);
  EXPECT_EQ((*session)->Receive(0.05).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE((*session)->Close(20.0).ok());
  EXPECT_EQ((*session)->Receive(1.0).status().code(), absl::StatusCode::kOutOfRange);
}

TEST(LocalizationSession, SaysWhichServerAndCallFailed) {
  FakeBehaviour behaviour;
  behaviour.align_scans = [](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    v1::AlignScansRequest request;
    stream->Read(&request);
    return grpc::Status(grpc::StatusCode::NOT_FOUND, "no map 'moon'");
  };
  FakeServer server(behaviour);
  const auto session = LocalizationSession::Open(ChannelTo(server.address()), SessionOf("moon"));
  EXPECT_EQ(session.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(session.status().message()),
              ::testing::AllOf(HasSubstr(server.address()), HasSubstr("AlignScans"),
                               HasSubstr("no map 'moon'")));
}

TEST(LocalizationSession, ReportsAServerThatCannotBeReached) {
  FakeServer server(FakeBehaviour{});
  server.Stop();
  const auto session = LocalizationSession::Open(ChannelTo(server.address()), SessionOf("town"));
  EXPECT_EQ(session.status().code(), absl::StatusCode::kUnavailable) << session.status();
}

TEST(LocalizationSession, GivesUpOnAServerThatDoesNotAnswerOpen) {
  FakeBehaviour behaviour;
  behaviour.align_scans = [](grpc::ServerContext* context, FakeBehaviour::AlignStream*) {
    // Real time: a call that hangs until it is cancelled.
    while (!context->IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return grpc::Status::CANCELLED;
  };
  FakeServer server(behaviour);
  SessionOptions options = SessionOf("town");
  options.open_timeout_s = 0.2;
  const auto session = LocalizationSession::Open(ChannelTo(server.address()), options);
  EXPECT_EQ(session.status().code(), absl::StatusCode::kDeadlineExceeded) << session.status();
}

TEST(LocalizationSession, RefusesWhatTheServerWouldNotTake) {
  FakeBehaviour behaviour;
  behaviour.align_scans = Echo;
  FakeServer server(behaviour);
  SessionOptions options = SessionOf("town");
  options.max_outstanding = 2;
  auto session = LocalizationSession::Open(ChannelTo(server.address()), options);
  ASSERT_TRUE(session.ok()) << session.status();
  PointCloud large;
  for (int i = 0; i < 100000; ++i) large.PushBack(1.0f, 1.0f, 1.0f);
  ScanInput scan;
  EXPECT_EQ((*session)->Send(scan).status().code(), absl::StatusCode::kInvalidArgument);
  scan.cloud = &large;
  EXPECT_EQ((*session)->Send(scan).status().code(), absl::StatusCode::kInvalidArgument);
  const PointCloud small = ThreePoints();
  scan.cloud = &small;
  EXPECT_TRUE((*session)->Send(scan).ok());
  EXPECT_TRUE((*session)->Send(scan).ok());
  EXPECT_EQ((*session)->Send(scan).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE((*session)->Receive(20.0).ok());
  EXPECT_TRUE((*session)->Send(scan).ok());
}

// The first server answers one scan, then is gone with others unanswered; the second answers all.
TEST(LocalizationSession, ResumesWithTheLastPoseWhenTheServerComesBack) {
  std::atomic<int> generation{0};
  std::mutex mutex;
  std::vector<v1::Scan> second_saw;
  std::atomic<int> first_saw{0};
  FakeBehaviour behaviour;
  behaviour.align_scans = [&](grpc::ServerContext* context, FakeBehaviour::AlignStream* stream) {
    if (!AnswerOpen(stream)) return grpc::Status::OK;
    const bool first = generation == 0;
    v1::AlignScansRequest request;
    while (stream->Read(&request)) {
      if (!first) {
        const std::lock_guard<std::mutex> lock(mutex);
        second_saw.push_back(request.scan());
      }
      if (!first || ++first_saw == 1) AnswerScan(request.scan(), stream);
    }
    return context->IsCancelled() ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "stopping")
                                  : grpc::Status::OK;
  };
  FakeServer server(behaviour);
  SessionOptions options = SessionOf("town");
  options.reconnect.max_attempts = 100;
  auto session = LocalizationSession::Open(ChannelTo(server.address()), options);
  ASSERT_TRUE(session.ok()) << session.status();
  const PointCloud cloud = ThreePoints();
  ScanInput with_guess;
  with_guess.cloud = &cloud;
  with_guess.guess_map_T_base =
      Pose{Eigen::Vector3d(5.0, 6.0, 7.0), Eigen::Quaterniond::Identity()};
  ASSERT_TRUE((*session)->Send(with_guess).ok());
  ASSERT_TRUE((*session)->ReceiveResultOf(1, 20.0).ok());
  ScanInput without_guess;
  without_guess.cloud = &cloud;
  ASSERT_TRUE((*session)->Send(without_guess).ok());
  ASSERT_TRUE(Eventually([&first_saw] { return first_saw >= 2; }));

  server.Stop();
  generation = 1;
  ASSERT_TRUE((*session)->Send(without_guess).ok());
  server.Start();
  // The server that comes back gets the newest scan; the other one is stale by then.
  const auto stale = (*session)->ReceiveResultOf(2, 30.0);
  ASSERT_TRUE(stale.ok()) << stale.status();
  EXPECT_EQ(stale->status(), v1::ALIGNMENT_STATUS_STALE);
  const auto newest = (*session)->ReceiveResultOf(3, 30.0);
  ASSERT_TRUE(newest.ok()) << newest.status();
  EXPECT_EQ(newest->status(), v1::ALIGNMENT_STATUS_OK);
  EXPECT_EQ((*session)->given_up(), 1u);
  EXPECT_EQ((*session)->reconnects(), 1);
  EXPECT_TRUE((*session)->Close(20.0).ok());
  const std::lock_guard<std::mutex> lock(mutex);
  ASSERT_EQ(second_saw.size(), 1u);
  EXPECT_EQ(second_saw[0].guess_map_t_base().pose().position().x(), 5.0);
}

TEST(LocalizationSession, SendsPosesReferencesAndActivation) {
  std::mutex mutex;
  std::vector<v1::AlignScansRequest> saw;
  FakeBehaviour behaviour;
  behaviour.align_scans = [&](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    if (!AnswerOpen(stream)) return grpc::Status::OK;
    v1::AlignScansRequest request;
    while (stream->Read(&request)) {
      if (request.has_scan()) AnswerScan(request.scan(), stream);
      const std::lock_guard<std::mutex> lock(mutex);
      saw.push_back(request);
    }
    return grpc::Status::OK;
  };
  FakeServer server(behaviour);
  auto session = LocalizationSession::Open(ChannelTo(server.address()), SessionOf("town"));
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_TRUE((*session)->Activate(true).ok());
  Matrix6 covariance = Matrix6::Identity();
  covariance(0, 1) = 0.25;
  const Pose pose{Eigen::Vector3d(1.0, 2.0, 3.0), Eigen::Quaterniond::Identity()};
  EXPECT_TRUE((*session)->SendPose(11, pose, covariance).ok());
  EXPECT_TRUE((*session)->SendReference(12, Eigen::Vector3d(4.0, 5.0, 6.0)).ok());
  const PointCloud cloud = ThreePoints();
  ScanInput scan;
  scan.cloud = &cloud;
  scan.guess_map_T_base = pose;
  scan.guess_covariance = covariance;
  scan.odom_T_base = Pose{Eigen::Vector3d(7.0, 8.0, 9.0), Eigen::Quaterniond::Identity()};
  scan.base_twist = Twist{Eigen::Vector3d(10.0, 0.0, 0.0), Eigen::Vector3d(0.0, 0.0, 0.5)};
  scan.age_s = 0.05;
  ASSERT_TRUE((*session)->Send(scan).ok());
  ASSERT_TRUE((*session)->Receive(20.0).ok());
  EXPECT_TRUE((*session)->Close(20.0).ok());
  EXPECT_EQ((*session)->Activate(false).code(), absl::StatusCode::kOutOfRange);

  const std::lock_guard<std::mutex> lock(mutex);
  ASSERT_EQ(saw.size(), 4u);
  EXPECT_TRUE(saw[0].activate().active());
  EXPECT_EQ(saw[1].pose().stamp_ns(), 11);
  EXPECT_EQ(saw[1].pose().map_t_base().pose().position().y(), 2.0);
  ASSERT_EQ(saw[1].pose().map_t_base().covariance_size(), 36);
  EXPECT_EQ(saw[1].pose().map_t_base().covariance(1), 0.25);
  EXPECT_EQ(saw[2].reference().stamp_ns(), 12);
  EXPECT_EQ(saw[2].reference().position().z(), 6.0);
  EXPECT_EQ(saw[3].scan().guess_map_t_base().covariance(1), 0.25);
  EXPECT_EQ(saw[3].scan().odom_t_base().position().z(), 9.0);
  EXPECT_EQ(saw[3].scan().base_twist().linear().x(), 10.0);
  EXPECT_EQ(saw[3].scan().base_twist().angular().z(), 0.5);
  EXPECT_EQ(saw[3].scan().age_s(), 0.05);
}

TEST(LocalizationSession, SendsMessagesAsTheyAre) {
  v1::Scan seen;
  FakeServer server(RememberScan(&seen));
  auto session = LocalizationSession::Open(ChannelTo(server.address()), SessionOf("town"));
  ASSERT_TRUE(session.ok()) << session.status();
  v1::Scan scan;
  scan.set_sequence(99);
  scan.set_stamp_ns(5);
  scan.add_clouds()->mutable_cloud()->set_data("left");
  scan.add_clouds()->mutable_cloud()->set_data("right");
  scan.add_poses()->set_stamp_ns(4);
  scan.mutable_reference_position()->set_x(3.0);
  const auto sequence = (*session)->Send(scan);
  ASSERT_TRUE(sequence.ok()) << sequence.status();
  EXPECT_EQ(*sequence, 1u) << "the session counts itself";
  ASSERT_TRUE((*session)->ReceiveResultOf(1, 20.0).ok());
  EXPECT_TRUE((*session)->Close(20.0).ok());
  EXPECT_EQ(seen.sequence(), 1u);
  EXPECT_EQ(seen.clouds(1).cloud().data(), "right");
  EXPECT_EQ(seen.poses(0).stamp_ns(), 4);
  EXPECT_EQ(seen.reference_position().x(), 3.0);
}

// As gRPC tells of streams that reach a server while it stops.
TEST(LocalizationSession, GoesOnWhereTheServerCancelsAStreamOpenOrNot) {
  std::atomic<int> streams{0};
  FakeBehaviour behaviour;
  behaviour.align_scans = [&streams](grpc::ServerContext* context,
                                     FakeBehaviour::AlignStream* stream) {
    const int number = ++streams;
    if (number == 2) return grpc::Status::CANCELLED;
    if (number == 3) return Echo(context, stream);
    AnswerOpen(stream);
    v1::AlignScansRequest request;
    stream->Read(&request);
    return grpc::Status::CANCELLED;
  };
  FakeServer server(behaviour);
  auto session = LocalizationSession::Open(ChannelTo(server.address()), SessionOf("town"));
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE((*session)->Send(v1::Scan()).ok());
  const auto result = (*session)->ReceiveResultOf(1, 20.0);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(streams, 3);
  EXPECT_TRUE((*session)->Close(20.0).ok());
}

TEST(LocalizationSession, ChangesOfTheSetupHoldAfterAReconnectToo) {
  std::mutex mutex;
  std::vector<std::vector<v1::AlignScansRequest>> streams;
  FakeBehaviour behaviour;
  behaviour.align_scans = [&](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    size_t mine = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      mine = streams.size();
      streams.emplace_back();
    }
    AnswerOpen(stream);
    v1::AlignScansRequest request;
    while (stream->Read(&request)) {
      const std::lock_guard<std::mutex> lock(mutex);
      streams[mine].push_back(request);
      if (request.has_scan()) AnswerScan(request.scan(), stream);
    }
    return grpc::Status::OK;
  };
  FakeServer server(behaviour);
  auto session = LocalizationSession::Open(ChannelTo(server.address()), SessionOf("town"));
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_TRUE((*session)->connection().ok());
  v1::ScanSetup setup;
  setup.mutable_output()->set_trace(true);
  setup.mutable_options()->set_profile("precise");
  EXPECT_TRUE((*session)->Configure(setup).ok());
  v1::ScanSetup second;
  second.mutable_output()->set_aligned_cloud(true);
  EXPECT_TRUE((*session)->Configure(second).ok());
  ASSERT_TRUE((*session)->Send(v1::Scan()).ok());
  ASSERT_TRUE((*session)->Receive(20.0).ok());
  server.Stop();
  ASSERT_TRUE(Eventually([&] { return !(*session)->connection().ok(); }));
  server.Start();
  ASSERT_TRUE(Eventually([&] { return (*session)->connection().ok(); }));
  ASSERT_TRUE((*session)->Send(v1::Scan()).ok());
  ASSERT_TRUE((*session)->Receive(20.0).ok());
  const std::lock_guard<std::mutex> lock(mutex);
  ASSERT_EQ(streams.size(), 2u);
  ASSERT_EQ(streams[0].size(), 3u);
  EXPECT_FALSE(streams[0][1].configure().setup().has_options()) << "as it was given";
  // Both changes in one, the later output in place of the earlier.
  ASSERT_EQ(streams[1].size(), 2u);
  const v1::ScanSetup& again = streams[1][0].configure().setup();
  EXPECT_EQ(again.options().profile(), "precise");
  EXPECT_TRUE(again.output().aligned_cloud());
  EXPECT_FALSE(again.output().trace());
  EXPECT_TRUE(streams[1][1].has_scan());
}

// The scans that a server sees before and after a reconnect: two without poses of their own, and
// one with. `fused`: of the answer to the first, which is accepted otherwise; nullptr: none.
std::vector<v1::Scan> ScansAroundAReconnect(const v1::FusedPose* fused) {
  std::mutex mutex;
  std::vector<v1::Scan> seen;
  FakeBehaviour behaviour;
  behaviour.align_scans = [&](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    AnswerOpen(stream);
    v1::AlignScansRequest request;
    while (stream->Read(&request)) {
      const v1::Scan& scan = request.scan();
      {
        const std::lock_guard<std::mutex> lock(mutex);
        seen.push_back(scan);
      }
      v1::AlignScansResponse response;
      v1::AlignmentResult& result = *response.mutable_result();
      result.set_sequence(scan.sequence());
      // Accepted at x = 100 where the odometry says 10: the map begins 90 before the odometry.
      result.set_accepted(scan.sequence() == 1 && fused == nullptr);
      if (scan.sequence() == 1 && fused != nullptr) *result.mutable_fused() = *fused;
      EncodePose(Pose{{100.0, 0.0, 0.0}, Eigen::Quaterniond::Identity()},
                 result.mutable_map_t_base()->mutable_pose());
      EncodePose(Pose{{90.0, 0.0, 0.0}, Eigen::Quaterniond::Identity()},
                 result.mutable_map_t_odom());
      stream->Write(response);
    }
    return grpc::Status::OK;
  };
  FakeServer server(behaviour);
  auto session = LocalizationSession::Open(ChannelTo(server.address()), SessionOf("town"));
  EXPECT_TRUE(session.ok()) << session.status();
  if (!session.ok()) return {};
  const auto send = [&session](double odom_x, int poses) {
    v1::Scan scan;
    EncodePose(Pose{{odom_x, 0.0, 0.0}, Eigen::Quaterniond::Identity()},
               scan.mutable_odom_t_base());
    for (int i = 0; i < poses; ++i) scan.add_poses();
    ASSERT_TRUE((*session)->Send(scan).ok());
    ASSERT_TRUE((*session)->Receive(20.0).ok());
  };
  send(10.0, 0);
  server.Stop();
  EXPECT_TRUE(Eventually([&] { return !(*session)->connection().ok(); }));
  server.Start();
  EXPECT_TRUE(Eventually([&] { return (*session)->connection().ok(); }));
  send(13.0, 0);
  send(14.0, 2);
  const std::lock_guard<std::mutex> lock(mutex);
  return seen;
}

TEST(LocalizationSession, CarriesTheLastPoseOnByTheOdometryAfterAReconnect) {
  const std::vector<v1::Scan> seen = ScansAroundAReconnect(nullptr);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_FALSE(seen[0].has_guess_map_t_base());
  EXPECT_EQ(seen[1].guess_map_t_base().pose().position().x(), 103.0);
  EXPECT_TRUE(seen[1].guess_map_t_base().covariance().empty());
  EXPECT_FALSE(seen[2].has_guess_map_t_base()) << "it brings poses of its own";
}

// Also where no scan was accepted, and as well as the filter knows it.
TEST(LocalizationSession, CarriesThePoseOfTheFilterOnAfterAReconnect) {
  v1::FusedPose fused;
  EncodePose(Pose{{102.0, 0.0, 0.0}, Eigen::Quaterniond::Identity()},
             fused.mutable_map_t_base()->mutable_pose());
  for (int i = 0; i < 36; ++i) fused.mutable_map_t_base()->add_covariance(i % 7 == 0 ? 4.0 : 0.0);
  EncodePose(Pose{{92.0, 0.0, 0.0}, Eigen::Quaterniond::Identity()}, fused.mutable_map_t_odom());
  const std::vector<v1::Scan> seen = ScansAroundAReconnect(&fused);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[1].guess_map_t_base().pose().position().x(), 105.0);
  ASSERT_EQ(seen[1].guess_map_t_base().covariance_size(), 36);
  EXPECT_EQ(seen[1].guess_map_t_base().covariance(0), 4.0);
}

TEST(LocalizationSession, StartsWithoutWaitingAndKeepsTheNewestScan) {
  absl::Notification open_it;
  FakeBehaviour behaviour;
  behaviour.align_scans = [&open_it](grpc::ServerContext* context,
                                     FakeBehaviour::AlignStream* stream) {
    open_it.WaitForNotificationWithTimeout(kTestTimeout);
    return Echo(context, stream);
  };
  FakeServer server(behaviour);
  const auto session = LocalizationSession::Start(ChannelTo(server.address()), SessionOf("town"));
  EXPECT_EQ(session->connection().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(session->opened().session(), "");
  ASSERT_TRUE(session->Send(v1::Scan()).ok());
  ASSERT_TRUE(session->Send(v1::Scan()).ok());
  open_it.Notify();
  EXPECT_EQ(session->ReceiveResultOf(1, 20.0)->status(), v1::ALIGNMENT_STATUS_STALE);
  EXPECT_EQ(session->ReceiveResultOf(2, 20.0)->status(), v1::ALIGNMENT_STATUS_OK);
  EXPECT_TRUE(session->connection().ok());
  // An error that Open would have returned.
  const auto nobody = LocalizationSession::Start(ChannelTo("127.0.0.1:1"), SessionOf("town"));
  const auto end = nobody->AwaitEnd(20.0);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->code(), absl::StatusCode::kUnavailable);
}

TEST(LocalizationSession, ReportsRejectedMessages) {
  FakeBehaviour behaviour;
  behaviour.align_scans = [](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    if (!AnswerOpen(stream)) return grpc::Status::OK;
    v1::AlignScansRequest request;
    while (stream->Read(&request)) {
      v1::AlignScansResponse response;
      response.mutable_rejected()->set_stamp_ns(request.pose().stamp_ns());
      if (request.has_pose()) stream->Write(response);
      if (request.has_scan()) AnswerScan(request.scan(), stream);
    }
    return grpc::Status::OK;
  };
  FakeServer server(behaviour);
  auto session = LocalizationSession::Open(ChannelTo(server.address()), SessionOf("town"));
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_FALSE((*session)->TakeRejection().has_value());
  EXPECT_TRUE((*session)->SendPose(1, Pose()).ok());
  EXPECT_TRUE((*session)->SendPose(2, Pose()).ok());
  const PointCloud cloud = ThreePoints();
  ScanInput scan;
  scan.cloud = &cloud;
  ASSERT_TRUE((*session)->Send(scan).ok());
  ASSERT_TRUE((*session)->Receive(20.0).ok());
  EXPECT_EQ((*session)->TakeRejection()->stamp_ns(), 1);
  EXPECT_EQ((*session)->TakeRejection()->stamp_ns(), 2);
  EXPECT_FALSE((*session)->TakeRejection().has_value());
}

TEST(LocalizationSession, HandsResultsOverAsTheyCome) {
  FakeBehaviour behaviour;
  behaviour.align_scans = Echo;
  FakeServer server(behaviour);
  const PointCloud cloud = ThreePoints();
  v1::Cloud encoded;
  EncodeCloud(cloud, &encoded);
  ScanInput scan;
  scan.encoded_cloud = &encoded;

  // Each result is answered by the next scan, on the reading thread.
  constexpr uint64_t kScans = 20;
  std::unique_ptr<LocalizationSession> session;
  std::atomic<uint64_t> received{0};
  SessionOptions options = SessionOf("town");
  options.max_outstanding = 1;
  options.on_result = [&](const v1::AlignmentResult& result) {
    EXPECT_EQ(result.sequence(), received + 1);
    if (result.sequence() < kScans) {
      EXPECT_TRUE(session->Send(scan).ok());
    }
    ++received;
  };
  auto opened = LocalizationSession::Open(ChannelTo(server.address()), options);
  ASSERT_TRUE(opened.ok()) << opened.status();
  session = *std::move(opened);
  ASSERT_TRUE(session->Send(scan).ok());
  EXPECT_TRUE(Eventually([&] { return received == kScans; }));
  EXPECT_EQ(session->Receive(0.05).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(session->AwaitEnd(0.05).has_value());
  EXPECT_TRUE(session->Close(20.0).ok());
  EXPECT_EQ(session->AwaitEnd(0.0), absl::OkStatus());
  EXPECT_EQ(session->Receive(0.0).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(session->unexpected_results(), 0u);
}

TEST(LocalizationSession, CountsAndDropsResultsThatNoScanWaitsFor) {
  FakeBehaviour behaviour;
  behaviour.align_scans = [](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    if (!AnswerOpen(stream)) return grpc::Status::OK;
    v1::AlignScansRequest request;
    while (stream->Read(&request)) {
      AnswerScan(request.scan(), stream);
      AnswerScan(request.scan(), stream);
      v1::Scan other = request.scan();
      other.set_sequence(77);
      AnswerScan(other, stream);
    }
    return grpc::Status::OK;
  };
  FakeServer server(behaviour);
  auto session = LocalizationSession::Open(ChannelTo(server.address()), SessionOf("town"));
  ASSERT_TRUE(session.ok()) << session.status();
  const PointCloud cloud = ThreePoints();
  ScanInput scan;
  EXPECT_EQ((*session)->Send(scan).status().code(), absl::StatusCode::kInvalidArgument);
  scan.cloud = &cloud;
  ASSERT_TRUE((*session)->Send(scan).ok());
  EXPECT_TRUE((*session)->Receive(20.0).ok());
  EXPECT_TRUE((*session)->Close(20.0).ok());
  EXPECT_EQ((*session)->Receive(1.0).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ((*session)->unexpected_results(), 2u);
}

// A server that reads nothing for a while: the connection takes no more bytes.
TEST(LocalizationSession, NeverWaitsForTheConnectionAndTheNewestScanWins) {
  absl::Notification read_on;
  std::mutex mutex;
  std::vector<uint64_t> saw;
  FakeBehaviour behaviour;
  behaviour.align_scans = [&](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    v1::AlignScansRequest request;
    v1::AlignScansResponse response;
    if (!stream->Read(&request)) return grpc::Status::OK;
    response.mutable_opened()->mutable_limits()->set_max_waiting_scans(1);
    stream->Write(response);
    read_on.WaitForNotification();
    while (stream->Read(&request)) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (request.has_scan()) {
        saw.push_back(request.scan().sequence());
        AnswerScan(request.scan(), stream);
      }
    }
    return grpc::Status::OK;
  };
  FakeServer server(behaviour);
  auto session = LocalizationSession::Open(ChannelTo(server.address()), SessionOf("town"));
  ASSERT_TRUE(session.ok()) << session.status();
  PointCloud cloud;
  for (int i = 0; i < 200'000; ++i) cloud.PushBack(1.0F, 2.0F, 3.0F);
  ScanInput scan;
  scan.cloud = &cloud;
  constexpr uint64_t kScans = 40;  // 96 MB
  for (uint64_t i = 0; i < kScans; ++i) {
    ASSERT_TRUE((*session)->Send(scan).ok());
    ASSERT_TRUE((*session)->SendPose(static_cast<int64_t>(i), Pose()).ok());
  }
  EXPECT_GT((*session)->given_up(), kScans / 2);
  read_on.Notify();
  std::set<uint64_t> superseded;
  std::set<uint64_t> answered;
  for (uint64_t i = 0; i < kScans; ++i) {
    const auto result = (*session)->Receive(30.0);
    ASSERT_TRUE(result.ok()) << result.status();
    const bool own = result->status() == v1::ALIGNMENT_STATUS_SUPERSEDED;
    EXPECT_TRUE((own ? superseded : answered).insert(result->sequence()).second);
  }
  EXPECT_EQ(superseded.size() + answered.size(), kScans);
  EXPECT_EQ(superseded.size(), (*session)->given_up());
  EXPECT_EQ(answered.count(kScans), 1u);
  EXPECT_EQ(answered.count(kScans - 1), 1u);
  EXPECT_TRUE((*session)->Close(20.0).ok());
  const std::lock_guard<std::mutex> lock(mutex);
  EXPECT_EQ(std::set<uint64_t>(saw.begin(), saw.end()), answered);
}

TEST(LocalizationSession, GoesElsewhereWhenTheServerDrains) {
  std::atomic<int> streams{0};
  FakeBehaviour behaviour;
  behaviour.align_scans = [&](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    const bool first = ++streams == 1;
    if (!AnswerOpen(stream)) return grpc::Status::OK;
    v1::AlignScansRequest request;
    std::vector<v1::Scan> scans;
    while (stream->Read(&request)) {
      scans.push_back(request.scan());
      if (first) {
        v1::AlignScansResponse response;
        response.mutable_draining()->set_remaining_s(30.0);
        stream->Write(response);
      } else {
        AnswerScan(request.scan(), stream);
      }
    }
    // Half-closed: what it has is still answered.
    if (first) AnswerScan(scans.front(), stream);
    return grpc::Status::OK;
  };
  FakeServer server(behaviour);
  auto session = LocalizationSession::Open(ChannelTo(server.address()), SessionOf("town"));
  ASSERT_TRUE(session.ok()) << session.status();
  const PointCloud cloud = ThreePoints();
  ScanInput scan;
  scan.cloud = &cloud;
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) {
    ASSERT_TRUE((*session)->Send(scan).ok());
    const auto result = (*session)->ReceiveResultOf(sequence, 30.0);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->status(), v1::ALIGNMENT_STATUS_OK);
  }
  EXPECT_EQ(streams, 2);
  EXPECT_EQ((*session)->reconnects(), 1);
  EXPECT_EQ((*session)->given_up(), 0u);
  EXPECT_TRUE((*session)->Close(20.0).ok());
}

TEST(LocalizationSession, AsksAgainWhereTheNextServerIsFullOrHasNoMapYet) {
  const auto refusal = [](grpc::StatusCode code, const std::string& reason) {
    google::rpc::ErrorInfo info;
    info.set_reason(reason);
    google::rpc::Status details;
    details.add_details()->PackFrom(info);
    return grpc::Status(code, reason, details.SerializeAsString());
  };
  std::atomic<int> streams{0};
  FakeBehaviour behaviour;
  behaviour.align_scans = [&](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    const int number = ++streams;
    if (number == 2) return refusal(grpc::StatusCode::RESOURCE_EXHAUSTED, "TOO_MANY_SESSIONS");
    if (number == 3) return refusal(grpc::StatusCode::NOT_FOUND, "MAP_NOT_FOUND");
    if (!AnswerOpen(stream)) return grpc::Status::OK;
    v1::AlignScansRequest request;
    if (number == 1) {
      stream->Read(&request);
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "stopping");
    }
    while (stream->Read(&request)) AnswerScan(request.scan(), stream);
    return grpc::Status::OK;
  };
  FakeServer server(behaviour);
  auto session = LocalizationSession::Open(ChannelTo(server.address()), SessionOf("town"));
  ASSERT_TRUE(session.ok()) << session.status();
  const PointCloud cloud = ThreePoints();
  ScanInput scan;
  scan.cloud = &cloud;
  ASSERT_TRUE((*session)->Send(scan).ok());
  const auto result = (*session)->Receive(30.0);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->status(), v1::ALIGNMENT_STATUS_OK);
  EXPECT_EQ(streams, 4);
  EXPECT_TRUE((*session)->Close(20.0).ok());
}

TEST(LocalizationSession, StopsTryingAfterTheLastAttempt) {
  FakeBehaviour behaviour;
  behaviour.align_scans = [](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    AnswerOpen(stream);
    v1::AlignScansRequest request;
    while (stream->Read(&request)) {
    }
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "stopping");
  };
  FakeServer server(behaviour);
  SessionOptions options = SessionOf("town");
  options.reconnect.max_attempts = 2;
  auto session = LocalizationSession::Open(ChannelTo(server.address()), options);
  ASSERT_TRUE(session.ok()) << session.status();
  server.Stop();
  const std::optional<absl::Status> end = (*session)->AwaitEnd(30.0);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->code(), absl::StatusCode::kUnavailable) << *end;
  const auto result = (*session)->Receive(30.0);
  EXPECT_EQ(result.status(), *end);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("2 attempts"));
  const PointCloud cloud = ThreePoints();
  ScanInput scan;
  scan.cloud = &cloud;
  EXPECT_EQ((*session)->Send(scan).status().code(), absl::StatusCode::kUnavailable);
}

// As a proxy ends a stream whose server it has lost, and as a server says the same itself.
TEST(LocalizationSession, OpensAgainWhereAProxyCutTheStreamOff) {
  std::atomic<int> opened{0};
  FakeBehaviour behaviour;
  behaviour.align_scans = [&opened](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    const int number = ++opened;
    AnswerOpen(stream);
    v1::AlignScansRequest request;
    stream->Read(&request);
    if (number == 1) {
      return grpc::Status(grpc::StatusCode::INTERNAL, "Received RST_STREAM with error code 2");
    }
    google::rpc::ErrorInfo info;
    info.set_reason("INTERNAL");
    google::rpc::Status details;
    details.add_details()->PackFrom(info);
    return grpc::Status(grpc::StatusCode::INTERNAL, "broken", details.SerializeAsString());
  };
  FakeServer server(behaviour);
  auto session = LocalizationSession::Open(ChannelTo(server.address()), SessionOf("town"));
  ASSERT_TRUE(session.ok()) << session.status();
  const PointCloud cloud = ThreePoints();
  ScanInput scan;
  scan.cloud = &cloud;
  ASSERT_TRUE((*session)->Send(scan).ok());
  EXPECT_EQ((*session)->Receive(20.0).status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(opened, 2);
}

TEST(LocalizationSession, DoesNotReconnectAfterOtherErrors) {
  std::atomic<int> opened{0};
  FakeBehaviour behaviour;
  behaviour.align_scans = [&opened](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    ++opened;
    AnswerOpen(stream);
    v1::AlignScansRequest request;
    stream->Read(&request);
    return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many");
  };
  FakeServer server(behaviour);
  auto session = LocalizationSession::Open(ChannelTo(server.address()), SessionOf("town"));
  ASSERT_TRUE(session.ok()) << session.status();
  const PointCloud cloud = ThreePoints();
  ScanInput scan;
  scan.cloud = &cloud;
  ASSERT_TRUE((*session)->Send(scan).ok());
  EXPECT_EQ((*session)->Receive(20.0).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(opened, 1);
}

}  // namespace
}  // namespace voxloc::client
