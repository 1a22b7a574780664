// SPDX-License-Identifier: Apache-2.0
//
// Maps that survive the server: what a second server on the same data directory serves.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "tests/server/map_calls.h"
#include "tests/server/rpc/map/map_histories.h"
#include "tests/server/rpc/map/revision_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/engine_test.h"
#include "tests/support/eventually.h"
#include "tests/support/forwarding_engine.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Counts the tiles that are built from points.
class CountingEngine : public ForwardingEngine {
 public:
  CountingEngine(Engine& engine, std::atomic<int>& built)
      : ForwardingEngine(engine), built_(built) {}

  absl::StatusOr<std::shared_ptr<const ResidentTile>> DoBuildTile(
      const PointCloud& cloud_map, absl::Span<const CellStatistics> statistics) override {
    ++built_;
    return ForwardingEngine::DoBuildTile(cloud_map, statistics);
  }

 private:
  std::atomic<int>& built_;
};

class DurableMaps : public EngineTest {
 protected:
  // By default on all engines alike.
  [[nodiscard]] std::unique_ptr<TestServer> Start(const std::string& moments_cache = "on") {
    built_ = 0;
    return std::make_unique<TestServer>(
        [&](Config& config) {
          config.data_dir = directory_.Path("maps");
          config.moments_cache = moments_cache;
        },
        std::make_unique<CountingEngine>(engine(), built_));
  }
  // The pose of a scan, bit by bit, with a canary's name.
  static std::string PoseOf(TestServer& server, const std::string& vehicle = "bus") {
    TestSession session(server);
    v1::OpenSession open = TownSession();
    open.mutable_setup()->set_vehicle(vehicle);
    session.Open(open);
    return session.Align(GoodScan()).map_t_base().SerializeAsString();
  }
  // In the middle of the content of a tile.
  void Damage(const std::string& tile) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(directory_.Path("maps/maps.db").c_str(), &database), SQLITE_OK);
    const std::string sql =
        "UPDATE pieces SET data = CAST(SUBSTR(data, 1, LENGTH(data) / 2) || X'01FE01FE' || "
        "SUBSTR(data, LENGTH(data) / 2 + 5) AS BLOB) WHERE content_id = "
        "(SELECT content_id FROM tiles WHERE tile_id = '" +
        tile + "')";
    ASSERT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    ASSERT_EQ(sqlite3_changes(database), 1);
    ASSERT_EQ(sqlite3_close(database), SQLITE_OK);
  }

  ScratchDir directory_;
  std::atomic<int> built_ = 0;  // tiles, by the server that was started last
};
VOXLOC_INSTANTIATE_ON_ENGINES(DurableMaps);

TEST_P(DurableMaps, ComeBackAsTheyWere) {
  v1::MapInfo before;
  std::vector<v1::TileInfo> tiles;
  std::string pose;
  {
    const auto server = Start();
    LoadTwoTiles(*server);
    Change(*server, {TileRequest("mid", TownStrip(-3.0, 3.0)), RemoveRequest("west")});
    before = GetMap(*server);
    EXPECT_TRUE(before.durable());
    tiles = Tiles(*server);
    pose = PoseOf(*server);
  }
  const auto server = Start();
  AwaitTown(*server);
  v1::MapInfo after = GetMap(*server);
  // The memory that a map takes is not the map.
  after.set_memory_bytes(before.memory_bytes());
  EXPECT_EQ(after.SerializeAsString(), before.SerializeAsString());
  auto tiles_after = Tiles(*server);
  ASSERT_EQ(tiles_after.size(), tiles.size());
  for (size_t i = 0; i < tiles.size(); ++i) {
    tiles_after[i].clear_fit();  // what the scan showed of it, which came after the list
    EXPECT_EQ(tiles_after[i].SerializeAsString(), tiles[i].SerializeAsString());
  }
  EXPECT_EQ(PoseOf(*server), pose);
  EXPECT_THAT(GetMap(*server).restorable_revisions(), ElementsAre(1));
  EXPECT_EQ(Revisions(*server).size(), 2u);
}

TEST_P(DurableMaps, StagedRevisionsComeBackForTheirVehicles) {
  {
    const auto server = Start();
    LoadTwoTiles(*server);
    Change(*server, {TileRequest("mid", TownStrip(-3.0, 3.0))}, StageRequest({"van"}));
  }
  const auto server = Start();
  AwaitTown(*server);
  EXPECT_EQ(RevisionOf(*server, "bus"), 1u);
  // The active revision is there before the staged ones.
  EXPECT_TRUE(Eventually([&] { return RevisionOf(*server, "van") == 2u; }));
}

TEST_P(DurableMaps, DeletedMapsStayDeletedAndRequestsStayCommitted) {
  v1::UpdateMapTilesRequest begin = BeginRequest("town");
  begin.mutable_begin()->set_request_id("first");
  {
    const auto server = Start();
    LoadTwoTiles(*server, "port");
    Change(*server, {TileRequest("all", SmallTown())}, CommitRequest(), begin);
    ASSERT_TRUE(DeleteMap(*server, "port").ok());
  }
  const auto server = Start();
  AwaitTown(*server);
  v1::ListMapsResponse maps;
  ASSERT_TRUE(
      server->maps->ListMaps(TestServer::NewContext().get(), v1::ListMapsRequest(), &maps).ok());
  EXPECT_EQ(maps.maps_size(), 1);
  EXPECT_TRUE(RunUpdate(*server, {begin, CommitRequest()}).committed.repeated());
}

TEST_P(DurableMaps, AreLoadedFromMomentsToTheBit) {
  std::string pose;
  {
    const auto server = Start();
    LoadTwoTiles(*server);
    pose = PoseOf(*server);
    EXPECT_EQ(built_, 2);
  }
  for (const int times : {1, 2}) {
    const auto server = Start();
    AwaitTown(*server);
    EXPECT_EQ(PoseOf(*server), pose) << times;
    EXPECT_EQ(built_, 0) << times;
  }
  {
    const auto server = Start("off");
    AwaitTown(*server);
    EXPECT_EQ(PoseOf(*server), pose);
    EXPECT_EQ(built_, 2);
  }
}

TEST_P(DurableMaps, ContentThatIsSentOrReusedAgainIsNotBuiltAgain) {
  std::vector<v1::TileInfo> tiles;
  const auto server = Start();
  LoadTwoTiles(*server);
  tiles = Tiles(*server);
  ASSERT_EQ(built_, 2);
  // The cache is written behind.
  EXPECT_TRUE(Eventually([&] {
    const int before = built_;
    EXPECT_TRUE(RunUpdate(*server, {BeginRequest("other"), TileRequest("a", TownStrip(0.0, 40.0)),
                                    CommitRequest()})
                    .status.ok());
    return built_ == before;
  }));
  const int before = built_;
  const UpdateOutcome reused = RunUpdate(
      *server, {BeginRequest("third"), ReuseRequest("b", tiles[0].sha256()), CommitRequest()});
  ASSERT_TRUE(reused.status.ok()) << reused.status.error_message();
  EXPECT_THAT(reused.missing, IsEmpty());
  EXPECT_EQ(built_, before);
}

TEST_P(DurableMaps, DamagedContentIsServedFromMomentsAndReportedWhenItIsRead) {
  std::string pose;
  {
    const auto server = Start();
    LoadTwoTiles(*server);
    pose = PoseOf(*server);
  }
  Damage("east");
  const auto server = Start();
  AwaitTown(*server);
  EXPECT_EQ(PoseOf(*server), pose);
  v1::GetTilesRequest request;
  request.set_map("town");
  request.add_tile_ids("east");
  const grpc::Status status = Download(*server, request).status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DATA_LOSS);
  EXPECT_THAT(status.error_message(), HasSubstr("east"));
  EXPECT_EQ(PoseOf(*server), pose);
}

TEST_P(DurableMaps, ADamagedTileIsLeftOutUntilItIsSentAgain) {
  std::vector<v1::TileInfo> tiles;
  std::string pose;
  {
    const auto server = Start("off");
    LoadTwoTiles(*server);
    tiles = Tiles(*server);
    pose = PoseOf(*server);
  }
  Damage("east");
  {
    const auto server = Start("off");
    AwaitTown(*server);
    // It is a tile of the map all the same.
    const auto listed = Tiles(*server);
    ASSERT_EQ(listed.size(), 2u);
    EXPECT_EQ(listed[0].sha256(), tiles[0].sha256());
    v1::GetTilesRequest request;
    request.set_map("town");
    request.add_tile_ids("west");
    EXPECT_TRUE(Download(*server, request).status.ok());
    request.add_tile_ids("east");
    const grpc::Status status = Download(*server, request).status;
    EXPECT_EQ(status.error_code(), grpc::StatusCode::DATA_LOSS);
    EXPECT_THAT(status.error_message(), HasSubstr("east"));
    EXPECT_NE(PoseOf(*server), pose);

    const UpdateOutcome again =
        RunUpdate(*server, {BeginRequest("town"), ReuseRequest("east", tiles[0].sha256()),
                            TileRequest("east", TownStrip(0.0, 40.0)), CommitRequest()});
    ASSERT_TRUE(again.status.ok()) << again.status.error_message();
    EXPECT_THAT(again.missing, ElementsAre("east"));
    EXPECT_EQ(PoseOf(*server), pose);
  }
  const auto server = Start("off");
  AwaitTown(*server);
  EXPECT_EQ(PoseOf(*server), pose);
}

TEST_P(DurableMaps, AMapThatWasWithdrawnWholeIsGoneAndMayBeginAnew) {
  {
    const auto server = Start();
    Change(*server, {TileRequest("a", TownStrip(0.0, 10.0))}, StageRequest());
    ASSERT_TRUE(Withdraw(*server, 1).ok());
  }
  const auto server = Start();
  EXPECT_TRUE(
      Eventually([&] { return ServerInfoOf(*server).state() == v1::SERVER_STATE_SERVING; }));
  EXPECT_EQ(ServerInfoOf(*server).maps(), 0U);
  EXPECT_EQ(DeleteMap(*server, "town").error_code(), grpc::StatusCode::NOT_FOUND);
  server->LoadTown();
  EXPECT_EQ(GetMap(*server).revision(), 2U);
}

TEST(MapHistories, AnyIsWhatANewServerHasOnceItIsReady) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const ScratchDir directory;
    MapHistory history(seed, [&directory] {
      return std::make_unique<TestServer>(
          [&](Config& config) { config.data_dir = directory.Path("maps"); });
    });
    for (int i = 0; i < 8; ++i) {
      history.Step();
      ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed << ": " << history.log();
    }
  }
}

}  // namespace
}  // namespace voxloc::server
