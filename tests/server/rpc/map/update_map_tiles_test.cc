// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "core/checksum/crc32c.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/engine_test.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

// The town's points with x in [min, max).
PointCloud Strip(double min, double max) {
  const PointCloud town = SmallTown();
  PointCloud strip;
  for (size_t i = 0; i < town.size(); ++i) {
    if (town.x[i] >= min && town.x[i] < max) strip.PushBack(town.x[i], town.y[i], town.z[i]);
  }
  return strip;
}

class UpdateMapTiles : public EngineTest {
 protected:
  grpc::StatusCode GetMap(const std::string& map, v1::MapInfo* info) const {
    v1::GetMapRequest request;
    request.set_map(map);
    v1::GetMapResponse response;
    const grpc::Status status =
        server_.maps->GetMap(TestServer::NewContext().get(), request, &response);
    *info = response.map();
    return status.error_code();
  }

  // Revision 1 of "town": tiles a, b and c from west to east.
  void WriteThreeTiles() {
    TestUpdate update(server_);
    update.Write(BeginRequest("town"));
    update.Write(TileRequest("a", Strip(-40.0, -10.0)));
    update.Write(TileRequest("b", Strip(-10.0, 10.0)));
    update.Write(TileRequest("c", Strip(10.0, 40.0)));
    update.Write(CommitRequest());
    for (int i = 0; i < 4; ++i) EXPECT_FALSE(update.Read().has_committed());
    EXPECT_TRUE(update.Read().has_committed());
    EXPECT_TRUE(update.Finish().ok());
  }

  // Sends the messages and expects the stream to end with this code, and the map to stay as it was.
  grpc::Status Fails(const std::vector<v1::UpdateMapTilesRequest>& requests) {
    v1::MapInfo before;
    const grpc::StatusCode code_before = GetMap("town", &before);
    TestUpdate update(server_);
    for (const auto& request : requests) update.Write(request);
    while (update.Read().response_case() != v1::UpdateMapTilesResponse::RESPONSE_NOT_SET) {
    }
    const grpc::Status status = update.Finish();
    v1::MapInfo after;
    EXPECT_EQ(GetMap("town", &after), code_before);
    EXPECT_EQ(after.SerializeAsString(), before.SerializeAsString());
    return status;
  }

  TestServer server_{[](Config& config) {
                       config.limits.max_maps = 2;
                       config.limits.max_tiles_per_map = 4;
                       config.limits.max_points_per_tile = 100'000;
                       config.limits.max_points_per_map = 150'000;
                       config.limits.max_map_extent_m = 1000.0;
                       config.limits.max_chunk_bytes = 2'000'000;
                       config.limits.max_map_transactions = 2;
                     },
                     EngineHandle()};
};
VOXLOC_INSTANTIATE_ON_ENGINES(UpdateMapTiles);

TEST_P(UpdateMapTiles, CreatesAMapWithTheCommitAndNotBefore) {
  TestUpdate update(server_);
  update.Write(BeginRequest("town"));
  const v1::UpdateMapTilesResponse begun = update.Read();
  ASSERT_TRUE(begun.has_begun());
  EXPECT_EQ(begun.begun().base_revision(), 0);
  EXPECT_EQ(begun.begun().options().profiles_size(), 2);
  EXPECT_EQ(begun.begun().max_chunk_bytes(), 2'000'000);
  const PointCloud west = Strip(-40.0, 0.0);
  const PointCloud east = Strip(0.0, 40.0);
  update.Write(TileRequest("west", west));
  const v1::UpdateMapTilesResponse added = update.Read();
  ASSERT_TRUE(added.has_tile_added());
  EXPECT_EQ(added.tile_added().tile_id(), "west");
  EXPECT_EQ(added.tile_added().points(), west.size());
  EXPECT_GT(added.tile_added().cells(), 100);
  EXPECT_FALSE(added.tile_added().replaces());
  v1::MapInfo info;
  EXPECT_EQ(GetMap("town", &info), grpc::StatusCode::NOT_FOUND);
  update.Write(TileRequest("east", east));
  EXPECT_TRUE(update.Read().has_tile_added());
  update.Write(CommitRequest());
  const v1::UpdateMapTilesResponse committed = update.Read();
  ASSERT_TRUE(committed.has_committed());
  EXPECT_EQ(committed.committed().tiles_added(), 2);
  EXPECT_EQ(committed.committed().tiles_replaced(), 0);
  EXPECT_TRUE(update.Finish().ok());
  ASSERT_EQ(GetMap("town", &info), grpc::StatusCode::OK);
  EXPECT_EQ(info.SerializeAsString(), committed.committed().map().SerializeAsString());
  EXPECT_EQ(info.revision(), 1);
  EXPECT_EQ(info.tiles(), 2);
  EXPECT_EQ(info.points(), west.size() + east.size());
  EXPECT_NEAR(info.bounds().min().x(), -30.1, 0.2);
  EXPECT_GT(info.cells_size(), 0);
  EXPECT_GT(info.cells(0).cells(), 100);
  EXPECT_GT(info.memory_bytes(), 0);
}

TEST_P(UpdateMapTiles, ReplacesRemovesAndClears) {
  WriteThreeTiles();
  {
    TestUpdate update(server_);
    update.Write(BeginRequest("town", false));
    EXPECT_EQ(update.Read().begun().base_revision(), 1);
    update.Write(TileRequest("b", Strip(-10.0, 0.0)));
    EXPECT_TRUE(update.Read().tile_added().replaces());
    update.Write(RemoveRequest("c"));
    EXPECT_TRUE(update.Read().tile_removed().existed());
    update.Write(RemoveRequest("never"));
    EXPECT_FALSE(update.Read().tile_removed().existed());
    update.Write(CommitRequest());
    const v1::UpdateCommitted committed = update.Read().committed();
    EXPECT_EQ(committed.map().revision(), 2);
    EXPECT_EQ(committed.map().tiles(), 2);
    EXPECT_EQ(committed.tiles_replaced(), 1);
    EXPECT_EQ(committed.tiles_removed(), 1);
    EXPECT_TRUE(update.Finish().ok());
  }
  v1::ListTilesRequest list;
  list.set_map("town");
  v1::ListTilesResponse tiles;
  ASSERT_TRUE(server_.maps->ListTiles(TestServer::NewContext().get(), list, &tiles).ok());
  ASSERT_EQ(tiles.tiles_size(), 2);
  EXPECT_EQ(tiles.map_revision(), 2);
  EXPECT_EQ(tiles.tiles(0).tile_id(), "a");
  EXPECT_EQ(tiles.tiles(0).revision(), 1);
  EXPECT_EQ(tiles.tiles(1).tile_id(), "b");
  EXPECT_EQ(tiles.tiles(1).revision(), 2);
  EXPECT_EQ(tiles.tiles(0).crc32c(), TileRequest("a", Strip(-40.0, -10.0)).chunk().crc32c());
  {
    TestUpdate update(server_);
    v1::UpdateMapTilesRequest begin = BeginRequest("town", false);
    begin.mutable_begin()->set_clear(true);
    update.Write(begin);
    EXPECT_TRUE(update.Read().has_begun());
    update.Write(TileRequest("d", Strip(-40.0, 40.0)));
    EXPECT_FALSE(update.Read().tile_added().replaces());
    update.Write(CommitRequest());
    const v1::UpdateCommitted committed = update.Read().committed();
    EXPECT_EQ(committed.map().tiles(), 1);
    EXPECT_EQ(committed.tiles_added(), 1);
    EXPECT_EQ(committed.tiles_removed(), 2);
  }
}

TEST_P(UpdateMapTiles, ListsTilesPageByPageAndByRegion) {
  WriteThreeTiles();
  v1::ListTilesRequest request;
  request.set_map("town");
  request.set_page_size(2);
  v1::ListTilesResponse page;
  ASSERT_TRUE(server_.maps->ListTiles(TestServer::NewContext().get(), request, &page).ok());
  EXPECT_EQ(page.tiles_size(), 2);
  request.set_page_token(page.next_page_token());
  ASSERT_TRUE(server_.maps->ListTiles(TestServer::NewContext().get(), request, &page).ok());
  ASSERT_EQ(page.tiles_size(), 1);
  EXPECT_EQ(page.tiles(0).tile_id(), "c");
  EXPECT_EQ(page.next_page_token(), "");
  request.clear_page_token();
  request.mutable_region()->mutable_min()->set_x(-5.0);
  request.mutable_region()->mutable_max()->set_x(5.0);
  ASSERT_TRUE(server_.maps->ListTiles(TestServer::NewContext().get(), request, &page).ok());
  ASSERT_EQ(page.tiles_size(), 1);
  EXPECT_EQ(page.tiles(0).tile_id(), "b");
}

TEST_P(UpdateMapTiles, TakesATileInChunksAndDropsPointsThatAreNotFinite) {
  PointCloud cloud = SmallTown();
  cloud.x[10] = std::numeric_limits<float>::quiet_NaN();
  cloud.y[20] = std::numeric_limits<float>::infinity();
  TestUpdate update(server_);
  update.Write(BeginRequest("town"));
  EXPECT_TRUE(update.Read().has_begun());
  const std::string bytes = CloudOf(cloud).data();
  const size_t half = cloud.size() / 2 * 12;
  v1::UpdateMapTilesRequest request;
  v1::TileChunk& chunk = *request.mutable_chunk();
  chunk.set_tile_id("t");
  chunk.mutable_cloud()->set_layout(v1::CLOUD_LAYOUT_FLOAT32_XYZ);
  chunk.mutable_cloud()->set_data(bytes.substr(0, half));
  chunk.set_crc32c(Crc32c(chunk.cloud().data()));
  update.Write(request);
  chunk.set_chunk_index(1);
  chunk.mutable_cloud()->set_data(bytes.substr(half));
  chunk.set_crc32c(Crc32c(chunk.cloud().data()));
  chunk.set_last(true);
  chunk.set_total_points(cloud.size());
  update.Write(request);
  const v1::TileAdded added = update.Read().tile_added();
  EXPECT_EQ(added.points(), cloud.size() - 2);
  EXPECT_EQ(added.not_finite(), 2);
  update.Write(CommitRequest());
  EXPECT_TRUE(update.Read().has_committed());
  v1::ListTilesRequest list;
  list.set_map("town");
  v1::ListTilesResponse tiles;
  ASSERT_TRUE(server_.maps->ListTiles(TestServer::NewContext().get(), list, &tiles).ok());
  EXPECT_EQ(tiles.tiles(0).crc32c(), Crc32c(bytes));
}

TEST_P(UpdateMapTiles, LeavesTheMapAloneWithoutACommit) {
  server_.LoadTown();
  {
    TestUpdate update(server_);
    update.Write(BeginRequest("town"));
    update.Write(RemoveRequest("town"));
    v1::UpdateMapTilesRequest abort;
    abort.mutable_abort();
    update.Write(abort);
    EXPECT_TRUE(update.Read().has_begun());
    EXPECT_TRUE(update.Read().has_tile_removed());
    const v1::UpdateMapTilesResponse aborted = update.Read();
    ASSERT_TRUE(aborted.has_aborted());
    EXPECT_EQ(aborted.aborted().revision(), 1);
    EXPECT_TRUE(update.Finish().ok());
  }
  {
    TestUpdate update(server_);
    update.Write(BeginRequest("town"));
    update.Write(RemoveRequest("town"));
    update.HalfClose();
    while (update.Read().response_case() != v1::UpdateMapTilesResponse::RESPONSE_NOT_SET) {
    }
    EXPECT_EQ(update.Finish().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  }
  {
    TestUpdate update(server_);
    update.Write(BeginRequest("town"));
    update.Write(RemoveRequest("town"));
    EXPECT_TRUE(update.Read().has_begun());
    update.Cancel();
    EXPECT_EQ(update.Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  v1::MapInfo info;
  ASSERT_EQ(GetMap("town", &info), grpc::StatusCode::OK);
  EXPECT_EQ(info.revision(), 1);
  EXPECT_EQ(info.tiles(), 1);
}

TEST_P(UpdateMapTiles, AbortsWhenTheBaseRevisionIsNotTheMaps) {
  server_.LoadTown();
  v1::UpdateMapTilesRequest begin = BeginRequest("town", false);
  begin.mutable_begin()->set_base_revision(7);
  EXPECT_EQ(Fails({begin}).error_code(), grpc::StatusCode::ABORTED);

  begin.mutable_begin()->set_base_revision(1);
  TestUpdate update(server_);
  update.Write(begin);
  EXPECT_TRUE(update.Read().has_begun());
  server_.LoadTown();  // revision 2 comes in between
  update.Write(RemoveRequest("town"));
  EXPECT_TRUE(update.Read().has_tile_removed());
  update.Write(CommitRequest());
  EXPECT_FALSE(update.Read().has_committed());
  EXPECT_EQ(update.Finish().error_code(), grpc::StatusCode::ABORTED);
  v1::MapInfo info;
  ASSERT_EQ(GetMap("town", &info), grpc::StatusCode::OK);
  EXPECT_EQ(info.revision(), 2);
  EXPECT_EQ(info.tiles(), 1);
}

TEST_P(UpdateMapTiles, KeepsWhatOthersChangedMeanwhileWithoutABaseRevision) {
  server_.LoadTown();
  TestUpdate update(server_);
  update.Write(BeginRequest("town"));
  update.Write(TileRequest("mine", Strip(-5.0, 5.0)));
  EXPECT_TRUE(update.Read().has_begun());
  EXPECT_TRUE(update.Read().has_tile_added());
  {
    TestUpdate other(server_);
    other.Write(BeginRequest("town"));
    other.Write(TileRequest("theirs", Strip(5.0, 15.0)));
    other.Write(CommitRequest());
    for (int i = 0; i < 3; ++i) static_cast<void>(other.Read());
    ASSERT_TRUE(other.Finish().ok());
  }
  update.Write(CommitRequest());
  const v1::UpdateCommitted committed = update.Read().committed();
  EXPECT_EQ(committed.map().revision(), 3);
  EXPECT_EQ(committed.map().tiles(), 3);
}

TEST_P(UpdateMapTiles, SaysWhatIsWrongWithAStream) {
  server_.LoadTown();
  const v1::UpdateMapTilesRequest begin = BeginRequest("town");
  const v1::UpdateMapTilesRequest tile = TileRequest("t", Strip(0.0, 5.0));
  EXPECT_EQ(Fails({tile}).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(Fails({begin, begin}).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(Fails({v1::UpdateMapTilesRequest()}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Fails({BeginRequest("nowhere", false)}).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Fails({BeginRequest("no/name")}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);

  v1::UpdateMapTilesRequest bad = tile;
  bad.mutable_chunk()->set_crc32c(1);
  grpc::Status status = Fails({begin, bad});
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DATA_LOSS);
  EXPECT_THAT(status.error_message(), HasSubstr("CRC32C"));
  bad = tile;
  bad.mutable_chunk()->set_total_points(3);
  EXPECT_EQ(Fails({begin, bad}).error_code(), grpc::StatusCode::DATA_LOSS);
  bad = tile;
  bad.mutable_chunk()->set_chunk_index(1);
  EXPECT_EQ(Fails({begin, bad}).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  bad = tile;
  bad.mutable_chunk()->set_last(false);
  EXPECT_EQ(Fails({begin, bad, CommitRequest()}).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(Fails({begin, bad, tile}).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  bad = tile;
  bad.mutable_chunk()->set_tile_id("");
  EXPECT_EQ(Fails({begin, bad}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  bad = tile;
  bad.mutable_chunk()->mutable_cloud()->set_stride(8);
  EXPECT_EQ(Fails({begin, bad}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  bad = TileRequest("t", PointCloud());
  EXPECT_EQ(Fails({begin, bad}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  PointCloud nowhere;
  nowhere.PushBack(std::numeric_limits<float>::quiet_NaN(), 0.0F, 0.0F);
  EXPECT_EQ(Fails({begin, TileRequest("t", nowhere)}).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  PointCloud far;
  far.PushBack(3e38F, 0.0F, 0.0F);
  EXPECT_EQ(Fails({begin, TileRequest("t", far)}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_P(UpdateMapTiles, RefusesAbsurdOptions) {
  v1::UpdateMapTilesRequest begin = BeginRequest("town");
  for (const double size : {0.0, -1.0, 1e9, std::numeric_limits<double>::quiet_NaN()}) {
    begin.mutable_begin()->mutable_options()->mutable_cell_size_m()->set_value(size);
    EXPECT_EQ(Fails({begin}).error_code(), grpc::StatusCode::INVALID_ARGUMENT) << size;
  }
  begin = BeginRequest("town");
  begin.mutable_begin()->mutable_options()->add_profiles("nonsense");
  EXPECT_EQ(Fails({begin}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  begin = BeginRequest("town");
  begin.mutable_begin()->set_request_id(std::string(129, 'r'));
  EXPECT_EQ(Fails({begin}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  begin = BeginRequest("town");
  begin.mutable_begin()->set_from_revision(1);
  EXPECT_EQ(Fails({begin}).error_code(), grpc::StatusCode::NOT_FOUND);
  begin.mutable_begin()->set_clear(true);
  EXPECT_EQ(Fails({begin}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_P(UpdateMapTiles, ChecksTheDigestOfATile) {
  const v1::UpdateMapTilesRequest begin = BeginRequest("town");
  v1::UpdateMapTilesRequest tile = TileRequest("t", Strip(0.0, 5.0));
  tile.mutable_chunk()->set_sha256("short");
  EXPECT_EQ(Fails({begin, tile}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  tile.mutable_chunk()->set_sha256(std::string(32, 'x'));
  const grpc::Status status = Fails({begin, tile});
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DATA_LOSS);
  EXPECT_THAT(status.error_message(), HasSubstr("SHA-256"));
}

TEST_P(UpdateMapTiles, FixesHowAMapIsBuiltWhenItIsCreated) {
  v1::UpdateMapTilesRequest begin = BeginRequest("town");
  begin.mutable_begin()->mutable_options()->add_profiles("autoware");
  begin.mutable_begin()->mutable_options()->mutable_cell_size_m()->set_value(1.5);
  TestUpdate update(server_);
  update.Write(begin);
  update.Write(TileRequest("town", SmallTown()));
  update.Write(CommitRequest());
  for (int i = 0; i < 2; ++i) static_cast<void>(update.Read());
  const v1::UpdateCommitted committed = update.Read().committed();
  ASSERT_EQ(committed.map().cells_size(), 1);
  EXPECT_EQ(committed.map().cells(0).statistics().cell_size_m(), 1.5);
  EXPECT_TRUE(update.Finish().ok());

  TestSession session(server_);
  v1::OpenSession autoware;
  autoware.mutable_setup()->set_map("town");
  autoware.mutable_setup()->mutable_options()->set_profile("autoware");
  session.Open(autoware);
  EXPECT_EQ(session.opened().profile().stages(0).cells().cell_size_m(), 1.5);
  session.Send(GoodScan());
  EXPECT_EQ(session.ReadResult().status(), v1::ALIGNMENT_STATUS_OK);

  begin.mutable_begin()->mutable_options()->mutable_cell_size_m()->set_value(2.0);
  EXPECT_EQ(Fails({begin}).error_code(), grpc::StatusCode::ALREADY_EXISTS);
  TestSession precise(server_);
  v1::AlignScansRequest open;
  open.mutable_open()->mutable_setup()->set_map("town");
  open.mutable_open()->mutable_setup()->mutable_options()->set_profile("precise");
  precise.Send(open);
  EXPECT_FALSE(precise.Read().has_opened());
  EXPECT_EQ(precise.Finish().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_P(UpdateMapTiles, HoldsToItsLimits) {
  const v1::UpdateMapTilesRequest begin = BeginRequest("town");
  PointCloud many;
  for (int i = 0; i < 100'001; ++i) many.PushBack(static_cast<float>(i % 100), 0.0F, 0.0F);
  EXPECT_EQ(Fails({begin, TileRequest("t", many)}).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  PointCloud wide = Strip(0.0, 2.0);
  wide.PushBack(5000.0F, 0.0F, 0.0F);
  EXPECT_EQ(Fails({begin, TileRequest("t", wide), CommitRequest()}).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  std::vector<v1::UpdateMapTilesRequest> requests = {begin};
  for (int i = 0; i < 5; ++i) {
    requests.push_back(TileRequest(std::to_string(i), Strip(0.0, 2.0)));
  }
  EXPECT_EQ(Fails(requests).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  for (int i = 0; i < 170'000; ++i) many.PushBack(0.0F, static_cast<float>(i % 50), 0.0F);
  EXPECT_EQ(Fails({begin, TileRequest("t", many)}).error_code(),  // a chunk of over 2 MB
            grpc::StatusCode::RESOURCE_EXHAUSTED);

  server_.LoadTown("one");
  server_.LoadTown("two");
  EXPECT_EQ(Fails({begin, TileRequest("t", Strip(0.0, 2.0)), CommitRequest()}).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);

  TestUpdate first(server_);
  TestUpdate second(server_);
  first.Write(BeginRequest("one"));
  second.Write(BeginRequest("two"));
  EXPECT_TRUE(first.Read().has_begun());
  EXPECT_TRUE(second.Read().has_begun());
  EXPECT_EQ(Fails({BeginRequest("one")}).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

}  // namespace
}  // namespace voxloc::server
