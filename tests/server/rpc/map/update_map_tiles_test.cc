// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/checksum/crc32c.h"
#include "tests/server/map_calls.h"
#include "tests/server/rpc/map/revision_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/engine_test.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

using Requests = std::vector<v1::UpdateMapTilesRequest>;

class UpdateMapTiles : public EngineTest {
 protected:
  v1::ListMapsResponse Maps() {
    v1::ListMapsResponse maps;
    EXPECT_TRUE(server_.maps->ListMaps(TestServer::NewContext().get(), {}, &maps).ok());
    return maps;
  }

  // Revision 1 of "town": tiles a, b and c from west to east.
  void WriteThreeTiles() {
    EXPECT_TRUE(RunUpdate(server_, {BeginRequest("town"), TileRequest("a", TownStrip(-40.0, -10.0)),
                                    TileRequest("b", TownStrip(-10.0, 10.0)),
                                    TileRequest("c", TownStrip(10.0, 40.0)), CommitRequest()})
                    .status.ok());
  }

  // Sends the messages and expects the stream to end with an error, and the maps to stay as they
  // were.
  grpc::Status Fails(const Requests& requests) {
    const std::string before = Maps().SerializeAsString();
    const grpc::Status status = RunUpdate(server_, requests).status;
    EXPECT_EQ(Maps().SerializeAsString(), before);
    return status;
  }
  grpc::StatusCode CodeOf(const Requests& requests) { return Fails(requests).error_code(); }

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
  const PointCloud west = TownStrip(-40.0, 0.0);
  const PointCloud east = TownStrip(0.0, 40.0);
  update.Write(TileRequest("west", west));
  const v1::TileAdded added = update.Read().tile_added();
  EXPECT_EQ(added.tile_id(), "west");
  EXPECT_EQ(added.points(), west.size());
  EXPECT_GT(added.cells(), 100);
  EXPECT_FALSE(added.replaces());
  update.Write(TileRequest("east", east));
  EXPECT_TRUE(update.Read().has_tile_added());
  EXPECT_EQ(Maps().maps_size(), 0);
  update.Write(CommitRequest());
  const v1::UpdateCommitted committed = update.Read().committed();
  EXPECT_EQ(committed.tiles_added(), 2);
  EXPECT_EQ(committed.tiles_replaced(), 0);
  EXPECT_TRUE(update.Finish().ok());
  const v1::MapInfo info = GetMap(server_);
  EXPECT_EQ(info.SerializeAsString(), committed.map().SerializeAsString());
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
  TestUpdate update(server_);
  update.Write(BeginRequest("town", false));
  EXPECT_EQ(update.Read().begun().base_revision(), 1);
  update.Write(TileRequest("b", TownStrip(-10.0, 0.0)));
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
  const std::vector<v1::TileInfo> tiles = Tiles(server_);
  ASSERT_EQ(tiles.size(), 2U);
  EXPECT_EQ(tiles[0].tile_id(), "a");
  EXPECT_EQ(tiles[0].revision(), 1);
  EXPECT_EQ(tiles[0].crc32c(), TileRequest("a", TownStrip(-40.0, -10.0)).chunk().crc32c());
  EXPECT_EQ(tiles[1].tile_id(), "b");
  EXPECT_EQ(tiles[1].revision(), 2);
  v1::UpdateMapTilesRequest begin = BeginRequest("town", false);
  begin.mutable_begin()->set_clear(true);
  const UpdateOutcome cleared =
      RunUpdate(server_, {begin, TileRequest("d", TownStrip(-40.0, 40.0)), CommitRequest()});
  EXPECT_FALSE(cleared.added.at(0).replaces());
  EXPECT_EQ(cleared.committed.map().tiles(), 1);
  EXPECT_EQ(cleared.committed.tiles_added(), 1);
  EXPECT_EQ(cleared.committed.tiles_removed(), 2);
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
  EXPECT_EQ(Tiles(server_).at(0).crc32c(), Crc32c(bytes));
}

TEST_P(UpdateMapTiles, LeavesTheMapAloneWithoutACommit) {
  server_.LoadTown();
  for (const std::string end : {"abort", "half-close", "cancel"}) {
    SCOPED_TRACE(end);
    TestUpdate update(server_);
    update.Write(BeginRequest("town"));
    update.Write(RemoveRequest("town"));
    EXPECT_TRUE(update.Read().has_begun());
    EXPECT_TRUE(update.Read().has_tile_removed());
    if (end == "abort") {
      v1::UpdateMapTilesRequest abort;
      abort.mutable_abort();
      update.Write(abort);
      const v1::UpdateMapTilesResponse aborted = update.Read();
      ASSERT_TRUE(aborted.has_aborted());
      EXPECT_EQ(aborted.aborted().revision(), 1);
      EXPECT_TRUE(update.Finish().ok());
    } else if (end == "half-close") {
      update.HalfClose();
      EXPECT_EQ(update.Read().response_case(), v1::UpdateMapTilesResponse::RESPONSE_NOT_SET);
      EXPECT_EQ(update.Finish().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    } else {
      update.Cancel();
      EXPECT_EQ(update.Finish().error_code(), grpc::StatusCode::CANCELLED);
    }
    const v1::MapInfo info = GetMap(server_);
    EXPECT_EQ(info.revision(), 1);
    EXPECT_EQ(info.tiles(), 1);
  }
}

TEST_P(UpdateMapTiles, AbortsWhenTheBaseRevisionIsNotTheMaps) {
  server_.LoadTown();
  v1::UpdateMapTilesRequest begin = BeginRequest("town", false);
  begin.mutable_begin()->set_base_revision(7);
  EXPECT_EQ(CodeOf({begin}), grpc::StatusCode::ABORTED);

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
  const v1::MapInfo info = GetMap(server_);
  EXPECT_EQ(info.revision(), 2);
  EXPECT_EQ(info.tiles(), 1);
}

TEST_P(UpdateMapTiles, KeepsWhatOthersChangedMeanwhileWithoutABaseRevision) {
  server_.LoadTown();
  TestUpdate update(server_);
  update.Write(BeginRequest("town"));
  update.Write(TileRequest("mine", TownStrip(-5.0, 5.0)));
  EXPECT_TRUE(update.Read().has_begun());
  EXPECT_TRUE(update.Read().has_tile_added());
  Change(server_, {TileRequest("theirs", TownStrip(5.0, 15.0))});
  update.Write(CommitRequest());
  const v1::UpdateCommitted committed = update.Read().committed();
  EXPECT_EQ(committed.map().revision(), 3);
  EXPECT_EQ(committed.map().tiles(), 3);
}

TEST_P(UpdateMapTiles, SaysWhatIsWrongWithAStream) {
  server_.LoadTown();
  const v1::UpdateMapTilesRequest begin = BeginRequest("town");
  const v1::UpdateMapTilesRequest tile = TileRequest("t", TownStrip(0.0, 5.0));
  const auto bad = [&tile](const std::function<void(v1::TileChunk&)>& change) {
    v1::UpdateMapTilesRequest changed = tile;
    change(*changed.mutable_chunk());
    return changed;
  };
  const auto last_is_not = bad([](v1::TileChunk& chunk) { chunk.set_last(false); });
  PointCloud nowhere;
  nowhere.PushBack(std::numeric_limits<float>::quiet_NaN(), 0.0F, 0.0F);
  PointCloud far;
  far.PushBack(3e38F, 0.0F, 0.0F);
  for (const Requests& requests :
       {Requests{tile}, Requests{begin, begin},
        Requests{begin, bad([](v1::TileChunk& chunk) { chunk.set_chunk_index(1); })},
        Requests{begin, last_is_not, CommitRequest()}, Requests{begin, last_is_not, tile}}) {
    EXPECT_EQ(CodeOf(requests), grpc::StatusCode::FAILED_PRECONDITION);
  }
  EXPECT_EQ(CodeOf({v1::UpdateMapTilesRequest()}), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf({BeginRequest("nowhere", false)}), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(CodeOf({BeginRequest("no/name")}), grpc::StatusCode::INVALID_ARGUMENT);
  for (const auto& malformed :
       {bad([](v1::TileChunk& chunk) { chunk.set_tile_id(""); }),
        bad([](v1::TileChunk& chunk) { chunk.mutable_cloud()->set_stride(8); }),
        bad([](v1::TileChunk& chunk) { chunk.set_sha256("short"); }),
        TileRequest("t", PointCloud()), TileRequest("t", nowhere), TileRequest("t", far)}) {
    EXPECT_EQ(CodeOf({begin, malformed}), grpc::StatusCode::INVALID_ARGUMENT);
  }
  const std::vector<std::pair<v1::UpdateMapTilesRequest, std::string>> damaged = {
      {bad([](v1::TileChunk& chunk) { chunk.set_crc32c(1); }), "CRC32C"},
      {bad([](v1::TileChunk& chunk) { chunk.set_sha256(std::string(32, 'x')); }), "SHA-256"},
      {bad([](v1::TileChunk& chunk) { chunk.set_total_points(3); }), ""}};
  for (const auto& [request, says] : damaged) {
    const grpc::Status status = Fails({begin, request});
    EXPECT_EQ(status.error_code(), grpc::StatusCode::DATA_LOSS) << says;
    EXPECT_THAT(status.error_message(), HasSubstr(says));
  }
}

TEST_P(UpdateMapTiles, RefusesAbsurdOptions) {
  const auto code_of = [this](const std::function<void(v1::BeginUpdate&)>& change) {
    v1::UpdateMapTilesRequest begin = BeginRequest("town");
    change(*begin.mutable_begin());
    return CodeOf({begin});
  };
  for (const double size : {0.0, -1.0, 1e9, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(code_of([size](auto& begin) {
                begin.mutable_options()->mutable_cell_size_m()->set_value(size);
              }),
              grpc::StatusCode::INVALID_ARGUMENT)
        << size;
  }
  EXPECT_EQ(code_of([](auto& begin) { begin.mutable_options()->add_profiles("nonsense"); }),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code_of([](auto& begin) { begin.set_request_id(std::string(129, 'r')); }),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code_of([](auto& begin) { begin.set_from_revision(1); }), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(code_of([](auto& begin) {
              begin.set_from_revision(1);
              begin.set_clear(true);
            }),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_P(UpdateMapTiles, FixesHowAMapIsBuiltWhenItIsCreated) {
  v1::UpdateMapTilesRequest begin = BeginRequest("town");
  begin.mutable_begin()->mutable_options()->add_profiles("autoware");
  begin.mutable_begin()->mutable_options()->mutable_cell_size_m()->set_value(1.5);
  const UpdateOutcome outcome =
      RunUpdate(server_, {begin, TileRequest("town", SmallTown()), CommitRequest()});
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message();
  ASSERT_EQ(outcome.committed.map().cells_size(), 1);
  EXPECT_EQ(outcome.committed.map().cells(0).statistics().cell_size_m(), 1.5);
  TestSession session(server_);
  v1::OpenSession autoware = TownSession();
  autoware.mutable_setup()->mutable_options()->set_profile("autoware");
  session.Open(autoware);
  EXPECT_EQ(session.opened().profile().stages(0).cells().cell_size_m(), 1.5);
  EXPECT_EQ(session.Align(GoodScan()).status(), v1::ALIGNMENT_STATUS_OK);

  begin.mutable_begin()->mutable_options()->mutable_cell_size_m()->set_value(2.0);
  EXPECT_EQ(CodeOf({begin}), grpc::StatusCode::ALREADY_EXISTS);
  v1::OpenSession precise = TownSession();
  precise.mutable_setup()->mutable_options()->set_profile("precise");
  EXPECT_EQ(OpenError(server_, precise).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_P(UpdateMapTiles, HoldsToItsLimits) {
  const v1::UpdateMapTilesRequest begin = BeginRequest("town");
  PointCloud many;
  for (int i = 0; i < 100'001; ++i) many.PushBack(static_cast<float>(i % 100), 0.0F, 0.0F);
  EXPECT_EQ(CodeOf({begin, TileRequest("t", many)}), grpc::StatusCode::RESOURCE_EXHAUSTED);
  PointCloud wide = TownStrip(0.0, 2.0);
  wide.PushBack(5000.0F, 0.0F, 0.0F);
  EXPECT_EQ(CodeOf({begin, TileRequest("t", wide), CommitRequest()}),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  Requests requests = {begin};
  for (int i = 0; i < 5; ++i) {
    requests.push_back(TileRequest(std::to_string(i), TownStrip(0.0, 2.0)));
  }
  EXPECT_EQ(CodeOf(requests), grpc::StatusCode::RESOURCE_EXHAUSTED);
  for (int i = 0; i < 170'000; ++i) many.PushBack(0.0F, static_cast<float>(i % 50), 0.0F);
  EXPECT_EQ(CodeOf({begin, TileRequest("t", many)}), grpc::StatusCode::RESOURCE_EXHAUSTED);

  server_.LoadTown("one");
  server_.LoadTown("two");
  EXPECT_EQ(CodeOf({begin, TileRequest("t", TownStrip(0.0, 2.0)), CommitRequest()}),
            grpc::StatusCode::RESOURCE_EXHAUSTED);

  TestUpdate first(server_);
  TestUpdate second(server_);
  first.Write(BeginRequest("one"));
  second.Write(BeginRequest("two"));
  EXPECT_TRUE(first.Read().has_begun());
  EXPECT_TRUE(second.Read().has_begun());
  EXPECT_EQ(CodeOf({BeginRequest("one")}), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

}  // namespace
}  // namespace voxloc::server
