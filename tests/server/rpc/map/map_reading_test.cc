// SPDX-License-Identifier: Apache-2.0
//
// Reading maps back: tiles, cells, changes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Core>
#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/checksum/sha256.h"
#include "tests/server/map_calls.h"
#include "tests/server/plain_calls.h"
#include "tests/server/rpc/map/revision_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/engine_test.h"
#include "tests/support/eventually.h"

namespace voxloc::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Without a bound of y and z.
v1::Box Slice(double min_x, double max_x) {
  v1::Box box;
  box.mutable_min()->set_x(min_x);
  box.mutable_max()->set_x(max_x);
  for (v1::Vector3* corner : {box.mutable_min(), box.mutable_max()}) {
    const double bound = corner == box.mutable_max() ? 1000.0 : -1000.0;
    corner->set_y(bound);
    corner->set_z(bound);
  }
  return box;
}

v1::GetTilesRequest TilesOf(const std::string& map) {
  v1::GetTilesRequest request;
  request.set_map(map);
  return request;
}

TEST(GetTiles, ReturnsThePointsThatTheDigestIsOf) {
  TestServer server;
  LoadTwoTiles(server);
  const Downloaded downloaded = Download(server, TilesOf("town"));
  ASSERT_TRUE(downloaded.status.ok()) << downloaded.status.error_message();
  EXPECT_EQ(downloaded.revision, 1u);
  ASSERT_EQ(downloaded.tiles.size(), 2u);
  EXPECT_EQ(downloaded.tiles[0].tile_id(), "east");
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(ToBytes(Sha256Of(downloaded.content[i])), downloaded.tiles[i].sha256());
    EXPECT_EQ(downloaded.content[i].size(), 24 + 12 * downloaded.tiles[i].points());
  }
  // As they were sent.
  EXPECT_EQ(downloaded.content[0].substr(24), CloudOf(TownStrip(0.0, 40.0)).data());
}

// Scans that ended at the tile, as ListTiles and GetTiles have them.
TEST(TileFit, OfAnAcceptedScanIsListedWithTheTileUntilItsContentChanges) {
  TestServer server;
  server.LoadTown();
  const auto listed = [&](uint64_t revision = 0) { return Tiles(server, revision).at(0); };
  EXPECT_FALSE(listed().has_fit());

  TestSession session(server);
  session.Open();
  ASSERT_TRUE(session.Align(GoodScan()).accepted());
  ASSERT_TRUE(Eventually([&] { return listed().has_fit(); }));
  const v1::TileFit fit = listed().fit();
  EXPECT_EQ(fit.scans(), 1.0);
  // The small town has too few points for a cell of half a metre in most places.
  EXPECT_GT(fit.explained_points(), 100.0);
  EXPECT_GT(fit.unexplained_points(), 0.0);
  EXPECT_NEAR(fit.unexplained_ratio(),
              fit.unexplained_points() / (fit.explained_points() + fit.unexplained_points()), 1e-9);
  EXPECT_GT(fit.residual_m(), 0.0);
  EXPECT_LT(fit.residual_m(), 0.1);
  EXPECT_GT(fit.solid_cells(), 10.0);
  EXPECT_LT(fit.seen_through_ratio(), 0.3);
  EXPECT_GE(fit.change(), 0.0);
  EXPECT_LT(fit.change(), 1.0);
  // Real time: the server has stamped it; two minutes are any clock.
  EXPECT_GT(fit.last_used_at_ns(), absl::ToUnixNanos(absl::Now() - absl::Minutes(2)));
  EXPECT_LE(fit.last_used_at_ns(), absl::ToUnixNanos(absl::Now()));

  v1::GetTilesRequest get = TilesOf("town");
  get.set_omit_points(true);
  const Downloaded downloaded = Download(server, get);
  ASSERT_EQ(downloaded.tiles.size(), 1u) << downloaded.status.error_message();
  EXPECT_EQ(downloaded.tiles[0].fit().scans(), 1.0);
  // The kept revision has its content's fit, the new one has none yet.
  Change(server, {TileRequest("town", TownStrip(0.0, 40.0))});
  EXPECT_FALSE(listed().has_fit());
  EXPECT_TRUE(listed(1).has_fit());
}

TEST(TileFit, OfADeletedMapIsForgotten) {
  TestServer server;
  server.LoadTown();
  TestSession session(server);
  session.Open();
  ASSERT_TRUE(session.Align(GoodScan()).accepted());
  const auto fit_of_town = [&] { return Tiles(server).at(0).has_fit(); };
  ASSERT_TRUE(Eventually(fit_of_town));
  ASSERT_TRUE(DeleteMap(server, "town").ok());
  server.LoadTown();
  EXPECT_FALSE(fit_of_town());
}

TEST(TileFit, IsNotMadeWhereItIsSwitchedOff) {
  TestServer server([](Config& config) {
    config.tile_fit = false;
    config.metrics_listen = "127.0.0.1:0";
  });
  server.LoadTown();
  TestSession session(server);
  session.Open();
  for (uint64_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(session.Align(GoodScan(i)).accepted());
  }
  const auto metrics = MetricsOf(server);
  EXPECT_EQ(metrics.at("voxloc_tile_fit_samples_total{outcome=\"taken\"}"), 0.0);
  EXPECT_EQ(metrics.at("voxloc_tile_fit_samples_total{outcome=\"dropped\"}"), 0.0);
}

// The series of a map end with it.
TEST(MapMetrics, ShowTheRevisionAndTheAgeOfEachMap) {
  TestServer server([](Config& config) { config.metrics_listen = "127.0.0.1:0"; });
  server.LoadTown();
  server.LoadTown("port");
  Change(server, {TileRequest("more", TownStrip(0.0, 40.0))}, CommitRequest(),
         BeginRequest("port"));
  auto metrics = MetricsOf(server);
  EXPECT_EQ(metrics.at("voxloc_map_revision{map=\"town\"}"), 1.0);
  EXPECT_EQ(metrics.at("voxloc_map_revision{map=\"port\"}"), 2.0);
  EXPECT_GE(metrics.at("voxloc_map_age_seconds{map=\"town\"}"),
            metrics.at("voxloc_map_age_seconds{map=\"port\"}"));
  EXPECT_LT(metrics.at("voxloc_map_age_seconds{map=\"town\"}"), 120.0);
  ASSERT_TRUE(DeleteMap(server, "port").ok());
  metrics = MetricsOf(server);
  EXPECT_EQ(metrics.count("voxloc_map_revision{map=\"port\"}"), 0U);
  EXPECT_EQ(metrics.count("voxloc_map_age_seconds{map=\"port\"}"), 0U);
  EXPECT_EQ(metrics.count("voxloc_map_revision{map=\"town\"}"), 1U);
}

TEST(GetTiles, ComesInPartsAndByNameRegionAndRevision) {
  TestServer server;
  PointCloud large;
  for (int i = 0; i < 200'000; ++i) {
    large.PushBack(static_cast<float>(i % 400) * 0.1F, static_cast<float>(i / 400) * 0.1F, 0.0F);
  }
  Change(server, {TileRequest("large", large), TileRequest("west", TownStrip(-40.0, -1.0))});
  Change(server, {RemoveRequest("large")});
  v1::GetTilesRequest request = TilesOf("town");
  request.set_revision(1);
  request.add_tile_ids("large");
  const Downloaded one = Download(server, request);
  ASSERT_EQ(one.content.size(), 1u) << one.status.error_message();
  EXPECT_EQ(one.content[0].size(), 24 + 12 * large.size());
  EXPECT_EQ(ToBytes(Sha256Of(one.content[0])), one.tiles[0].sha256());

  request.clear_tile_ids();
  *request.mutable_region() = Slice(-20.0, -10.0);
  const Downloaded west = Download(server, request);
  ASSERT_EQ(west.tiles.size(), 1u);
  EXPECT_EQ(west.tiles[0].tile_id(), "west");

  request.clear_region();
  request.set_omit_points(true);
  const Downloaded bare = Download(server, request);
  ASSERT_EQ(bare.tiles.size(), 2u);
  EXPECT_EQ(bare.content[0].size(), 24u);

  request.add_tile_ids("nothing");
  EXPECT_EQ(Download(server, request).status.error_code(), grpc::StatusCode::NOT_FOUND);
  request.set_revision(9);
  EXPECT_EQ(Download(server, request).status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Download(server, TilesOf("no map")).status.error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

class GetCells : public EngineTest {};
VOXLOC_INSTANTIATE_ON_ENGINES(GetCells);

// The mean and the number of points of each cell, from the points themselves.
TEST_P(GetCells, ReturnsTheCellsOfThePoints) {
  TestServer server({}, EngineHandle());
  LoadTwoTiles(server);
  v1::GetCellsRequest request;
  request.set_map("town");
  request.set_profile("precise");
  request.set_stage(1);
  const auto context = TestServer::NewContext();
  const auto reader = server.maps->GetCells(context.get(), request);
  struct Cell {
    uint32_t points = 0;
    Eigen::Vector3d mean = Eigen::Vector3d::Zero();
  };
  std::map<std::tuple<int, int, int>, Cell> cells;
  double size = 0.0;
  v1::GetCellsResponse part;
  while (reader->Read(&part)) {
    size = part.cell_size_m();
    ASSERT_EQ(part.index_size(), 3 * part.points_size());
    ASSERT_EQ(part.mean_size(), 3 * part.points_size());
    ASSERT_EQ(part.covariance_size(), 6 * part.points_size());
    for (int i = 0; i < part.points_size(); ++i) {
      Cell& cell = cells[{part.index(3 * i), part.index(3 * i + 1), part.index(3 * i + 2)}];
      EXPECT_EQ(cell.points, 0u) << "a cell came twice";
      cell.points = part.points(i);
      cell.mean = {part.mean(3 * i), part.mean(3 * i + 1), part.mean(3 * i + 2)};
      EXPECT_GT(part.covariance(6 * i), 0.0F);
    }
  }
  ASSERT_TRUE(reader->Finish().ok());
  ASSERT_GT(cells.size(), 100u);
  std::map<std::tuple<int, int, int>, Cell> expected;
  const PointCloud town = SmallTown();
  for (size_t i = 0; i < town.size(); ++i) {
    const Eigen::Vector3d point = town.Point(i);
    const Eigen::Vector3d index = (point / size).array().floor();
    Cell& cell = expected[{static_cast<int>(index.x()), static_cast<int>(index.y()),
                           static_cast<int>(index.z())}];
    ++cell.points;
    cell.mean += point;
  }
  for (const auto& [key, cell] : cells) {
    const auto found = expected.find(key);
    ASSERT_NE(found, expected.end());
    EXPECT_EQ(cell.points, found->second.points);
    EXPECT_LT((cell.mean - found->second.mean / found->second.points).norm(), 1e-5);
  }
  // Those that are not there have too few points.
  for (const auto& [key, cell] : expected) {
    if (cells.count(key) == 0) {
      EXPECT_LT(cell.points, 20u);
    }
  }

  *request.mutable_region() = Slice(-5.0, 5.0);
  const auto few_context = TestServer::NewContext();
  const auto few = server.maps->GetCells(few_context.get(), request);
  size_t in_region = 0;
  while (few->Read(&part)) in_region += static_cast<size_t>(part.points_size());
  ASSERT_TRUE(few->Finish().ok());
  EXPECT_EQ(in_region,
            static_cast<size_t>(std::count_if(cells.begin(), cells.end(), [](const auto& entry) {
              const double x = entry.second.mean.x();
              return x >= -5.0 && x <= 5.0;
            })));
}

TEST(GetCellsOf, SaysWhatIsNotThere) {
  TestServer server;
  LoadTwoTiles(server);
  const auto code = [&](const std::string& map, const std::string& profile, uint32_t stage) {
    v1::GetCellsRequest request;
    request.set_map(map);
    request.set_profile(profile);
    request.set_stage(stage);
    const auto context = TestServer::NewContext();
    return server.maps->GetCells(context.get(), request)->Finish().error_code();
  };
  EXPECT_EQ(code("port", "precise", 0), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(code("town", "nonsense", 0), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(code("town", "autoware", 1), grpc::StatusCode::NOT_FOUND);
}

// A reader that takes one event at a time.
class Watching {
 public:
  Watching(TestServer& server, const std::string& map) : context_(TestServer::NewContext()) {
    v1::WatchMapRequest request;
    request.set_map(map);
    reader_ = server.maps->WatchMap(context_.get(), request);
  }
  ~Watching() { Cancel(); }
  v1::WatchMapResponse Read() {
    v1::WatchMapResponse event;
    EXPECT_TRUE(reader_->Read(&event));
    return event;
  }
  // The next event must be of this kind and revision.
  v1::WatchMapResponse Expect(v1::MapEventKind kind, uint64_t revision) {
    v1::WatchMapResponse event = Read();
    EXPECT_EQ(event.kind(), kind);
    EXPECT_EQ(event.map().revision(), revision);
    return event;
  }
  void Cancel() {
    if (reader_ == nullptr) return;
    context_->TryCancel();
    v1::WatchMapResponse event;
    while (reader_->Read(&event)) {
    }
    EXPECT_EQ(reader_->Finish().error_code(), grpc::StatusCode::CANCELLED);
    reader_.reset();
  }

 private:
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReader<v1::WatchMapResponse>> reader_;
};

TEST(WatchMap, TellsWhatHappensToAMap) {
  TestServer server;
  LoadTwoTiles(server);
  Watching watching(server, "town");
  watching.Expect(v1::MAP_EVENT_KIND_PRESENT, 1);
  LoadTwoTiles(server, "other");  // not watched
  Change(server, {TileRequest("mid", TownStrip(-3.0, 3.0)), RemoveRequest("west")});
  v1::WatchMapResponse event = watching.Expect(v1::MAP_EVENT_KIND_UPDATED, 2);
  EXPECT_EQ(event.map().name(), "town");
  EXPECT_EQ(event.map().tiles(), 2u);
  EXPECT_THAT(event.changed_tiles(), ElementsAre("mid", "west"));

  Change(server, {RemoveRequest("mid")}, StageRequest());
  watching.Expect(v1::MAP_EVENT_KIND_STAGED, 3);
  ASSERT_TRUE(Withdraw(server, 3).ok());
  watching.Expect(v1::MAP_EVENT_KIND_WITHDRAWN, 3);

  ASSERT_TRUE(DeleteMap(server, "town").ok());
  event = watching.Read();
  EXPECT_EQ(event.kind(), v1::MAP_EVENT_KIND_DELETED);
  EXPECT_EQ(event.map().name(), "town");
  EXPECT_THAT(event.changed_tiles(), IsEmpty());
}

TEST(WatchMap, WaitsForAMapThatIsNotThere) {
  TestServer server;
  Watching watching(server, "");
  LoadTwoTiles(server, "later");
  const v1::WatchMapResponse event = watching.Read();
  EXPECT_EQ(event.kind(), v1::MAP_EVENT_KIND_CREATED);
  EXPECT_EQ(event.map().name(), "later");
}

TEST(WatchMap, IsLimitedAndRefusesNamesThatNoMapHas) {
  TestServer server([](Config& config) { config.limits.max_watchers = 1; });
  LoadTwoTiles(server);
  Watching watching(server, "town");
  EXPECT_EQ(watching.Read().kind(), v1::MAP_EVENT_KIND_PRESENT);
  const auto code = [&](const std::string& map) {
    v1::WatchMapRequest request;
    request.set_map(map);
    const auto context = TestServer::NewContext();
    return server.maps->WatchMap(context.get(), request)->Finish().error_code();
  };
  EXPECT_EQ(code("a/b"), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code("town"), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

}  // namespace
}  // namespace voxloc::server
