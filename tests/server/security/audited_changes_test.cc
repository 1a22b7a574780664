// SPDX-License-Identifier: Apache-2.0
//
// What the audit log tells of changes whose clients go before they have an answer, and of uploads
// that are denied.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/map_calls.h"
#include "tests/server/security/secured_calls.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"
#include "tests/support/forwarding_engine.h"
#include "tests/support/gate.h"

namespace voxloc::server {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::EndsWith;
using testing::HasSubstr;

// Commits wait at the gate, and with them all other work on maps.
class SlowComposer : public ForwardingEngine {
 public:
  explicit SlowComposer(std::shared_ptr<Gate> gate) : gate_(std::move(gate)) {}
  absl::StatusOr<std::shared_ptr<const ResidentMap>> DoCompose(
      absl::Span<const std::shared_ptr<const ResidentTile>> tiles,
      absl::Span<const CellStatistics> statistics, const ResidentMap* previous) override {
    gate_->Pass(tiles.size());
    return ForwardingEngine::DoCompose(tiles, statistics, previous);
  }

 private:
  const std::shared_ptr<Gate> gate_;
};

class AuditedChanges : public testing::Test {
 protected:
  // A transaction whose commit is under way until the gate opens.
  std::unique_ptr<TestUpdate> CommitAtTheGate(const std::string& map) {
    auto update = std::make_unique<TestUpdate>(server_);
    update->Write(BeginRequest(map));
    update->Write(TileRequest("east", TownStrip(0.0, 25.0)));
    EXPECT_TRUE(update->Read().has_begun());
    EXPECT_TRUE(update->Read().has_tile_added());
    gate_->Close();
    const size_t before = gate_->batches().size();
    update->Write(CommitRequest());
    gate_->AwaitBatches(before + 1);
    return update;
  }
  // Begins when the gate has been closed, and is cancelled before it opens.
  void CallAndGo(const std::string& method,
                 const std::function<grpc::Status(grpc::ClientContext&)>& call) {
    const std::string started = absl::StrCat("voxloc_rpc_started_total{method=\"", method, "\"}");
    const double before = MetricsOf(server_)[started];
    const auto context = TestServer::NewContext();
    std::thread client(
        [&] { EXPECT_EQ(call(*context).error_code(), grpc::StatusCode::CANCELLED) << method; });
    EXPECT_TRUE(Eventually([&] { return MetricsOf(server_)[started] > before; })) << started;
    context->TryCancel();
    client.join();
  }
  uint64_t Stage() {
    return RunUpdate(server_, {BeginRequest("town"), TileRequest("west", TownStrip(-25.0, 0.0)),
                               StageRequest({"bus"})})
        .committed.map()
        .revision();
  }

  TestFolder folder_;
  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  TestServer server_{[this](Config& config) {
                       config.audit_log = folder_.Path("audit.log");
                       config.metrics_listen = "127.0.0.1:0";
                     },
                     std::make_unique<SlowComposer>(gate_)};
};

TEST_F(AuditedChanges, ACommitIsToldThoughItsClientGoesWhileItIsUnderWay) {
  server_.LoadTown();
  const auto update = CommitAtTheGate("town");
  update->Cancel();
  EXPECT_EQ(update->Finish().error_code(), grpc::StatusCode::CANCELLED);
  // The call is over and has its line, and the map is as it was.
  auto lines = folder_.AwaitLines("audit.log", 2);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines[1], AllOf(HasSubstr(" method=UpdateMapTiles map=town revision=0 "),
                              HasSubstr("detail=\"to be committed\" code=CANCELLED")));
  EXPECT_EQ(GetMap(server_).revision(), 1U);
  gate_->Open();
  lines = folder_.AwaitLines("audit.log", 3);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_THAT(
      lines[2],
      AllOf(HasSubstr(" method=UpdateMapTiles map=town revision=2 "),
            HasSubstr("detail=\"committed, tiles added 1, replaced 0, removed 0\" code=OK")));
  EXPECT_TRUE(Eventually([&] { return GetMap(server_).revision() == 2U; }));
}

TEST_F(AuditedChanges, ThoseThatWaitAreToldThoughTheirClientsGo) {
  server_.LoadTown();
  server_.LoadTown("city");
  const uint64_t tried = Stage();
  const uint64_t withdrawn = Stage();
  const uint64_t activated = Stage();
  const size_t before = folder_.AwaitLines("audit.log", 5).size();
  const auto update = CommitAtTheGate("harbour");
  CallAndGo("SetCanary", [&](grpc::ClientContext& context) {
    v1::SetCanaryRequest request;
    request.set_map("town");
    request.set_revision(tried);
    request.add_vehicles("tram");
    v1::SetCanaryResponse response;
    return server_.maps->SetCanary(&context, request, &response);
  });
  CallAndGo("WithdrawRevision", [&](grpc::ClientContext& context) {
    v1::WithdrawRevisionRequest request;
    request.set_map("town");
    request.set_revision(withdrawn);
    v1::WithdrawRevisionResponse response;
    return server_.maps->WithdrawRevision(&context, request, &response);
  });
  CallAndGo("ActivateRevision", [&](grpc::ClientContext& context) {
    v1::ActivateRevisionRequest request;
    request.set_map("town");
    request.set_revision(activated);
    v1::ActivateRevisionResponse response;
    return server_.maps->ActivateRevision(&context, request, &response);
  });
  CallAndGo("DeleteMap", [&](grpc::ClientContext& context) {
    v1::DeleteMapRequest request;
    request.set_map("city");
    v1::DeleteMapResponse response;
    return server_.maps->DeleteMap(&context, request, &response);
  });
  EXPECT_EQ(folder_.Lines("audit.log").size(), before);
  gate_->Open();
  const auto lines = folder_.AwaitLines("audit.log", before + 5);
  ASSERT_EQ(lines.size(), before + 5);
  for (const std::string& change :
       {std::string("UpdateMapTiles map=harbour revision=1 "),
        absl::StrCat("SetCanary map=town revision=", tried, " "),
        absl::StrCat("WithdrawRevision map=town revision=", withdrawn, " "),
        absl::StrCat("ActivateRevision map=town revision=", activated, " "),
        std::string("DeleteMap map=city revision=1 ")}) {
    EXPECT_THAT(lines, Contains(AllOf(HasSubstr(" method=" + change), HasSubstr("code=OK"))));
  }
  EXPECT_TRUE(update->Read().has_committed());
  EXPECT_EQ(GetMap(server_).revision(), activated);
}

// A request that is sent again changes nothing, and the log does not say that it did.
TEST_F(AuditedChanges, ARepetitionIsToldAsOne) {
  v1::UpdateMapTilesRequest begin = BeginRequest("town");
  begin.mutable_begin()->set_request_id("r-1");
  for (int i = 0; i < 2; ++i) {
    const UpdateOutcome outcome =
        RunUpdate(server_, {begin, TileRequest("a", TownStrip(0.0, 9.0)), CommitRequest()});
    ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message();
    EXPECT_EQ(outcome.committed.repeated(), i == 1);
  }
  const auto lines = folder_.AwaitLines("audit.log", 2);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines[0], HasSubstr("revision=1 detail=\"committed, "));
  EXPECT_THAT(lines[1], HasSubstr("revision=1 detail=\"nothing changed"));
}

// Its map is in the stream's first message: who may not upload at all, and who may not use the map.
TEST(DeniedUploads, AreToldWithTheNameOfTheirMap) {
  const TestFolder folder;
  TestServer server([&folder](Config& config) {
    config.access_file = folder.Write(
        "access.yaml",
        absl::StrCat("identities:\n  reader:\n    token_sha256: [", HashOf("reader token"),
                     "]\n    roles: [map-read]\n  mapper:\n    token_sha256: [",
                     HashOf("mapper token"), "]\n    roles: [map-write]\n    maps: [port]\n"));
    config.audit_log = folder.Path("audit.log");
  });
  std::vector<std::string> upload;
  for (const v1::UpdateMapTilesRequest& request :
       {BeginRequest("town"), TileRequest("east", TownStrip(0.0, 25.0)), CommitRequest()}) {
    upload.push_back(request.SerializeAsString());
  }
  struct Denial {
    std::string caller;
    std::string reason;
    std::string detail;
  };
  const std::vector<Denial> denials = {{"reader", "ROLE_MISSING", "\"\""},
                                       {"mapper", "MAP_NOT_ALLOWED", "begun"}};
  for (size_t i = 0; i < denials.size(); ++i) {
    const Denial& denial = denials[i];
    const Answer answer =
        CallWithMessages(ChannelTo(server.server()), "/voxloc.v1.MapService/UpdateMapTiles", upload,
                         Bearer(denial.caller + " token"));
    EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_EQ(ReasonOf(answer.status), denial.reason);
    EXPECT_TRUE(answer.messages.empty());
    const auto lines = folder.AwaitLines("audit.log", i + 1);
    ASSERT_EQ(lines.size(), i + 1);
    EXPECT_THAT(lines[i],
                AllOf(HasSubstr(absl::StrCat(" event=audit caller=", denial.caller, " peer=")),
                      EndsWith(absl::StrCat(" method=UpdateMapTiles map=town revision=0 detail=",
                                            denial.detail, " code=PERMISSION_DENIED"))));
  }
}

}  // namespace
}  // namespace voxloc::server
