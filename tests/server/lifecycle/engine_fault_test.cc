// SPDX-License-Identifier: Apache-2.0
//
// An engine whose calls fail now and then: every scan is answered, and sessions live on.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "clients/cpp/channel.h"
#include "clients/cpp/session.h"
#include "tests/server/engines/fake_gpu.h"
#include "tests/server/gated_engine.h"
#include "tests/server/plain_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

class EngineFaults : public ::testing::Test {
 protected:
  void TearDown() override { gate_->Open(); }

  const std::shared_ptr<GpuFaults> faults_ = std::make_shared<GpuFaults>();
  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  TownServer server_{
      {}, std::make_unique<GatedEngine>(gate_, nullptr, std::make_unique<FakeGpu>(faults_))};
};

TEST_F(EngineFaults, AnswerTheScansThatWaitAndLeaveTheSession) {
  TestSession session(server_, TownSession("limits { max_waiting_scans: 3 }"));
  gate_->Close();
  session.Send(GoodScan(1));
  gate_->AwaitBatches(1);
  for (uint64_t sequence = 2; sequence <= 4; ++sequence) session.Send(GoodScan(sequence));
  faults_->failing = true;
  gate_->Open();
  for (uint64_t sequence = 1; sequence <= 4; ++sequence) {
    const v1::AlignmentResult result = session.ReadResult();
    EXPECT_EQ(result.sequence(), sequence);
    EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_ENGINE_FAULT);
    EXPECT_THAT(result.detail(), HasSubstr("the engine failed"));
    EXPECT_FALSE(result.accepted());
    EXPECT_FALSE(result.has_map_t_base());
  }
  faults_->failing = false;
  EXPECT_EQ(session.Align(GoodScan(5)).status(), v1::ALIGNMENT_STATUS_OK);
  session.HalfClose();
  EXPECT_FALSE(session.Read().has_draining());
  EXPECT_TRUE(session.Finish().ok());
}

TEST_F(EngineFaults, OfTheFilterAreNotTheScansFault) {
  TestSession session(server_, TownSession("setup { filter { max_range_m: 24 } }"));
  faults_->failing = true;
  EXPECT_EQ(session.Align(GoodScan(1)).status(), v1::ALIGNMENT_STATUS_ENGINE_FAULT);
  faults_->failing = false;
  EXPECT_EQ(session.Align(GoodScan(2)).status(), v1::ALIGNMENT_STATUS_OK);
}

TEST_F(EngineFaults, AreTheErrorOfACallWithoutASession) {
  faults_->failing = true;
  v1::AlignmentResult none;
  const grpc::Status status = AlignInTown(server_, GoodScan(), none);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(ReasonOf(status), "ENGINE_FAULT");
}

TEST_F(EngineFaults, AreOutcomesOfScansToTheClientsSession) {
  client::ChannelOptions channel_options;
  channel_options.server = server_.server().address();
  const auto channel = client::Channel::Create(channel_options);
  ASSERT_TRUE(channel.ok()) << channel.status();
  client::SessionOptions options;
  options.open = TownSession();
  auto session = client::LocalizationSession::Open(*channel, options);
  ASSERT_TRUE(session.ok()) << session.status();
  const PointCloud cloud = ScanFrom(VehiclePose());
  client::ScanInput scan;
  scan.cloud = &cloud;
  scan.guess_map_T_base = VehiclePose();
  for (const bool failing : {true, true, false}) {
    faults_->failing = failing;
    const auto sequence = (*session)->Send(scan);
    ASSERT_TRUE(sequence.ok()) << sequence.status();
    const auto result = (*session)->ReceiveResultOf(*sequence, 30.0);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->status(),
              failing ? v1::ALIGNMENT_STATUS_ENGINE_FAULT : v1::ALIGNMENT_STATUS_OK);
  }
  EXPECT_EQ((*session)->reconnects(), 0);
  EXPECT_EQ((*session)->given_up(), 0u);
  EXPECT_TRUE((*session)->Close(30.0).ok());
}

}  // namespace
}  // namespace voxloc::server
