// SPDX-License-Identifier: Apache-2.0
//
// The metadata by which proxies route calls to the servers of their maps, over real connections.

#include <gmock/gmock.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cpp/admin_client.h"
#include "clients/cpp/align.h"
#include "clients/cpp/map_client.h"
#include "clients/cpp/map_transaction.h"
#include "clients/cpp/map_watch.h"
#include "clients/cpp/score_client.h"
#include "clients/cpp/search_client.h"
#include "clients/cpp/session.h"
#include "tests/clients/cpp/fake_server.h"

namespace voxloc::client {
namespace {

using ::testing::ElementsAre;

constexpr double kNamedTimeout_s = 20.0;
constexpr char kTown[] = "town-1.a_b";

// Refuses every call of every service, and remembers "METHOD MAP" of each.
class RefusingServer : public grpc::CallbackGenericService {
 public:
  RefusingServer() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
  }
  ~RefusingServer() override { server_->Shutdown(); }

  [[nodiscard]] Channel channel() const { return ChannelTo(absl::StrCat("127.0.0.1:", port_)); }
  [[nodiscard]] std::vector<std::string> TakeCalls() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(calls_, {});
  }

 private:
  class Refusal : public grpc::ServerGenericBidiReactor {
   public:
    Refusal() { Finish(grpc::Status(grpc::StatusCode::NOT_FOUND, "refused")); }
    void OnDone() override { delete this; }
  };

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    std::string call = context->method().substr(context->method().rfind('/') + 1);
    const auto maps = context->client_metadata().equal_range("x-voxloc-map");
    for (auto map = maps.first; map != maps.second; ++map) {
      absl::StrAppend(&call, " ", std::string(map->second.data(), map->second.size()));
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    calls_.push_back(std::move(call));
    return new Refusal;
  }

  std::mutex mutex_;
  std::vector<std::string> calls_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST(MapMetadata, NamesTheMapOfEachCallThatHasOne) {
  RefusingServer server;
  const Channel channel = server.channel();
  const MapClient maps(channel);
  EXPECT_FALSE(maps.Get(kTown, kNamedTimeout_s).ok());
  EXPECT_FALSE(maps.Activate(kTown, 2, kNamedTimeout_s).ok());
  v1::GetCellsRequest cells;
  cells.set_map(kTown);
  EXPECT_FALSE(
      maps.GetCells(
              cells, [](const v1::GetCellsResponse&) { return absl::OkStatus(); }, kNamedTimeout_s)
          .ok());
  EXPECT_THAT(server.TakeCalls(),
              ElementsAre(absl::StrCat("GetMap ", kTown), absl::StrCat("ActivateRevision ", kTown),
                          absl::StrCat("GetCells ", kTown)));

  v1::ScanSetup setup;
  setup.set_map(kTown);
  v1::AlignScanRequest align;
  *align.mutable_setup() = setup;
  EXPECT_FALSE(AlignScan(channel, align, kNamedTimeout_s).ok());
  v1::EstimateInitialPoseRequest search;
  *search.mutable_setup() = setup;
  EXPECT_FALSE(EstimateInitialPose(channel, search, nullptr, kNamedTimeout_s).ok());
  v1::ScoreSetup score;
  *score.mutable_setup() = setup;
  EXPECT_FALSE(ScoreClient::Open(channel, score, kNamedTimeout_s).ok());
  TransactionOptions transaction;
  transaction.begin.set_map(kTown);
  EXPECT_FALSE(MapTransaction::Begin(channel, transaction).ok());
  SessionOptions session;
  *session.open.mutable_setup() = setup;
  EXPECT_FALSE(LocalizationSession::Open(channel, session).ok());
  EXPECT_FALSE(MapWatch(channel, kTown, ReconnectOptions()).Next().ok());
  EXPECT_THAT(
      server.TakeCalls(),
      ElementsAre(absl::StrCat("AlignScan ", kTown), absl::StrCat("EstimateInitialPose ", kTown),
                  absl::StrCat("ScorePoses ", kTown), absl::StrCat("UpdateMapTiles ", kTown),
                  absl::StrCat("AlignScans ", kTown), absl::StrCat("WatchMap ", kTown)));
}

TEST(MapMetadata, IsLeftOutWithoutAMapAndForNamesThatNoMapHas) {
  RefusingServer server;
  const Channel channel = server.channel();
  const MapClient maps(channel);
  EXPECT_FALSE(maps.List(kNamedTimeout_s).ok());
  EXPECT_FALSE(GetServerInfo(channel, kNamedTimeout_s).ok());
  for (const char* name : {"", "a town", "town\n", "town\xc3\xbc"}) {
    EXPECT_FALSE(maps.Get(name, kNamedTimeout_s).ok()) << name;
  }
  EXPECT_THAT(server.TakeCalls(),
              ElementsAre("ListMaps", "GetServerInfo", "GetMap", "GetMap", "GetMap", "GetMap"));
}

}  // namespace
}  // namespace voxloc::client
