// SPDX-License-Identifier: Apache-2.0
//
// The history of a map: going back, staging, trying, repeating a request and reusing content.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/server/map_calls.h"
#include "tests/server/rpc/map/revision_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"

namespace voxloc::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

grpc::Status Activate(TestServer& server, uint64_t revision, v1::MapInfo* map = nullptr) {
  v1::ActivateRevisionRequest request;
  request.set_map("town");
  request.set_revision(revision);
  v1::ActivateRevisionResponse response;
  const grpc::Status status =
      server.maps->ActivateRevision(TestServer::NewContext().get(), request, &response);
  if (map != nullptr) *map = response.map();
  return status;
}

grpc::Status SetCanary(TestServer& server, uint64_t revision,
                       const std::vector<std::string>& vehicles) {
  v1::SetCanaryRequest request;
  request.set_map("town");
  request.set_revision(revision);
  for (const std::string& vehicle : vehicles) request.add_vehicles(vehicle);
  v1::SetCanaryResponse response;
  return server.maps->SetCanary(TestServer::NewContext().get(), request, &response);
}

std::vector<std::string> IdsOf(const std::vector<v1::TileInfo>& tiles) {
  std::vector<std::string> ids;
  for (const v1::TileInfo& tile : tiles) ids.push_back(tile.tile_id());
  return ids;
}

v1::UpdateMapTilesRequest FromRevision(uint64_t revision) {
  v1::UpdateMapTilesRequest begin = BeginRequest("town", /*create=*/false);
  begin.mutable_begin()->set_from_revision(revision);
  return begin;
}

class MapRevisions : public ::testing::Test {
 protected:
  MapRevisions() { LoadTwoTiles(server_); }

  TestServer server_{[](Config& config) {
    config.kept_revisions = 3;
    config.limits.max_staged_revisions = 2;
  }};
};

TEST_F(MapRevisions, ARevisionIsListedWithWhatItChanged) {
  v1::UpdateMapTilesRequest commit = CommitRequest();
  commit.mutable_commit()->set_comment("road works");
  const UpdateOutcome outcome = RunUpdate(
      server_, {BeginRequest("town"), TileRequest("mid", TownStrip(-3.0, 3.0)),
                TileRequest("east", TownStrip(1.0, 40.0)), RemoveRequest("west"), commit});
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message();
  const auto revisions = Revisions(server_);
  ASSERT_EQ(revisions.size(), 2u);
  EXPECT_EQ(revisions[0].state(), v1::REVISION_STATE_SUPERSEDED);
  EXPECT_EQ(revisions[0].parent(), 0u);
  EXPECT_EQ(revisions[1].revision(), 2u);
  EXPECT_EQ(revisions[1].parent(), 1u);
  EXPECT_EQ(revisions[1].state(), v1::REVISION_STATE_ACTIVE);
  EXPECT_EQ(revisions[1].comment(), "road works");
  EXPECT_EQ(revisions[1].tiles(), 2u);
  EXPECT_EQ(revisions[1].points(), outcome.committed.map().points());
  EXPECT_EQ(revisions[1].tiles_added(), 1u);
  EXPECT_EQ(revisions[1].tiles_replaced(), 1u);
  EXPECT_EQ(revisions[1].tiles_removed(), 1u);
  EXPECT_GE(revisions[1].activated_at_ns(), revisions[1].committed_at_ns());
  EXPECT_THAT(GetMap(server_).restorable_revisions(), ElementsAre(1));
  EXPECT_FALSE(GetMap(server_).durable());
}

TEST_F(MapRevisions, ANewRevisionCanBeginFromAnEarlierOne) {
  const auto before = Tiles(server_);
  Change(server_, {RemoveRequest("west"), TileRequest("east", TownStrip(1.0, 40.0))});
  EXPECT_THAT(IdsOf(Tiles(server_)), ElementsAre("east"));
  EXPECT_THAT(IdsOf(Tiles(server_, 1)), ElementsAre("east", "west"));

  const UpdateOutcome back = RunUpdate(server_, {FromRevision(1), CommitRequest()});
  ASSERT_TRUE(back.status.ok()) << back.status.error_message();
  EXPECT_EQ(back.committed.map().revision(), 3u);
  const auto after = Tiles(server_);
  ASSERT_EQ(after.size(), before.size());
  for (size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i].tile_id(), before[i].tile_id());
    EXPECT_EQ(after[i].sha256(), before[i].sha256());
    EXPECT_EQ(after[i].crc32c(), before[i].crc32c());
  }
  EXPECT_EQ(RevisionOf(server_, "bus"), 3u);
  // With a change on top.
  const UpdateOutcome changed = RunUpdate(
      server_, {FromRevision(2), TileRequest("new", TownStrip(0.0, 5.0)), CommitRequest()});
  ASSERT_TRUE(changed.status.ok()) << changed.status.error_message();
  EXPECT_THAT(IdsOf(Tiles(server_)), ElementsAre("east", "new"));
}

TEST_F(MapRevisions, OnlySoManyAreKept) {
  for (int i = 0; i < 4; ++i) {
    Change(server_, {TileRequest("east", TownStrip(0.1 * i, 40.0))});
  }
  const auto revisions = Revisions(server_);
  ASSERT_EQ(revisions.size(), 3u);
  EXPECT_EQ(revisions[0].revision(), 3u);
  EXPECT_EQ(revisions[2].revision(), 5u);
  const UpdateOutcome gone = RunUpdate(server_, {FromRevision(1), CommitRequest()});
  EXPECT_EQ(gone.status.error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(MapRevisions, AStagedRevisionIsForItsVehiclesUntilItIsActivated) {
  const UpdateOutcome staged = RunUpdate(
      server_,
      {BeginRequest("town"), TileRequest("mid", TownStrip(-3.0, 3.0)), StageRequest({"van"})});
  ASSERT_TRUE(staged.status.ok()) << staged.status.error_message();
  EXPECT_EQ(staged.committed.map().revision(), 2u);
  EXPECT_EQ(GetMap(server_).revision(), 1u);
  EXPECT_EQ(RevisionOf(server_, "bus"), 1u);
  EXPECT_EQ(RevisionOf(server_, "van"), 2u);
  auto revisions = Revisions(server_);
  EXPECT_EQ(revisions.back().state(), v1::REVISION_STATE_STAGED);
  EXPECT_THAT(revisions.back().canary_vehicles(), ElementsAre("van"));

  EXPECT_TRUE(SetCanary(server_, 2, {"bus", "shuttle"}).ok());
  EXPECT_EQ(RevisionOf(server_, "van"), 1u);
  EXPECT_EQ(RevisionOf(server_, "bus"), 2u);
  EXPECT_EQ(SetCanary(server_, 1, {"bus"}).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(SetCanary(server_, 9, {"bus"}).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(SetCanary(server_, 2, {""}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);

  v1::MapInfo map;
  ASSERT_TRUE(Activate(server_, 2, &map).ok());
  EXPECT_EQ(map.revision(), 2u);
  EXPECT_EQ(map.tiles(), 3u);
  EXPECT_EQ(RevisionOf(server_, "van"), 2u);
  EXPECT_TRUE(Activate(server_, 2).ok());  // again is no fault
  revisions = Revisions(server_);
  EXPECT_EQ(revisions.back().state(), v1::REVISION_STATE_ACTIVE);
  EXPECT_THAT(revisions.back().canary_vehicles(), IsEmpty());
}

TEST_F(MapRevisions, ASessionThatIsOpenGoesOverToWhatItsVehicleTries) {
  TestSession session(server_);
  v1::OpenSession open = TownSession();
  open.mutable_setup()->set_vehicle("van");
  session.Open(open);
  EXPECT_EQ(session.Align(GoodScan(1)).map_revision(), 1u);
  Change(server_, {TileRequest("mid", TownStrip(-3.0, 3.0))}, StageRequest({"van"}));
  EXPECT_EQ(session.Align(GoodScan(2)).map_revision(), 2u);
  // What is listed follows the reply.
  EXPECT_TRUE(Eventually([&] {
    v1::ListSessionsResponse sessions;
    const grpc::Status status = server_.admin->ListSessions(TestServer::NewContext().get(),
                                                            v1::ListSessionsRequest(), &sessions);
    return status.ok() && sessions.sessions_size() == 1 &&
           sessions.sessions(0).map_revision() == 2u;
  }));
  ASSERT_TRUE(Withdraw(server_, 2).ok());
  EXPECT_EQ(session.Align(GoodScan(3)).map_revision(), 1u);
}

TEST_F(MapRevisions, AStagedRevisionWhoseParentIsPastIsNotActivated) {
  Change(server_, {RemoveRequest("west")}, StageRequest());
  Change(server_, {TileRequest("mid", TownStrip(-3.0, 3.0))});
  const grpc::Status status = Activate(server_, 2);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ABORTED) << status.error_message();
  EXPECT_EQ(GetMap(server_).revision(), 3u);
  EXPECT_TRUE(Withdraw(server_, 2).ok());
  EXPECT_TRUE(Withdraw(server_, 2).ok());  // again is no fault
  EXPECT_EQ(Activate(server_, 2).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(Withdraw(server_, 3).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(Activate(server_, 7).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(MapRevisions, StagedRevisionsAreLimited) {
  for (int i = 0; i < 2; ++i) {
    Change(server_, {RemoveRequest("west")}, StageRequest());
  }
  EXPECT_EQ(RunUpdate(server_, {BeginRequest("town"), RemoveRequest("west"), StageRequest()})
                .status.error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  v1::UpdateMapTilesRequest commit = CommitRequest();
  commit.mutable_commit()->add_canary_vehicles("van");
  EXPECT_EQ(RunUpdate(server_, {BeginRequest("town"), commit}).status.error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(MapRevisions, ARequestIsCommittedOnce) {
  v1::UpdateMapTilesRequest begin = BeginRequest("town");
  begin.mutable_begin()->set_request_id("job 17");
  const std::vector<v1::UpdateMapTilesRequest> requests = {
      begin, TileRequest("mid", TownStrip(-3.0, 3.0)), CommitRequest()};
  const UpdateOutcome first = RunUpdate(server_, requests);
  ASSERT_TRUE(first.status.ok()) << first.status.error_message();
  EXPECT_EQ(first.begun.committed_revision(), 0u);
  EXPECT_FALSE(first.committed.repeated());
  EXPECT_EQ(first.committed.map().revision(), 2u);

  const UpdateOutcome again = RunUpdate(server_, {begin, CommitRequest()});
  ASSERT_TRUE(again.status.ok()) << again.status.error_message();
  EXPECT_EQ(again.begun.committed_revision(), 2u);
  EXPECT_TRUE(again.committed.repeated());
  EXPECT_EQ(again.committed.map().revision(), 2u);
  EXPECT_EQ(again.committed.tiles_added(), 1u);
  EXPECT_EQ(GetMap(server_).revision(), 2u);
  EXPECT_EQ(Revisions(server_).back().request_id(), "job 17");
}

TEST_F(MapRevisions, ContentThatIsThereNeedNotBeSentAgain) {
  const auto tiles = Tiles(server_);
  const std::string east = tiles[0].sha256();
  const std::string unknown(32, 'u');
  const UpdateOutcome outcome = RunUpdate(server_, {BeginRequest("copy"), ReuseRequest("e", east),
                                                    ReuseRequest("u", unknown), CommitRequest()});
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message();
  ASSERT_EQ(outcome.added.size(), 1u);
  EXPECT_EQ(outcome.added[0].tile_id(), "e");
  EXPECT_EQ(outcome.added[0].points(), tiles[0].points());
  EXPECT_EQ(outcome.added[0].sha256(), east);
  EXPECT_THAT(outcome.missing, ElementsAre("u"));
  const auto copied = Tiles(server_, 0, "copy");
  ASSERT_EQ(copied.size(), 1u);
  EXPECT_EQ(copied[0].sha256(), east);
  EXPECT_EQ(copied[0].crc32c(), tiles[0].crc32c());
  EXPECT_EQ(
      RunUpdate(server_, {BeginRequest("copy"), ReuseRequest("e", "short")}).status.error_code(),
      grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(MapRevisions, ATransactionThatBrokeOffLeavesItsContent) {
  const PointCloud cloud = TownStrip(-3.0, 3.0);
  std::string digest;
  {
    TestUpdate update(server_);
    update.Write(BeginRequest("other"));
    update.Write(TileRequest("mid", cloud));
    ASSERT_TRUE(update.Read().has_begun());
    digest = update.Read().tile_added().sha256();
    update.Cancel();
    EXPECT_FALSE(update.Finish().ok());
  }
  const UpdateOutcome resumed =
      RunUpdate(server_, {BeginRequest("other"), ReuseRequest("mid", digest), CommitRequest()});
  ASSERT_TRUE(resumed.status.ok()) << resumed.status.error_message();
  EXPECT_THAT(resumed.missing, IsEmpty());
  EXPECT_EQ(resumed.committed.map().points(), cloud.size());
}

}  // namespace
}  // namespace voxloc::server
