// SPDX-License-Identifier: Apache-2.0
//
// Maps that are larger than the server's memory for them: five small towns in a row, and room for
// two.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/map_calls.h"
#include "tests/server/pose_search_calls.h"
#include "tests/server/rpc/map/revision_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/engine_test.h"
#include "tests/support/eventually.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

constexpr int kTowns = 5;
constexpr double kDistanceM = 200.0;

PointCloud Moved(PointCloud cloud, int town) {
  cloud.origin.x() += kDistanceM * town;
  return cloud;
}

v1::Scan ScanIn(int town, uint64_t sequence) {
  v1::Scan scan = GoodScan(sequence);
  v1::Vector3& position = *scan.mutable_guess_map_t_base()->mutable_pose()->mutable_position();
  position.set_x(position.x() + kDistanceM * town);
  return scan;
}

class PartlyResidentMaps : public EngineTest {
 protected:
  // Radii that fit the small towns. 0: as much memory as there is.
  [[nodiscard]] std::unique_ptr<TestServer> Start(uint64_t max_map_memory_bytes) {
    return std::make_unique<TestServer>(
        [&](Config& config) {
          config.data_dir = directory_.Path("maps");
          config.limits.max_map_memory_bytes = max_map_memory_bytes;
          config.residency.map_radius_m = 60.0;
          config.residency.lidar_radius_m = 40.0;
          config.residency.update_distance_m = 10.0;
        },
        EngineHandle());
  }
  // The same, once its map is open to requests.
  [[nodiscard]] std::unique_ptr<TestServer> StartAndWait(uint64_t max_map_memory_bytes) {
    auto server = Start(max_map_memory_bytes);
    AwaitTown(*server);
    return server;
  }

  static void LoadTowns(TestServer& server) {
    std::vector<v1::UpdateMapTilesRequest> requests = {BeginRequest("town")};
    for (int town = 0; town < kTowns; ++town) {
      requests.push_back(
          TileRequest(absl::StrCat(town, "-west"), Moved(TownStrip(-100.0, 0.0), town)));
      requests.push_back(
          TileRequest(absl::StrCat(town, "-east"), Moved(TownStrip(0.0, 100.0), town)));
    }
    requests.push_back(CommitRequest());
    const UpdateOutcome outcome = RunUpdate(server, requests);
    ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message();
    EXPECT_EQ(outcome.committed.map().tiles(), 2u * kTowns);
  }
  // A server with the towns on its disk, and room for two of them.
  [[nodiscard]] std::unique_ptr<TestServer> StartWithTowns() {
    uint64_t bytes = 0;
    {
      const auto server = Start(0);
      LoadTowns(*server);
      bytes = GetMap(*server).memory_bytes();
      poses_ = Poses(*server);
    }
    limit_bytes_ = bytes * 2 / kTowns + bytes / 20;
    return StartAndWait(limit_bytes_);
  }
  // Of a scan in each town.
  static std::vector<std::string> Poses(TestServer& server) {
    TestSession session(server);
    session.Open();
    std::vector<std::string> poses;
    for (int town = 0; town < kTowns; ++town) {
      const v1::AlignmentResult result = session.Align(ScanIn(town, static_cast<uint64_t>(town)));
      EXPECT_TRUE(result.accepted());
      EXPECT_EQ(result.tiles_missing(), 0u);
      poses.push_back(result.map_t_base().pose().ShortDebugString());
    }
    return poses;
  }
  // Sends scans in this town until one has all tiles around it.
  [[nodiscard]] static v1::AlignmentResult DriveIn(TestSession& session, int town) {
    v1::AlignmentResult result;
    uint64_t sequence = 0;
    EXPECT_TRUE(Eventually([&] {
      result = session.Align(ScanIn(town, ++sequence));
      return result.tiles_missing() == 0;
    }));
    return result;
  }

  ScratchDir directory_;
  uint64_t limit_bytes_ = 0;
  std::vector<std::string> poses_;  // by a server with all tiles in memory
};
VOXLOC_INSTANTIATE_ON_ENGINES(PartlyResidentMaps);

TEST_P(PartlyResidentMaps, ServeAVehicleWhereverItIsWithTheSameBits) {
  const auto server = StartWithTowns();
  TestSession session(*server);
  session.Open();
  for (const int town : {0, 4, 2, 3}) {
    const v1::AlignmentResult result = DriveIn(session, town);
    EXPECT_TRUE(result.accepted());
    // Without the covariance: it has the speed in it, and these jumps are none.
    EXPECT_EQ(result.map_t_base().pose().ShortDebugString(), poses_[static_cast<size_t>(town)]);
    EXPECT_EQ(result.map_revision(), 1u);
  }
}

TEST_P(PartlyResidentMaps, StayBelowTheirLimitAndSayWhatIsThere) {
  const auto server = StartWithTowns();
  // Nobody has been in this town since the start: its two tiles come when they are asked for.
  TestSession session(*server);
  session.Open();
  bool first = true;
  for (const int town : {4, 3, 0}) {
    const v1::AlignmentResult result = session.Align(ScanIn(town, 100));
    if (result.tiles_missing() == 2) {
      EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_NO_MAP);
      EXPECT_THAT(result.detail(), HasSubstr("2 of 2 tiles"));
      first = false;
    }
    static_cast<void>(DriveIn(session, town));
    const v1::MapInfo map = GetMap(*server);
    EXPECT_LE(map.memory_bytes(), limit_bytes_);
    EXPECT_LT(map.resident_tiles(), map.tiles());
    EXPECT_GE(map.resident_tiles(), 2u);
    size_t resident = 0;
    for (const v1::TileInfo& tile : Tiles(*server)) {
      if (tile.resident()) ++resident;
      EXPECT_FALSE(tile.damaged());
    }
    EXPECT_GE(resident, 2u);
    EXPECT_LT(resident, 2u * kTowns);
  }
  EXPECT_FALSE(first) << "every tile was in memory whenever it was asked for";
}

// What a map takes beside its tiles is only known once it has one; until then the estimate is what
// the largest maps take, and here that is more than there is memory for.
TEST_P(PartlyResidentMaps, HaveATileWhereOneFitsWhateverTheEstimate) {
  uint64_t bytes = 0;
  {
    const auto server = Start(0);
    std::vector<v1::UpdateMapTilesRequest> requests = {BeginRequest("town")};
    requests.push_back(TileRequest("west", TownStrip(-100.0, 0.0)));
    requests.push_back(TileRequest("east", TownStrip(0.0, 100.0)));
    requests.push_back(CommitRequest());
    ASSERT_TRUE(RunUpdate(*server, requests).status.ok());
    bytes = GetMap(*server).memory_bytes();
  }
  const auto server = StartAndWait(bytes * 3 / 4);
  TestSession session(*server);
  session.Open();
  uint64_t sequence = 0;
  EXPECT_TRUE(
      Eventually([&] { return session.Align(ScanIn(0, ++sequence)).tiles_missing() == 1; }));
  EXPECT_EQ(GetMap(*server).resident_tiles(), 1u);
  EXPECT_LE(GetMap(*server).memory_bytes(), bytes * 3 / 4);
}

TEST_P(PartlyResidentMaps, AreSearchedInPartsThatFit) {
  const auto server = StartWithTowns();
  // The whole map: at first tiles are loaded, until there is no room for more.
  PoseSearchReply whole;
  EXPECT_TRUE(Eventually([&] {
    whole = Search(*server, WholeMapRequest());
    return whole.status.error_code() != grpc::StatusCode::UNAVAILABLE;
  }));
  EXPECT_EQ(whole.status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(whole.status.error_message(), HasSubstr("ask for a smaller region"));

  for (const int town : {4, 0}) {
    v1::EstimateInitialPoseRequest request = RegionRequest();
    v1::Box& box = *request.mutable_region()->mutable_box();
    box.mutable_min()->set_x(box.min().x() + kDistanceM * town);
    box.mutable_max()->set_x(box.max().x() + kDistanceM * town);
    PoseSearchReply part;
    EXPECT_TRUE(Eventually([&] {
      part = Search(*server, request);
      return part.status.error_code() != grpc::StatusCode::UNAVAILABLE;
    }));
    ASSERT_TRUE(part.status.ok()) << part.status.error_message();
    ASSERT_GT(part.result.hypotheses_size(), 0);
    v1::Pose found = part.result.hypotheses(0).map_t_base().pose();
    found.mutable_position()->set_x(found.position().x() - kDistanceM * town);
    EXPECT_LT(DistanceFromVehicle(found), 0.2);
  }
}

TEST_P(PartlyResidentMaps, CanBeLoadedAndChangedByAServerThatIsTooSmall) {
  uint64_t bytes = 0;
  {
    TestServer large({}, EngineHandle());
    LoadTowns(large);
    bytes = GetMap(large).memory_bytes();
  }
  const auto server = Start(bytes / 3);
  LoadTowns(*server);
  EXPECT_TRUE(Eventually([&] { return GetMap(*server).resident_tiles() < 2u * kTowns; }));
  EXPECT_EQ(Tiles(*server).size(), 2u * kTowns);
  // A change far from what is in memory, and one of what is in use.
  TestSession session(*server);
  session.Open();
  static_cast<void>(DriveIn(session, 0));
  Change(*server, {RemoveRequest("4-east"), TileRequest("0-mid", TownStrip(-3.0, 3.0))});
  const v1::AlignmentResult result = session.Align(ScanIn(0, 1000));
  EXPECT_EQ(result.map_revision(), 2u);
  EXPECT_EQ(result.tiles_missing(), 0u);
  EXPECT_TRUE(result.accepted());
  EXPECT_EQ(Tiles(*server).size(), 2u * kTowns);
  EXPECT_TRUE(Eventually([&] { return GetMap(*server).memory_bytes() <= bytes / 3; }));
}

TEST_P(PartlyResidentMaps, AreOpenedAroundTheLastPosesOfTheirVehicles) {
  {
    const auto server = StartWithTowns();
    TestSession session(*server);
    v1::OpenSession open = TownSession();
    open.mutable_setup()->set_vehicle("bus");
    session.Open(open);
    EXPECT_TRUE(DriveIn(session, 3).accepted());
  }
  const auto server = StartAndWait(limit_bytes_);
  TestSession session(*server);
  v1::OpenSession open = TownSession();
  open.mutable_setup()->set_vehicle("bus");
  open.set_from_last_pose(true);
  session.Open(open);
  v1::Scan scan = ScanIn(3, 1);
  scan.clear_guess_map_t_base();
  const v1::AlignmentResult result = session.Align(scan);
  EXPECT_EQ(result.tiles_missing(), 0u);
  EXPECT_TRUE(result.accepted()) << result.detail();
}

}  // namespace
}  // namespace voxloc::server
