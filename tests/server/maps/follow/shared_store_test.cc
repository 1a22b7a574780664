// SPDX-License-Identifier: Apache-2.0
//
// Whole servers on one database of PostgreSQL.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/map_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"
#include "tests/support/postgres_server.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

class SharedStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!PostgresServer::Installed()) GTEST_SKIP() << PostgresServer::kMissing;
    postgres_ = PostgresServer::Shared();
    ASSERT_NE(postgres_, nullptr);
    schema_ = postgres_->NewSchema();
    ASSERT_NE(schema_, "");
    first_ = NewServer();
    second_ = NewServer();
  }

  std::unique_ptr<TestServer> NewServer(const TestServer::Adjust& adjust = {}) const {
    return std::make_unique<TestServer>([&](Config& config) {
      config.store.url = postgres_->Url(schema_);
      config.store.poll_period_s = 0.2;
      config.store.request_timeout_s = 2.0;
      config.store.connect_timeout_s = 1.0;
      if (adjust) adjust(config);
    });
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

TEST_F(SharedStoreTest, AWriterThatComesToALaggingServerIsGivenTheNewestRevision) {
  LoadTwoTiles(*first_);
  ASSERT_TRUE(EventuallyServes(*second_, 1));
  // The other one need not have noticed: each looks before it begins, and before it commits.
  ASSERT_TRUE(Change(*first_, 25.0, /*base=*/1).ok());
  ASSERT_TRUE(Change(*second_, 24.0, /*base=*/2).ok());
  const grpc::Status late = Change(*first_, 23.0, /*base=*/2);
  EXPECT_EQ(late.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_THAT(late.error_message(), HasSubstr("is at revision 3"));
}

TEST_F(SharedStoreTest, StagedRevisionsCanariesActivationsAndDeletionsAreFollowed) {
  LoadTwoTiles(*first_);
  ASSERT_TRUE(RunUpdate(*first_, {BeginRequest("town", false),
                                  TileRequest("east", TownStrip(0.0, 25.0)), StageRequest({"bus"})})
                  .status.ok());
  ASSERT_TRUE(EventuallyServes(*second_, 1));
  ASSERT_TRUE(Eventually([&] { return RevisionOf(*second_, "bus") == 2; }));
  EXPECT_EQ(RevisionOf(*second_, "tram"), 1U);

  v1::ActivateRevisionRequest activate;
  activate.set_map("town");
  activate.set_revision(2);
  v1::ActivateRevisionResponse activated;
  ASSERT_TRUE(
      second_->maps->ActivateRevision(TestServer::NewContext().get(), activate, &activated).ok());
  ASSERT_TRUE(EventuallyServes(*first_, 2));

  v1::DeleteMapRequest remove;
  remove.set_map("town");
  v1::DeleteMapResponse removed;
  ASSERT_TRUE(first_->maps->DeleteMap(TestServer::NewContext().get(), remove, &removed).ok());
  ASSERT_TRUE(Eventually([&] {
    v1::GetMapRequest request;
    request.set_map("town");
    v1::GetMapResponse response;
    return second_->maps->GetMap(TestServer::NewContext().get(), request, &response).error_code() ==
           grpc::StatusCode::NOT_FOUND;
  }));
}

TEST_F(SharedStoreTest, AChangeThatNobodyAnnouncesIsFoundByLooking) {
  LoadTwoTiles(*first_);
  ASSERT_TRUE(EventuallyServes(*second_, 1));
  const auto committed = [](TestServer& server) { return GetMap(server).committed_at_ns(); };
  const int64_t before = committed(*first_);
  // As a restore of a backup leaves it.
  ASSERT_EQ(Sql("UPDATE revisions SET committed_unix_ns = committed_unix_ns + 1; "
                "UPDATE store_state SET generation = generation + 1"),
            "");
  for (TestServer* const server : {first_.get(), second_.get()}) {
    EXPECT_TRUE(Eventually([&] { return committed(*server) == before + 1; }));
  }
}

TEST_F(SharedStoreTest, WithoutTheDatabaseAllIsServedAndNothingWritten) {
  LoadTwoTiles(*first_);
  ASSERT_TRUE(EventuallyServes(*second_, 1));
  TestSession session(*second_);
  session.Open();
  session.Send(GoodScan(1));
  EXPECT_EQ(session.ReadResult().status(), v1::ALIGNMENT_STATUS_OK);
  postgres_->Kill();
  const grpc::Status refused = Change(*first_, 25.0);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE) << refused.error_message();
  EXPECT_THAT(refused.error_message(), HasSubstr("the database"));
  session.Send(GoodScan(2));
  EXPECT_EQ(session.ReadResult().status(), v1::ALIGNMENT_STATUS_OK);
  EXPECT_EQ(RevisionOf(*first_, "bus"), 1U);
  // It goes on by itself.
  ASSERT_TRUE(postgres_->Start());
  ASSERT_TRUE(Eventually([&] { return Change(*first_, 25.0).ok(); }));
  ASSERT_TRUE(EventuallyServes(*second_, 2));
  session.Send(GoodScan(3));
  EXPECT_EQ(session.ReadResult().map_revision(), 2U);
}

TEST_F(SharedStoreTest, ADatabaseThatHangsHoldsUpNoScan) {
  LoadTwoTiles(*first_);
  ASSERT_TRUE(EventuallyServes(*second_, 1));
  TestSession session(*second_);
  session.Open();
  postgres_->Freeze();
  const grpc::Status refused = Change(*first_, 25.0);
  for (uint64_t i = 1; i <= 5; ++i) {
    session.Send(GoodScan(i));
    EXPECT_EQ(session.ReadResult().status(), v1::ALIGNMENT_STATUS_OK);
  }
  postgres_->Thaw();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE) << refused.error_message();
  ASSERT_TRUE(Eventually([&] { return Change(*first_, 25.0).ok(); }));
  ASSERT_TRUE(Eventually([&] { return Serves(*second_) == Serves(*first_); }));
}

TEST_F(SharedStoreTest, AMapThatOneCannotServeIsServedByTheOthers) {
  const std::unique_ptr<TestServer> small =
      NewServer([](Config& config) { config.limits.max_maps = 1; });
  LoadTwoTiles(*first_);
  ASSERT_TRUE(EventuallyServes(*small, 1));
  LoadTwoTiles(*first_, "city");
  ASSERT_TRUE(Eventually([&] { return Serves(*second_, "city") == 1; }));
  EXPECT_EQ(Serves(*small, "city"), 0U);
  EXPECT_EQ(Serves(*small), 1U);
}

TEST_F(SharedStoreTest, EachHasADefaultProfileOfItsOwn) {
  const std::unique_ptr<TestServer> other =
      NewServer([](Config& config) { config.default_profile = "autoware"; });
  LoadTwoTiles(*first_);
  ASSERT_TRUE(EventuallyServes(*other, 1));
  // The map has the cells of both, whoever has built it.
  EXPECT_EQ(RevisionOf(*other, "bus"), 1U);
  EXPECT_EQ(RevisionOf(*first_, "bus"), 1U);
}

TEST_F(SharedStoreTest, AVehicleBeginsWhereItWasOnTheOtherServer) {
  LoadTwoTiles(*first_);
  ASSERT_TRUE(EventuallyServes(*second_, 1));
  EXPECT_EQ(RevisionOf(*first_, "bus"), 1U);  // an accepted scan
  // Poses are saved every few seconds, and when a server ends.
  first_.reset();
  ASSERT_TRUE(Eventually([&] {
    TestSession session(*second_);
    v1::OpenSession open;
    open.mutable_setup()->set_map("town");
    open.mutable_setup()->set_vehicle("bus");
    open.set_from_last_pose(true);
    session.Open(open);
    v1::Scan scan = GoodScan();
    scan.clear_guess_map_t_base();
    session.Send(scan);
    return session.ReadResult().status() == v1::ALIGNMENT_STATUS_OK;
  }));
}

}  // namespace
}  // namespace voxloc::server
