// SPDX-License-Identifier: Apache-2.0
//
// Maps that survive the server: what a second server on the same data directory serves.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/server/rpc/map/map_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/engine_test.h"
#include "tests/support/eventually.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DurableMaps : public EngineTest {
 protected:
  [[nodiscard]] std::unique_ptr<TestServer> Start() {
    return std::make_unique<TestServer>(
        [this](Config& config) { config.data_dir = directory_.Path("maps"); }, EngineHandle());
  }

  // Waits for the map to be loaded.
  static void AwaitMap(TestServer& server, const std::string& map = "town") {
    ASSERT_TRUE(Eventually([&] {
      v1::GetMapRequest request;
      request.set_map(map);
      v1::GetMapResponse response;
      const grpc::Status status =
          server.maps->GetMap(TestServer::NewContext().get(), request, &response);
      return status.error_code() != grpc::StatusCode::UNAVAILABLE;
    })) << "the map was not loaded";
  }

  // The pose of a scan, bit by bit, with a canary's name.
  static std::string PoseOf(TestServer& server, const std::string& vehicle = "bus") {
    TestSession session(server);
    v1::OpenSession open;
    open.mutable_setup()->set_map("town");
    open.mutable_setup()->set_vehicle(vehicle);
    session.Open(open);
    session.Send(GoodScan());
    return session.ReadResult().map_t_base().SerializeAsString();
  }

  ScratchDir directory_;
};
VOXLOC_INSTANTIATE_ON_ENGINES(DurableMaps);

TEST_P(DurableMaps, ComeBackAsTheyWere) {
  v1::MapInfo before;
  std::vector<v1::TileInfo> tiles;
  std::string pose;
  {
    const auto server = Start();
    LoadTwoTiles(*server);
    ASSERT_TRUE(RunUpdate(*server, {BeginRequest("town"), TileRequest("mid", TownStrip(-3.0, 3.0)),
                                    RemoveRequest("west"), CommitRequest()})
                    .status.ok());
    before = GetMap(*server);
    EXPECT_TRUE(before.durable());
    tiles = Tiles(*server);
    pose = PoseOf(*server);
  }
  const auto server = Start();
  AwaitMap(*server);
  v1::MapInfo after = GetMap(*server);
  // The memory that a map takes is not the map.
  after.set_memory_bytes(before.memory_bytes());
  EXPECT_EQ(after.SerializeAsString(), before.SerializeAsString());
  const auto tiles_after = Tiles(*server);
  ASSERT_EQ(tiles_after.size(), tiles.size());
  for (size_t i = 0; i < tiles.size(); ++i) {
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
    ASSERT_TRUE(RunUpdate(*server, {BeginRequest("town"), TileRequest("mid", TownStrip(-3.0, 3.0)),
                                    StageRequest({"van"})})
                    .status.ok());
  }
  const auto server = Start();
  AwaitMap(*server);
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
    ASSERT_TRUE(
        RunUpdate(*server, {begin, TileRequest("all", SmallTown()), CommitRequest()}).status.ok());
    v1::DeleteMapRequest request;
    request.set_map("port");
    v1::DeleteMapResponse response;
    ASSERT_TRUE(server->maps->DeleteMap(TestServer::NewContext().get(), request, &response).ok());
  }
  const auto server = Start();
  AwaitMap(*server);
  v1::ListMapsResponse maps;
  ASSERT_TRUE(
      server->maps->ListMaps(TestServer::NewContext().get(), v1::ListMapsRequest(), &maps).ok());
  EXPECT_EQ(maps.maps_size(), 1);
  EXPECT_TRUE(RunUpdate(*server, {begin, CommitRequest()}).committed.repeated());
}

TEST_P(DurableMaps, LastPosesComeBack) {
  std::string pose;
  {
    const auto server = Start();
    LoadTwoTiles(*server);
    pose = PoseOf(*server);
  }
  const auto server = Start();
  AwaitMap(*server);
  TestSession session(*server);
  v1::OpenSession open;
  open.mutable_setup()->set_map("town");
  open.mutable_setup()->set_vehicle("bus");
  open.set_from_last_pose(true);
  session.Open(open);
  v1::PoseWithCovariance expected;
  ASSERT_TRUE(expected.ParseFromString(pose));
  EXPECT_EQ(session.opened().last_pose().map_t_base().SerializeAsString(),
            expected.pose().SerializeAsString());
}

TEST_P(DurableMaps, OneServerHasADirectory) {
  const auto server = Start();
  CommandLine command_line;
  command_line.config.listen = "127.0.0.1:0";
  command_line.config.metrics_listen = "off";
  command_line.config.data_dir = directory_.Path("maps");
  const auto second = Server::Start(command_line, EngineChoice{EngineHandle(), {}, ""});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists) << second.status();
}

}  // namespace
}  // namespace voxloc::server
