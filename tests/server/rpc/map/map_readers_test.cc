// SPDX-License-Identifier: Apache-2.0
//
// Many readers of maps that take their time: how many there are and what is held for them is
// bounded, and neither maps nor other readers suffer.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/server/map_calls.h"
#include "tests/server/plain_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

constexpr double kMostHeldBytes = 1 << 20;
// More than one message has of a tile, and more than half of what may be held.
constexpr size_t kTilePoints = 70'000;
constexpr int kTiles = 3;

PointCloud LargeTile(int tile) {
  PointCloud cloud;
  for (size_t i = 0; i < kTilePoints; ++i) {
    cloud.PushBack(static_cast<float>(10 * tile) + 0.01F * static_cast<float>(i % 300),
                   0.01F * static_cast<float>(i / 300), 0.0F);
  }
  return cloud;
}

// Cells of 0.5 m, ten points in each: more columns than are read at once, and more bytes of them
// than the window of a slow client holds and than may be held beside others.
constexpr int kCellColumns = 100;
constexpr int kCellRows = 60;
constexpr uint32_t kCellStage = 3;  // of the profile `precise`

PointCloud ManyCells() {
  PointCloud cloud;
  for (int cell = 0; cell < kCellColumns * kCellRows; ++cell) {
    const float x = 0.5F * static_cast<float>(cell % kCellColumns);
    const float y = 0.5F * static_cast<float>(cell / kCellColumns);
    for (int i = 0; i < 10; ++i) {
      cloud.PushBack(x + 0.05F + 0.03F * static_cast<float>(i),
                     y + 0.05F + 0.1F * static_cast<float>(i % 4),
                     0.05F + 0.1F * static_cast<float>(i % 3));
    }
  }
  return cloud;
}

class MapReaders : public ::testing::Test {
 protected:
  // A window that is small and does not grow: nothing is taken that is not read.
  void SetUp() override {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 128);
    slow_ = v1::MapService::NewStub(grpc::CreateCustomChannel(
        server_.server().address(), grpc::InsecureChannelCredentials(), arguments));
    std::vector<v1::UpdateMapTilesRequest> update = {BeginRequest("large")};
    for (int tile = 0; tile < kTiles; ++tile) {
      update.push_back(TileRequest("tile" + std::to_string(tile), LargeTile(tile)));
    }
    update.push_back(CommitRequest());
    ASSERT_TRUE(RunUpdate(server_, update).status.ok());
  }

  // A call of GetTiles whose client decides when it reads.
  struct Reader {
    std::unique_ptr<grpc::ClientContext> context = TestServer::NewContext();
    std::unique_ptr<grpc::ClientReader<v1::GetTilesResponse>> stream;

    // To the end: the number of points.
    size_t ReadAll() const {
      size_t points = 0;
      v1::GetTilesResponse response;
      while (stream->Read(&response)) points += response.cloud().data().size() / 12;
      return points;
    }
  };
  std::unique_ptr<Reader> StartReader() {
    v1::GetTilesRequest request;
    request.set_map("large");
    auto reader = std::make_unique<Reader>();
    reader->stream = slow_->GetTiles(reader->context.get(), request);
    return reader;
  }

  // A call of GetCells whose client decides when it reads.
  struct CellReader {
    std::unique_ptr<grpc::ClientContext> context = TestServer::NewContext();
    std::unique_ptr<grpc::ClientReader<v1::GetCellsResponse>> stream;

    // To the end: the number of cells.
    size_t ReadAll() const {
      size_t cells = 0;
      v1::GetCellsResponse response;
      while (stream->Read(&response)) cells += static_cast<size_t>(response.points_size());
      return cells;
    }
  };
  // Of the map `cells`.
  static CellReader StartCells(v1::MapService::Stub& maps) {
    v1::GetCellsRequest request;
    request.set_map("cells");
    request.set_profile("precise");
    request.set_stage(kCellStage);
    CellReader reader;
    reader.stream = maps.GetCells(reader.context.get(), request);
    return reader;
  }
  // The number of cells of the map `cells`, once all that was held for them has been given back.
  size_t LoadCells() {
    server_.LoadMap("cells", ManyCells());
    const CellReader reader = StartCells(*server_.maps);
    const size_t cells = reader.ReadAll();
    EXPECT_TRUE(reader.stream->Finish().ok());
    EXPECT_GT(cells, size_t{kCellColumns * kCellRows / 2});
    EXPECT_TRUE(Eventually([this] { return Metric("voxloc_map_read_bytes") == 0.0; }));
    return cells;
  }

  double Metric(const std::string& name) { return MetricsOf(server_)[name]; }

  TestServer server_{[](Config& config) {
    config.limits.max_reply_bytes = static_cast<uint64_t>(kMostHeldBytes);
    config.limits.max_map_readers = 8;
    config.metrics_listen = "127.0.0.1:0";
  }};
  std::unique_ptr<v1::MapService::Stub> slow_;
};

TEST_F(MapReaders, HoldLittleWhileTheirClientsAreIdle) {
  std::vector<std::unique_ptr<Reader>> readers;
  for (int i = 0; i < 8; ++i) readers.push_back(StartReader());
  // All but one wait: two tiles are more than may be held.
  ASSERT_TRUE(Eventually([this] {
    return Metric("voxloc_rpc_in_flight{method=\"GetTiles\"}") == 8.0 &&
           Metric("voxloc_queue_wait_seconds_count{class=\"reading\"}") >= 8.0;
  }));
  const double held = Metric("voxloc_map_read_bytes");
  EXPECT_GT(held, 12.0 * kTilePoints);
  EXPECT_LT(held, 2 * 12.0 * kTilePoints + 100'000.0);
  // Maps change and vehicles are served as ever.
  server_.LoadTown();
  TestSession session(server_, "town");
  EXPECT_EQ(session.Align(GoodScan()).status(), v1::ALIGNMENT_STATUS_OK);
  EXPECT_TRUE(DeleteMap(server_, "town").ok());
  EXPECT_EQ(Metric("voxloc_map_read_bytes"), held);
  // Each gets everything once those before it, in the order in which they came to the server, have
  // read or have gone.
  readers.erase(readers.begin() + 3);
  std::vector<std::thread> threads;
  threads.reserve(readers.size());
  for (const auto& reader : readers) {
    threads.emplace_back([&reader] {
      EXPECT_EQ(reader->ReadAll(), kTiles * kTilePoints);
      EXPECT_TRUE(reader->stream->Finish().ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(Eventually([this] { return Metric("voxloc_map_read_bytes") == 0.0; }));
}

TEST_F(MapReaders, AreRefusedOverTheirLimit) {
  std::vector<std::unique_ptr<Reader>> readers;
  for (int i = 0; i < 8; ++i) readers.push_back(StartReader());
  ASSERT_TRUE(
      Eventually([this] { return Metric("voxloc_rpc_in_flight{method=\"GetTiles\"}") == 8.0; }));
  v1::GetCellsRequest request;
  request.set_map("large");
  const auto refused = [&] {
    const auto context = TestServer::NewContext();
    v1::GetCellsResponse response;
    const auto cells = server_.maps->GetCells(context.get(), request);
    while (cells->Read(&response)) {
    }
    return cells->Finish();
  };
  const grpc::Status status = refused();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "TOO_MANY_MAP_READERS");
  EXPECT_THAT(status.error_message(), HasSubstr("8"));
  EXPECT_EQ(Metric("voxloc_rejected_total{class=\"reading\",reason=\"streams\"}"), 1.0);
  for (const auto& reader : readers) reader->context->TryCancel();
  readers.clear();
  EXPECT_TRUE(Eventually([&] { return refused().ok(); }));
  EXPECT_TRUE(Eventually([this] { return Metric("voxloc_map_read_bytes") == 0.0; }));
}

// Slabs of cells are read again when their turn has come.
TEST_F(MapReaders, OfCellsGetThemAllBesideAnIdleOne) {
  const auto cells_of_all = [this] {
    v1::GetCellsRequest request;
    request.set_map("large");
    const auto context = TestServer::NewContext();
    const auto stream = server_.maps->GetCells(context.get(), request);
    size_t cells = 0;
    v1::GetCellsResponse response;
    while (stream->Read(&response)) cells += static_cast<size_t>(response.points_size());
    EXPECT_TRUE(stream->Finish().ok());
    return cells;
  };
  const size_t expected = cells_of_all();
  EXPECT_GT(expected, 0U);
  const auto idle = StartReader();
  ASSERT_TRUE(Eventually([this] { return Metric("voxloc_map_read_bytes") > 0.0; }));
  // It waits for the idle one, which is cancelled once it does.
  v1::GetCellsRequest request;
  request.set_map("large");
  const auto context = TestServer::NewContext();
  const double before = Metric("voxloc_queue_wait_seconds_count{class=\"reading\"}");
  const auto stream = server_.maps->GetCells(context.get(), request);
  ASSERT_TRUE(Eventually(
      [&] { return Metric("voxloc_queue_wait_seconds_count{class=\"reading\"}") > before; }));
  idle->context->TryCancel();
  size_t cells = 0;
  v1::GetCellsResponse response;
  while (stream->Read(&response)) cells += static_cast<size_t>(response.points_size());
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(cells, expected);
}

// What is held of them is held until they are sent, also where the map has gone.
TEST_F(MapReaders, OfCellsHoldThemThoughTheirMapIsDeleted) {
  const size_t expected = LoadCells();
  const CellReader idle = StartCells(*slow_);
  ASSERT_TRUE(Eventually([this] { return Metric("voxloc_map_read_bytes") > 0.0; }));
  const double held = Metric("voxloc_map_read_bytes");
  EXPECT_GT(held, kMostHeldBytes);
  EXPECT_TRUE(DeleteMap(server_, "cells").ok());
  EXPECT_EQ(Metric("voxloc_map_read_bytes"), held);
  EXPECT_EQ(idle.ReadAll(), expected);
  EXPECT_TRUE(idle.stream->Finish().ok());
  EXPECT_TRUE(Eventually([this] { return Metric("voxloc_map_read_bytes") == 0.0; }));
}

TEST_F(MapReaders, OfCellsWaitForOneThatIsIdleUntilItIsCancelled) {
  const size_t expected = LoadCells();
  const CellReader idle = StartCells(*slow_);
  ASSERT_TRUE(Eventually([this] { return Metric("voxloc_map_read_bytes") > 0.0; }));
  const double held = Metric("voxloc_map_read_bytes");
  const double before = Metric("voxloc_queue_wait_seconds_count{class=\"reading\"}");
  const CellReader waiting = StartCells(*server_.maps);
  ASSERT_TRUE(Eventually(
      [&] { return Metric("voxloc_queue_wait_seconds_count{class=\"reading\"}") > before; }));
  // It has its turn, and holds nothing.
  EXPECT_EQ(Metric("voxloc_map_read_bytes"), held);
  idle.context->TryCancel();
  EXPECT_EQ(waiting.ReadAll(), expected);
  EXPECT_TRUE(waiting.stream->Finish().ok());
  EXPECT_EQ(idle.stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(Eventually([this] { return Metric("voxloc_map_read_bytes") == 0.0; }));
}

}  // namespace
}  // namespace voxloc::server
