// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "server/convert/pose.h"
#include "tests/server/gated_engine.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/engine_test.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

Pose PoseOfResult(const v1::AlignmentResult& result) {
  auto pose = PoseFromProto(result.map_t_base().pose(), "map_t_base");
  return pose.ok() ? *pose : Pose{};
}

class AlignScans : public EngineTest {
 protected:
  void SetUp() override { server_.LoadTown(); }
  TestServer server_{{}, EngineHandle()};
};
VOXLOC_INSTANTIATE_ON_ENGINES(AlignScans);

TEST_P(AlignScans, FindsTheVehicleFromAGuessNearby) {
  for (const char* profile : {"autoware", "precise"}) {
    SCOPED_TRACE(profile);
    TestSession session(server_);
    v1::OpenSession open = TownSession();
    open.mutable_setup()->mutable_options()->set_profile(profile);
    session.Open(open);
    EXPECT_EQ(session.opened().profile().name(), profile);
    EXPECT_EQ(session.opened().map_revision(), 1);
    const v1::AlignmentResult result = session.Align(GoodScan(5));
    EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_OK) << result.ShortDebugString();
    EXPECT_TRUE(result.accepted());
    EXPECT_EQ(result.sequence(), 5);
    EXPECT_EQ(result.stamp_ns(), 500'000'000);
    EXPECT_EQ(result.map_revision(), 1);
    EXPECT_EQ(result.engine(), GetParam());
    EXPECT_EQ(result.points().received(), 1500);
    EXPECT_EQ(result.points().used(), 1500);
    EXPECT_GT(result.initial_scores().matched_ratio(), 0.9);
    EXPECT_GT(result.scores().matched_ratio(), 0.1);
    EXPECT_LT(TranslationDistance(PoseOfResult(result), VehiclePose()), 0.05);
    EXPECT_LT(RotationDistance(PoseOfResult(result), VehiclePose()), 0.005);
    EXPECT_EQ(result.timings().batch_size(), 1);
    const v1::Timings& timings = result.timings();
    EXPECT_NEAR(timings.server_s(),
                timings.queue_wait_s() + timings.prepare_s() + timings.batch_wait_s() +
                    timings.align_s() + timings.estimate_wait_s() + timings.estimate_s() +
                    timings.reply_s(),
                1e-6);
    session.HalfClose();
    EXPECT_TRUE(session.Finish().ok());
  }
}

TEST_P(AlignScans, GivesTraceScoresAndCloudOnRequest) {
  TestSession session(server_);
  v1::OpenSession open = TownSession();
  open.mutable_setup()->mutable_output()->set_trace(true);
  open.mutable_setup()->mutable_output()->set_point_scores(true);
  open.mutable_setup()->mutable_output()->set_aligned_cloud(true);
  session.Open(open);
  const v1::AlignmentResult result = session.Align(GoodScan());
  EXPECT_EQ(result.trace().iterations_size(), static_cast<int>(result.iterations()));
  EXPECT_EQ(result.point_scores().best_score_size(), 1500);
  EXPECT_EQ(result.aligned_cloud().data().size(), 1500 * 12);
}

TEST_P(AlignScans, AcceptsASensorThatIsMountedElsewhere) {
  const Pose base_T_sensor{{0.8, 0.1, 1.2}, Eigen::Quaterniond(0.9, 0.0, 0.1, 0.4).normalized()};
  TestSession session(server_);
  v1::OpenSession open = TownSession();
  *open.mutable_setup()->mutable_base_t_sensor() = PoseOf(base_T_sensor);
  open.mutable_setup()->mutable_filter()->set_max_range_m(24.0);
  session.Open(open);
  v1::Scan scan = GoodScan();
  *scan.mutable_clouds(0)->mutable_cloud() =
      CloudOf(Transform(base_T_sensor.Inverse(), ScanFrom(VehiclePose())));
  const v1::AlignmentResult result = session.Align(scan);
  EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_OK) << result.detail();
  EXPECT_LT(TranslationDistance(PoseOfResult(result), VehiclePose()), 0.05);
  EXPECT_GT(result.points().filtered_out(), 0);
}

TEST_P(AlignScans, SaysWhyAScanIsNotAccepted) {
  using Adjust = std::function<void(v1::OpenSession&, v1::AlignmentOptions&)>;
  const std::vector<std::pair<v1::AlignmentStatus, Adjust>> cases = {
      // The scan is stamped in 1970.
      {v1::ALIGNMENT_STATUS_STALE,
       [](auto& open, auto&) { open.mutable_limits()->set_max_delay_s(10.0); }},
      {v1::ALIGNMENT_STATUS_LOW_SCORE,
       [](auto&, auto& options) {
         options.mutable_gate()->mutable_score_threshold()->set_value(1000.0);
       }},
      {v1::ALIGNMENT_STATUS_NOT_CONVERGED, [](auto&, auto& options) {
         options.mutable_overrides()->mutable_max_iterations()->set_value(1);
       }}};
  for (const auto& [status, change] : cases) {
    v1::OpenSession open = TownSession();
    change(open, *open.mutable_setup()->mutable_options());
    TestSession session(server_);
    session.Open(open);
    const v1::AlignmentResult result = session.Align(GoodScan());
    EXPECT_EQ(result.status(), status) << result.ShortDebugString();
    EXPECT_FALSE(result.accepted());
    EXPECT_EQ(result.has_map_t_base(), status != v1::ALIGNMENT_STATUS_STALE);
    EXPECT_EQ(result.termination_reason() == v1::TERMINATION_REASON_MAX_ITERATIONS,
              status == v1::ALIGNMENT_STATUS_NOT_CONVERGED);
  }
}

TEST_P(AlignScans, SaysLowOverlapAfterAConfigureThatAsksForMore) {
  TestSession session(server_);
  session.Open();
  v1::AlignScansRequest request;
  request.mutable_configure()->set_sequence(9);
  request.mutable_configure()
      ->mutable_setup()
      ->mutable_options()
      ->mutable_gate()
      ->mutable_min_matched_ratio()
      ->set_value(1.0);
  session.Send(request);
  EXPECT_EQ(session.Read().configured().sequence(), 9);
  v1::Scan scan = GoodScan();
  scan.mutable_clouds(0)->mutable_cloud()->mutable_data()->append(
      CloudOf({0.0F, 0.0F, 60.0F, 1.0F, 0.0F, 60.0F}).data());
  const v1::AlignmentResult result = session.Align(scan);
  EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_LOW_OVERLAP);
  EXPECT_FALSE(result.accepted());
}

TEST_P(AlignScans, KeepsTheOldOptionsWhenAConfigureIsRejected) {
  TestSession session(server_);
  session.Open();
  v1::AlignScansRequest request;
  request.mutable_configure()->set_sequence(3);
  request.mutable_configure()
      ->mutable_setup()
      ->mutable_options()
      ->mutable_overrides()
      ->mutable_step_size_m()
      ->set_value(-1.0);
  session.Send(request);
  v1::AlignScansResponse response = session.Read();
  ASSERT_TRUE(response.has_rejected());
  EXPECT_EQ(response.rejected().kind(), v1::SESSION_REQUEST_KIND_CONFIGURE);
  EXPECT_EQ(response.rejected().reason(), v1::REJECTION_REASON_INVALID);
  EXPECT_EQ(response.rejected().sequence(), 3);
  EXPECT_THAT(response.rejected().detail(),
              HasSubstr("overrides.step_size_m must be from 1e-06 to 100 (got -1)"));
  EXPECT_EQ(session.Align(GoodScan()).status(), v1::ALIGNMENT_STATUS_OK);
}

TEST_P(AlignScans, GoesOnWithNewRevisionsAndSaysWhenTheMapIsGone) {
  TestSession session(server_);
  session.Open();
  EXPECT_EQ(session.Align(GoodScan()).map_revision(), 1);
  server_.LoadTown();
  EXPECT_EQ(session.Align(GoodScan()).map_revision(), 2);
  v1::DeleteMapRequest request;
  request.set_map("town");
  v1::DeleteMapResponse response;
  ASSERT_TRUE(server_.maps->DeleteMap(TestServer::NewContext().get(), request, &response).ok());
  EXPECT_EQ(response.revision(), 2);
  EXPECT_EQ(session.Align(GoodScan()).status(), v1::ALIGNMENT_STATUS_NO_MAP);
  server_.LoadTown();
  EXPECT_EQ(session.Align(GoodScan()).status(), v1::ALIGNMENT_STATUS_OK);
}

TEST_P(AlignScans, ServesOneScanWithoutASession) {
  v1::AlignmentResult result;
  const grpc::Status status = AlignInTown(server_, GoodScan(4), result);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_OK);
  EXPECT_EQ(result.sequence(), 4);
  EXPECT_LT(TranslationDistance(PoseOfResult(result), VehiclePose()), 0.05);
}

// While the engine is held at a gate, everything that happens around it can be told in advance.
class BusyEngine : public ::testing::Test {
 protected:
  void SetUp() override {
    server_.LoadTown();
    gate_->Close();
  }
  void TearDown() override { gate_->Open(); }

  // A session whose first scan the engine holds.
  std::unique_ptr<TestSession> HeldSession(const v1::OpenSession& open = TownSession()) {
    auto session = std::make_unique<TestSession>(server_);
    session->Open(open);
    session->Send(GoodScan(1));
    gate_->AwaitBatches(1);
    return session;
  }

  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  TestServer server_{[](Config& config) { config.limits.max_queued_scans = 3; },
                     std::make_unique<GatedEngine>(gate_)};
};

TEST_F(BusyEngine, TheNewestScanWinsAndEachGetsOneReply) {
  const auto session = HeldSession();
  for (uint64_t sequence = 2; sequence <= 5; ++sequence) session->Send(GoodScan(sequence));
  // 2, 3 and 4 give way, each as the next one comes; 5 waits.
  for (uint64_t sequence = 2; sequence <= 4; ++sequence) {
    const v1::AlignmentResult result = session->ReadResult();
    EXPECT_EQ(result.sequence(), sequence);
    EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_SUPERSEDED);
    EXPECT_FALSE(result.has_map_t_base());
  }
  gate_->Open();
  for (const uint64_t sequence : {1, 5}) {
    const v1::AlignmentResult result = session->ReadResult();
    EXPECT_EQ(result.sequence(), sequence);
    EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_OK);
  }
  session->HalfClose();
  EXPECT_FALSE(session->Read().has_result());
  EXPECT_TRUE(session->Finish().ok());
}

TEST_F(BusyEngine, AScanThatIsReplacedHasNoDiagnosticsAndIsNotCountedAsSkipped) {
  v1::OpenSession open = TownSession();
  open.mutable_setup()->mutable_output()->set_diagnostics(true);
  // Nothing is accepted: every scan that is looked at counts.
  open.mutable_setup()->mutable_options()->mutable_gate()->mutable_score_threshold()->set_value(
      1000.0);
  const auto session = HeldSession(open);
  session->Send(GoodScan(2));
  const v1::AlignmentResult replaced = session->Align(GoodScan(3));
  EXPECT_EQ(replaced.status(), v1::ALIGNMENT_STATUS_SUPERSEDED);
  EXPECT_FALSE(replaced.has_diagnostics());
  gate_->Open();
  for (const int64_t count : {1, 2}) {
    const v1::AlignmentResult result = session->ReadResult();
    ASSERT_EQ(result.diagnostics().entries_size(), 19);
    EXPECT_EQ(result.diagnostics().entries(18).int_value(), count);
  }
}

TEST_F(BusyEngine, ASessionMayAskForMoreScansToWait) {
  TestSession session(server_);
  v1::OpenSession open = TownSession();
  open.mutable_limits()->set_max_waiting_scans(2);
  session.Open(open);
  EXPECT_EQ(session.opened().limits().max_waiting_scans(), 2);
  session.Send(GoodScan(1));
  gate_->AwaitBatches(1);
  for (uint64_t sequence = 2; sequence <= 4; ++sequence) session.Send(GoodScan(sequence));
  EXPECT_EQ(session.ReadResult().sequence(), 2);
  gate_->Open();
  std::set<uint64_t> aligned;
  for (int i = 0; i < 3; ++i) aligned.insert(session.ReadResult().sequence());
  EXPECT_EQ(aligned, (std::set<uint64_t>{1, 3, 4}));
}

TEST_F(BusyEngine, WhatGathersMeanwhileGoesInOneBatch) {
  TestSession first(server_);
  TestSession second(server_);
  TestSession third(server_);
  for (TestSession* session : {&first, &second, &third}) session->Open();
  first.Send(GoodScan(1));
  gate_->AwaitBatches(1);
  // A superseded reply proves that the scan behind it waits.
  for (TestSession* session : {&second, &third}) {
    session->Send(GoodScan(1));
    EXPECT_EQ(session->Align(GoodScan(2)).status(), v1::ALIGNMENT_STATUS_SUPERSEDED);
  }
  gate_->Open();
  EXPECT_EQ(first.ReadResult().timings().batch_size(), 1);
  EXPECT_EQ(second.ReadResult().timings().batch_size(), 2);
  EXPECT_EQ(third.ReadResult().timings().batch_size(), 2);
  EXPECT_EQ(gate_->batches().front(), 1);
  EXPECT_THAT(gate_->batches(), ::testing::Contains(2));
}

TEST_F(BusyEngine, AFullQueueIsOverloadedWithAHint) {
  const auto busy = HeldSession();
  std::vector<std::unique_ptr<TestSession>> waiting;
  for (int i = 0; i < 3; ++i) {
    waiting.push_back(std::make_unique<TestSession>(server_));
    waiting.back()->Open();
    waiting.back()->Send(GoodScan(1));
    waiting.back()->Send(GoodScan(2));
    EXPECT_EQ(waiting.back()->ReadResult().status(), v1::ALIGNMENT_STATUS_SUPERSEDED);
  }
  const v1::AlignmentResult result = busy->Align(GoodScan(2));
  EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_OVERLOADED);
  EXPECT_GT(result.retry_after_s(), 0.0);

  v1::AlignmentResult refused;
  EXPECT_EQ(AlignInTown(server_, GoodScan(), refused).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  gate_->Open();
  EXPECT_EQ(busy->ReadResult().status(), v1::ALIGNMENT_STATUS_OK);
}

TEST_F(BusyEngine, AScanPastItsTimeoutIsAnsweredWithoutBeingAligned) {
  const auto busy = HeldSession();
  v1::Scan scan = GoodScan(2);
  scan.set_timeout_s(1e-9);
  busy->Send(scan);
  // The reply to a rejected message proves that the scan before it has been received.
  v1::AlignScansRequest request;
  request.mutable_pose();
  busy->Send(request);
  EXPECT_TRUE(busy->Read().has_rejected());
  gate_->Open();
  EXPECT_EQ(busy->ReadResult().status(), v1::ALIGNMENT_STATUS_OK);
  const size_t batches = gate_->batches().size();  // of the first scan and its estimates
  const v1::AlignmentResult result = busy->ReadResult();
  EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_DEADLINE);
  EXPECT_FALSE(result.has_map_t_base());
  EXPECT_EQ(gate_->batches().size(), batches);
}

TEST_F(BusyEngine, HalfClosingWaitsForTheScansUnderWay) {
  const auto session = HeldSession();
  session->Send(GoodScan(2));
  session->HalfClose();
  gate_->Open();
  EXPECT_EQ(session->ReadResult().sequence(), 1);
  EXPECT_EQ(session->ReadResult().sequence(), 2);
  EXPECT_TRUE(session->Finish().ok());
}

TEST_F(BusyEngine, AClientThatVanishesLeavesTheOthersAlone) {
  {
    const auto vanishing = HeldSession();
    vanishing->Send(GoodScan(2));
    vanishing->Cancel();
    EXPECT_EQ(vanishing->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  TestSession session(server_);
  session.Open();
  session.Send(GoodScan(7));
  gate_->Open();
  EXPECT_EQ(session.ReadResult().sequence(), 7);
}

TEST_F(BusyEngine, MapsAreUpdatedWhileTheEngineAligns) {
  const auto session = HeldSession();
  server_.LoadTown();
  session->Send(GoodScan(2));
  gate_->Open();
  EXPECT_EQ(session->ReadResult().map_revision(), 1);  // as it was when the scan began
  EXPECT_EQ(session->ReadResult().map_revision(), 2);
}

}  // namespace
}  // namespace voxloc::server
