// SPDX-License-Identifier: Apache-2.0
//
// Whole servers on one database of PostgreSQL.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/engine/cpu/cpu_engine.h"
#include "tests/server/map_calls.h"
#include "tests/server/plain_calls.h"
#include "tests/server/rpc/map/map_histories.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"
#include "tests/support/postgres_server.h"

namespace voxloc::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class SharedStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!PostgresServer::Installed()) GTEST_SKIP() << PostgresServer::kMissingReason;
    postgres_ = PostgresServer::Shared();
    ASSERT_NE(postgres_, nullptr);
    schema_ = postgres_->NewSchema();
    ASSERT_NE(schema_, "");
    first_ = NewServer();
    second_ = NewServer();
  }

  void Share(Config& config) const {
    config.store.url = postgres_->Url(schema_);
    config.store.poll_period_s = 0.2;
    config.store.request_timeout_s = absl::ToDoubleSeconds(kTestTimeout);
    config.store.connect_timeout_s = absl::ToDoubleSeconds(kTestTimeout);
    config.metrics_listen = "127.0.0.1:0";
  }
  std::unique_ptr<TestServer> NewServer(const TestServer::Adjust& adjust = {}) const {
    return std::make_unique<TestServer>([&](Config& config) {
      Share(config);
      if (adjust) adjust(config);
    });
  }
  // Why a server that would share the database now does not start.
  absl::Status StartAnother() const {
    CommandLine command_line;
    Share(command_line.config);
    command_line.config.listen = "127.0.0.1:0";
    EngineChoice choice;
    choice.engine = MakeCpuEngine({1});
    return Server::Start(command_line, std::move(choice)).status();
  }
  // What its probes say, and whether it says that its database answers.
  static bool IsReady(TestServer& server) {
    const auto page = [&](const char* path) {
      return HttpGet(server.server().metrics_address(), path);
    };
    return absl::StartsWith(page("/readyz"), "HTTP/1.1 200") &&
           absl::StartsWith(page("/livez"), "HTTP/1.1 200") &&
           absl::StartsWith(page("/readyz/maps/town"), "HTTP/1.1 200");
  }
  static bool IsConnected(TestServer& server) {
    return MetricsOf(server).at("voxloc_store_connected") == 1.0;
  }
  // The profile in effect of a session that names this one, or none, and where its scan was found.
  static std::pair<std::string, std::string> Align(TestServer& server, const std::string& profile) {
    TestSession session(server);
    v1::OpenSession open = TownSession();
    open.mutable_setup()->mutable_options()->set_profile(profile);
    session.Open(open);
    const v1::AlignmentResult result = session.Align(GoodScan());
    EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_OK) << result.detail();
    return {session.opened().profile().name(), result.map_t_base().pose().SerializeAsString()};
  }
  // 0: there is no such map, or it cannot be used yet.
  static uint64_t Serves(TestServer& server, const std::string& map = "town") {
    v1::GetMapRequest request;
    request.set_map(map);
    v1::GetMapResponse response;
    const auto context = TestServer::NewContext();
    return server.maps->GetMap(context.get(), request, &response).ok() ? response.map().revision()
                                                                       : 0;
  }
  static bool EventuallyServes(TestServer& server, uint64_t revision) {
    return Eventually([&] { return Serves(server) == revision; });
  }
  // A change of one tile of the town; the status of its commit.
  static grpc::Status Change(TestServer& server, double max, uint64_t base = 0) {
    v1::UpdateMapTilesRequest begin = BeginRequest("town", /*create=*/false);
    begin.mutable_begin()->set_base_revision(base);
    return RunUpdate(server, {begin, TileRequest("east", TownStrip(0.0, max)), CommitRequest()})
        .status;
  }
  std::string Sql(const std::string& statement) const {
    return postgres_->Sql(absl::StrCat("SET search_path = ", schema_, "; ", statement));
  }

  PostgresServer* postgres_ = nullptr;
  std::string schema_;
  std::unique_ptr<TestServer> first_;
  std::unique_ptr<TestServer> second_;
};

TEST_F(SharedStoreTest, AllServeWhatIsCommittedThroughAnyOfThem) {
  LoadTwoTiles(*first_);
  ASSERT_TRUE(EventuallyServes(*second_, 1));
  EXPECT_EQ(RevisionOf(*second_, "bus"), 1U);
  ASSERT_TRUE(Change(*second_, 25.0).ok());
  EXPECT_EQ(Serves(*second_), 2U);
  ASSERT_TRUE(EventuallyServes(*first_, 2));
  // Tile by tile, and aligned with.
  const std::vector<v1::TileInfo> here = Tiles(*first_);
  const std::vector<v1::TileInfo> there = Tiles(*second_);
  ASSERT_EQ(here.size(), there.size());
  for (size_t i = 0; i < here.size(); ++i) {
    EXPECT_EQ(here[i].tile_id(), there[i].tile_id());
    EXPECT_EQ(here[i].sha256(), there[i].sha256());
    EXPECT_EQ(here[i].revision(), there[i].revision());
  }
  EXPECT_EQ(RevisionOf(*first_, "bus"), 2U);
  // One that starts later.
  const std::unique_ptr<TestServer> third = NewServer();
  ASSERT_TRUE(EventuallyServes(*third, 2));
}

TEST_F(SharedStoreTest, OnDemandAServerFollowsAMapWithoutItsPointsUntilItNeedsThem) {
  const auto third = NewServer([](Config& config) { config.residency.idle_timeout_s = 3600.0; });
  LoadTwoTiles(*first_);
  ASSERT_TRUE(EventuallyServes(*second_, 1));
  ASSERT_TRUE(EventuallyServes(*third, 1));
  ASSERT_TRUE(Change(*second_, 25.0).ok());
  ASSERT_TRUE(EventuallyServes(*third, 2));
  EXPECT_EQ(GetMap(*third).resident_tiles(), 0U);
  TestSession session(*third, TownSession());
  EXPECT_TRUE(Eventually([&] { return GetMap(*third).resident_tiles() == 2U; }));
  ASSERT_TRUE(Change(*second_, 20.0).ok());
  ASSERT_TRUE(EventuallyServes(*third, 3));
  EXPECT_EQ(GetMap(*third).resident_tiles(), 2U);
  EXPECT_TRUE(session.Align(GoodScan()).accepted());
}

TEST_F(SharedStoreTest, WithoutTheDatabaseAllIsServedAndNothingWritten) {
  LoadTwoTiles(*first_);
  ASSERT_TRUE(EventuallyServes(*second_, 1));
  TestSession session(*second_);
  session.Open();
  EXPECT_EQ(session.Align(GoodScan(1)).status(), v1::ALIGNMENT_STATUS_OK);
  postgres_->Kill();
  const grpc::Status refused = Change(*first_, 25.0);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE) << refused.error_message();
  EXPECT_THAT(refused.error_message(), HasSubstr("the database"));
  // They say so, and stay ready: a proxy or a cluster goes on sending vehicles.
  for (TestServer* const server : {first_.get(), second_.get()}) {
    EXPECT_TRUE(Eventually([&] { return !IsConnected(*server); }));
    EXPECT_TRUE(IsReady(*server));
  }
  const absl::Status other = StartAnother();
  EXPECT_EQ(other.code(), absl::StatusCode::kUnavailable) << other;
  EXPECT_THAT(other.message(), HasSubstr("store.url: the database cannot be connected to"));
  EXPECT_EQ(session.Align(GoodScan(2)).status(), v1::ALIGNMENT_STATUS_OK);
  EXPECT_EQ(RevisionOf(*first_, "bus"), 1U);
  // What is served is told, and what only the database has is not.
  EXPECT_EQ(Serves(*second_), 1U);
  EXPECT_EQ(Tiles(*second_).size(), 2U);
  v1::GetTilesRequest points;
  points.set_map("town");
  EXPECT_EQ(Download(*second_, points).status.error_code(), grpc::StatusCode::UNAVAILABLE);
  v1::ListRevisionsRequest history;
  history.set_map("town");
  v1::ListRevisionsResponse revisions;
  EXPECT_EQ(second_->maps->ListRevisions(TestServer::NewContext().get(), history, &revisions)
                .error_code(),
            grpc::StatusCode::UNAVAILABLE);
  // It goes on by itself.
  ASSERT_TRUE(postgres_->Start());
  ASSERT_TRUE(Eventually([&] { return Change(*first_, 25.0).ok(); }));
  ASSERT_TRUE(EventuallyServes(*second_, 2));
  EXPECT_TRUE(Eventually([&] { return IsConnected(*second_) && IsReady(*second_); }));
  EXPECT_EQ(session.Align(GoodScan(3)).map_revision(), 2U);
}

TEST_F(SharedStoreTest, WithTablesOfANewerVersionItServesAndFollowsAndWritesNothing) {
  LoadTwoTiles(*first_);
  ASSERT_TRUE(EventuallyServes(*second_, 1));
  const int64_t before = GetMap(*second_).committed_at_ns();
  // As a newer server leaves it that has started, and then commits.
  ASSERT_EQ(Sql("UPDATE store_state SET version = 99"), "");
  const grpc::Status refused = Change(*first_, 25.0);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), AllOf(HasSubstr("version 99"), HasSubstr("up to ")));
  ASSERT_EQ(Sql("UPDATE revisions SET committed_unix_ns = committed_unix_ns + 1; "
                "UPDATE store_state SET generation = generation + 1"),
            "");
  EXPECT_TRUE(Eventually([&] { return GetMap(*second_).committed_at_ns() == before + 1; }));
  EXPECT_EQ(RevisionOf(*second_, "bus"), 1U);
  EXPECT_TRUE(IsReady(*second_));
  const absl::Status other = StartAnother();
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition) << other;
  EXPECT_THAT(other.message(), AllOf(HasSubstr("store.url: "), HasSubstr("newer version")));
}

TEST_F(SharedStoreTest, ADatabaseThatHangsHoldsUpNoScan) {
  // The others' requests succeed on a busy machine, too.
  const std::unique_ptr<TestServer> impatient = NewServer([](Config& config) {
    config.store.request_timeout_s = 5.0;
    config.store.connect_timeout_s = 5.0;
  });
  LoadTwoTiles(*first_);
  ASSERT_TRUE(EventuallyServes(*impatient, 1));
  ASSERT_TRUE(EventuallyServes(*second_, 1));
  TestSession session(*second_);
  session.Open();
  postgres_->Freeze();
  const grpc::Status refused = Change(*impatient, 25.0);
  for (uint64_t i = 1; i <= 5; ++i) {
    EXPECT_EQ(session.Align(GoodScan(i)).status(), v1::ALIGNMENT_STATUS_OK);
  }
  postgres_->Thaw();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE) << refused.error_message();
  ASSERT_TRUE(Eventually([&] { return Change(*first_, 25.0).ok(); }));
  ASSERT_TRUE(Eventually([&] { return Serves(*second_) == Serves(*first_); }));
}

TEST_F(SharedStoreTest, EachHasADefaultProfileOfItsOwn) {
  const std::unique_ptr<TestServer> other =
      NewServer([](Config& config) { config.default_profile = "autoware"; });
  LoadTwoTiles(*first_);
  ASSERT_TRUE(EventuallyServes(*other, 1));
  const auto precise = Align(*first_, "");
  const auto autoware = Align(*other, "");
  EXPECT_EQ(precise.first, "precise");
  EXPECT_EQ(autoware.first, "autoware");
  EXPECT_NE(precise.second, autoware.second);
  // The map has the cells of both, whoever has built it: a session that names its profile gets the
  // same pose, bit by bit, wherever it is.
  EXPECT_EQ(Align(*other, "precise"), precise);
  EXPECT_EQ(Align(*first_, "autoware"), autoware);
}

TEST_F(SharedStoreTest, AVehicleBeginsWhereItWasOnTheOtherServer) {
  LoadTwoTiles(*first_);
  ASSERT_TRUE(EventuallyServes(*second_, 1));
  EXPECT_EQ(RevisionOf(*first_, "bus"), 1U);  // an accepted scan
  // Poses are saved every few seconds, and when a server ends.
  first_.reset();
  ASSERT_TRUE(Eventually([&] {
    TestSession session(*second_);
    v1::OpenSession open = TownSession();
    open.mutable_setup()->set_vehicle("bus");
    open.set_from_last_pose(true);
    session.Open(open);
    v1::Scan scan = GoodScan();
    scan.clear_guess_map_t_base();
    return session.Align(scan).status() == v1::ALIGNMENT_STATUS_OK;
  }));
}

TEST_F(SharedStoreTest, AnyHistoryIsWhatANewServerHasOnceItIsReady) {
  first_.reset();
  second_.reset();
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    schema_ = postgres_->NewSchema();
    MapHistory history(seed, [this] { return NewServer(); });
    for (int i = 0; i < 8; ++i) {
      history.Step();
      ASSERT_FALSE(HasFailure()) << "seed " << seed << ": " << history.log();
    }
  }
}

TEST_F(SharedStoreTest, AMapThatWasWithdrawnWholeIsGoneFromAllServers) {
  ASSERT_TRUE(RunUpdate(*first_, {BeginRequest("town"), TileRequest("a", TownStrip(0.0, 10.0)),
                                  StageRequest()})
                  .status.ok());
  ASSERT_TRUE(Eventually([&] { return ServerInfoOf(*second_).maps() == 1U; }));
  v1::WithdrawRevisionRequest request;
  request.set_map("town");
  request.set_revision(1);
  v1::WithdrawRevisionResponse response;
  ASSERT_TRUE(
      first_->maps->WithdrawRevision(TestServer::NewContext().get(), request, &response).ok());
  EXPECT_TRUE(Eventually([&] { return ServerInfoOf(*second_).maps() == 0U; }));
  const std::unique_ptr<TestServer> third = NewServer();
  EXPECT_TRUE(Eventually([&] { return ServerInfoOf(*third).state() == v1::SERVER_STATE_SERVING; }));
  third->LoadTown();
  EXPECT_TRUE(EventuallyServes(*first_, 2));
}

}  // namespace
}  // namespace voxloc::server
