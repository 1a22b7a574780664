// SPDX-License-Identifier: Apache-2.0
//
// Many clients at once that come, stay, cancel and vanish, while maps change: for sanitizers to
// look at, and to show that every scan gets its one reply.

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/engine_test.h"

namespace voxloc::server {
namespace {

constexpr int kClients = 6;
constexpr int kRounds = 12;
constexpr uint64_t kScans = 8;

void RunSession(TestServer& server, std::mt19937& random) {
  TestSession session(server, "town");
  for (uint64_t sequence = 1; sequence <= kScans; ++sequence) session.Send(GoodScan(sequence));
  switch (random() % 3) {
    case 0: {  // one reply a scan, then a proper end
      session.HalfClose();
      std::set<uint64_t> answered;
      for (uint64_t i = 0; i < kScans; ++i) {
        EXPECT_TRUE(answered.insert(session.ReadResult().sequence()).second);
      }
      EXPECT_EQ(*answered.rbegin(), kScans);
      EXPECT_TRUE(session.Finish().ok());
      break;
    }
    case 1:
      session.Cancel();
      EXPECT_EQ(session.Finish().error_code(), grpc::StatusCode::CANCELLED);
      break;
    default:  // a message that ends the stream while scans are under way
      session.Send(v1::AlignScansRequest());
      while (session.Read().has_result()) {
      }
      EXPECT_EQ(session.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
}

void RunUpdate(TestServer& server, std::mt19937& random) {
  TestUpdate update(server);
  update.Write(BeginRequest("town"));
  EXPECT_TRUE(update.Read().has_begun());
  update.Write(TileRequest("more", ScanFrom(VehiclePose(), 300)));
  if (random() % 2 == 0) {
    update.Cancel();
    EXPECT_EQ(update.Finish().error_code(), grpc::StatusCode::CANCELLED);
    return;
  }
  EXPECT_TRUE(update.Read().has_tile_added());
  update.Write(CommitRequest());
  EXPECT_TRUE(update.Read().has_committed());
  EXPECT_TRUE(update.Finish().ok());
}

void RunScoring(TestServer& server, std::mt19937& random) {
  const auto context = TestServer::NewContext();
  const auto stream = server.localization->ScorePoses(context.get());
  v1::ScorePosesRequest request;
  request.mutable_setup()->mutable_setup()->set_map("town");
  *request.mutable_setup()->mutable_scan() = GoodScan();
  request.mutable_setup()->mutable_setup()->mutable_output()->set_point_scores(true);
  stream->Write(request);
  for (int i = 0; i < 300; ++i) {
    for (const double value : {1.0, 0.01 * i, 1.8, 0.0, 0.0, 0.2, 1.0}) {
      request.mutable_poses()->add_map_t_base(value);
    }
  }
  stream->Write(request);
  v1::ScorePosesResponse response;
  EXPECT_TRUE(stream->Read(&response));
  if (random() % 2 == 0) {
    context->TryCancel();
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
    return;
  }
  while (stream->Read(&response) && !response.scores().last()) {
  }
  EXPECT_TRUE(response.scores().last());
  stream->WritesDone();
  const grpc::Status status = stream->Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
}

class Stress : public EngineTest {};
VOXLOC_INSTANTIATE_ON_ENGINES(Stress);

TEST_P(Stress, ClientsThatComeAndGoWhileMapsChange) {
  TownServer server({}, EngineHandle());
  static_cast<void>(GoodScan());  // makes what all clients share
  std::vector<std::thread> clients;
  for (unsigned client = 0; client < kClients; ++client) {
    clients.emplace_back([&server, client] {
      std::mt19937 random(client);
      for (int round = 0; round < kRounds; ++round) {
        if (client % 3 == 0) RunUpdate(server, random);
        if (client % 3 == 1) RunScoring(server, random);
        RunSession(server, random);
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(ServerInfoOf(server).maps(), 1);
}

TEST_P(Stress, StopsWithClientsInEveryState) {
  for (unsigned round = 0; round < 5; ++round) {
    TownServer server({}, EngineHandle());
    std::vector<std::thread> clients;
    for (unsigned client = 0; client < 4; ++client) {
      clients.emplace_back([&server] {
        TestSession session(server);
        v1::AlignScansRequest open;
        open.mutable_open()->mutable_setup()->set_map("town");
        session.Send(open);
        for (uint64_t sequence = 1; sequence <= kScans; ++sequence) {
          session.Send(GoodScan(sequence));
        }
        while (session.Read().response_case() != v1::AlignScansResponse::RESPONSE_NOT_SET) {
        }
        EXPECT_FALSE(session.Finish().ok());
      });
    }
    server.server().Drain();
    for (std::thread& client : clients) client.join();
  }
}

}  // namespace
}  // namespace voxloc::server
