// SPDX-License-Identifier: Apache-2.0
//
// Maps that are loaded when a session or a request needs them, and dropped when none does.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "tests/server/map_calls.h"
#include "tests/server/plain_calls.h"
#include "tests/server/pose_search_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/engine_test.h"
#include "tests/support/eventually.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::server {
namespace {

// Longer than any test.
constexpr double kNeverS = 3600.0;

v1::OpenSession SessionOn(const std::string& map) {
  v1::OpenSession open = TownSession();
  open.mutable_setup()->set_map(map);
  return open;
}

class MapsOnDemand : public EngineTest {
 protected:
  // 0: as much memory as there is.
  [[nodiscard]] std::unique_ptr<TestServer> Start(double idle_timeout_s,
                                                  uint64_t max_map_memory_bytes = 0) {
    return std::make_unique<TestServer>(
        [&](Config& config) {
          config.data_dir = directory_.Path("maps");
          config.limits.max_map_memory_bytes = max_map_memory_bytes;
          config.residency.idle_timeout_s = idle_timeout_s;
          config.metrics_listen = "127.0.0.1:0";
        },
        EngineHandle());
  }
  // On the disk, three maps of two tiles. Returns the memory of one.
  uint64_t StoreThreeMaps() {
    const auto server = Start(0.0);
    for (const char* map : {"town", "port", "yard"}) LoadTwoTiles(*server, map);
    return GetMap(*server).memory_bytes();
  }
  // Of maps that answer requests, these tiles are in memory.
  static void AwaitTiles(TestServer& server, const std::string& map, uint32_t tiles) {
    EXPECT_TRUE(Eventually([&] {
      v1::GetMapRequest request;
      request.set_map(map);
      v1::GetMapResponse response;
      return server.maps->GetMap(TestServer::NewContext().get(), request, &response).ok() &&
             response.map().resident_tiles() == tiles;
    })) << map;
  }

  // So many maps are dropped, and no more of them by then.
  static void AwaitDropped(TestServer& server, double maps) {
    const auto dropped = [&] { return MetricsOf(server)["voxloc_maps_dropped_total"]; };
    EXPECT_TRUE(Eventually([&] { return dropped() >= maps; }));
    EXPECT_EQ(dropped(), maps);
  }

  ScratchDir directory_;
};
VOXLOC_INSTANTIATE_ON_ENGINES(MapsOnDemand);

TEST_P(MapsOnDemand, AreKnownWithoutTilesUntilASessionNeedsThem) {
  StoreThreeMaps();
  const auto server = Start(kNeverS);
  for (const char* map : {"town", "port", "yard"}) AwaitTiles(*server, map, 0);
  EXPECT_EQ(Tiles(*server, 0, "port").size(), 2u);

  TestSession session(*server, SessionOn("port"));
  AwaitTiles(*server, "port", 2);  // before a scan says where the vehicle is
  EXPECT_TRUE(session.Align(GoodScan()).accepted());
  EXPECT_EQ(GetMap(*server, "town").resident_tiles(), 0u);
  EXPECT_EQ(GetMap(*server, "yard").resident_tiles(), 0u);
}

TEST_P(MapsOnDemand, AScanIsAnsweredWhileItsMapIsLoaded) {
  StoreThreeMaps();
  const auto server = Start(kNeverS);
  AwaitTiles(*server, "port", 0);
  TestSession session(*server, SessionOn("port"));
  uint64_t sequence = 0;
  EXPECT_TRUE(Eventually([&] {
    const v1::AlignmentResult result = session.Align(GoodScan(++sequence));
    EXPECT_TRUE(result.accepted() || result.status() == v1::ALIGNMENT_STATUS_NO_MAP ||
                result.tiles_missing() > 0)
        << result.ShortDebugString();
    return result.accepted() && result.tiles_missing() == 0;
  }));
}

TEST_P(MapsOnDemand, ASearchIsToldToTryAgainUntilItsMapIsThere) {
  StoreThreeMaps();
  const auto server = Start(kNeverS);
  AwaitTiles(*server, "town", 0);
  PoseSearchReply reply = Search(*server, RegionRequest());
  EXPECT_EQ(reply.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(Eventually([&] {
    reply = Search(*server, RegionRequest());
    return reply.status.error_code() != grpc::StatusCode::UNAVAILABLE;
  }));
  EXPECT_TRUE(reply.status.ok()) << reply.status.error_message();
}

TEST_P(MapsOnDemand, AreDroppedWhenIdleButNotUnderASession) {
  StoreThreeMaps();
  const auto server = Start(0.05);
  for (const char* map : {"town", "port"}) AwaitTiles(*server, map, 0);
  TestSession silent(*server, SessionOn("port"));
  AwaitTiles(*server, "port", 2);
  {
    TestSession session(*server, SessionOn("town"));
    AwaitTiles(*server, "town", 2);
    EXPECT_TRUE(session.Align(GoodScan()).accepted());
    EXPECT_TRUE(session.Close().ok());
  }
  AwaitTiles(*server, "town", 0);
  AwaitDropped(*server, 1.0);
  // It was used before `town` was.
  EXPECT_EQ(GetMap(*server, "port").resident_tiles(), 2u);
  EXPECT_TRUE(silent.Align(GoodScan()).accepted());
  // Where its vehicle was does not bring it back.
  {
    TestSession session(*server, SessionOn("yard"));
    AwaitTiles(*server, "yard", 2);
    EXPECT_TRUE(session.Close().ok());
  }
  AwaitTiles(*server, "yard", 0);
  AwaitDropped(*server, 2.0);
  // A change of a map that nobody uses is on the disk alone.
  LoadTwoTiles(*server, "harbour");
  AwaitTiles(*server, "harbour", 0);
}

TEST_P(MapsOnDemand, TheLeastRecentlyUsedMakesRoomForAMapWithSessions) {
  const uint64_t bytes = StoreThreeMaps();
  const auto server = Start(kNeverS, bytes * 5 / 2);
  for (const char* map : {"town", "port", "yard"}) AwaitTiles(*server, map, 0);
  for (const char* map : {"town", "port"}) {
    TestSession session(*server, SessionOn(map));
    AwaitTiles(*server, map, 2);
    EXPECT_TRUE(session.Close().ok());
  }
  TestSession session(*server, SessionOn("yard"));
  AwaitTiles(*server, "yard", 2);
  EXPECT_LT(GetMap(*server, "town").resident_tiles(), 2u);
  EXPECT_EQ(GetMap(*server, "port").resident_tiles(), 2u);
  EXPECT_TRUE(session.Align(GoodScan()).accepted());
}

}  // namespace
}  // namespace voxloc::server
