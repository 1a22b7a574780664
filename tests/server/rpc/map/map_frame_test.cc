// SPDX-License-Identifier: Apache-2.0
//
// Frames of maps over a real connection: how they are set, told, kept and refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/server/map_calls.h"
#include "tests/server/plain_calls.h"
#include "tests/server/rpc/map/revision_calls.h"
#include "tests/server/test_server.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

v1::MapFrame MgrsFrame(const std::string& grid = "54SUE") {
  v1::MapFrame frame;
  frame.mutable_projector()->set_projector_type("MGRS");
  frame.mutable_projector()->set_vertical_datum("WGS84");
  frame.mutable_projector()->set_mgrs_grid(grid);
  return frame;
}

v1::MapFrame OriginFrame() {
  v1::MapFrame frame;
  frame.mutable_origin()->mutable_point()->set_latitude_deg(48.1374);
  frame.mutable_origin()->mutable_point()->set_longitude_deg(11.5755);
  frame.mutable_origin()->mutable_point()->set_altitude_m(519.25);
  frame.mutable_origin()->set_x_axis_yaw_rad(-0.25);
  return frame;
}

v1::UpdateMapTilesRequest BeginWith(const v1::MapFrame& frame, const std::string& map = "town") {
  v1::UpdateMapTilesRequest begin = BeginRequest(map);
  *begin.mutable_begin()->mutable_frame() = frame;
  return begin;
}

UpdateOutcome LoadWith(TestServer& server, const v1::MapFrame& frame) {
  return RunUpdate(server,
                   {BeginWith(frame), TileRequest("all", TownStrip(-30.0, 30.0)), CommitRequest()});
}

v1::MapFrame FrameOf(TestServer& server) { return GetMap(server).frame(); }

TEST(MapFrames, AreToldByEveryDescriptionOfAMap) {
  TestServer server;
  v1::MapFrame frame = OriginFrame();
  *frame.mutable_projector() = MgrsFrame("4qfj").projector();
  const UpdateOutcome outcome = LoadWith(server, frame);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message();
  // As it was given, with what follows from it.
  frame.mutable_projector()->set_mgrs_grid("04QFJ");
  frame.mutable_projector()->set_scale_factor(0.9996);
  EXPECT_EQ(outcome.committed.map().frame().SerializeAsString(), frame.SerializeAsString());
  EXPECT_EQ(FrameOf(server).SerializeAsString(), frame.SerializeAsString());
  v1::ListMapsResponse list;
  ASSERT_TRUE(server.maps->ListMaps(TestServer::NewContext().get(), {}, &list).ok());
  ASSERT_EQ(list.maps_size(), 1);
  EXPECT_EQ(list.maps(0).frame().SerializeAsString(), frame.SerializeAsString());
}

TEST(MapFrames, AMapWithoutOneTellsNoneAndGetsOneLater) {
  TestServer server;
  LoadTwoTiles(server);
  EXPECT_FALSE(GetMap(server).has_frame());
  Change(server, {}, CommitRequest(), BeginWith(OriginFrame()));
  EXPECT_EQ(FrameOf(server).SerializeAsString(), OriginFrame().SerializeAsString());
  EXPECT_EQ(GetMap(server).tiles(), 2);
  // It stays with commits that say nothing of it.
  Change(server, {RemoveRequest("west")});
  EXPECT_EQ(FrameOf(server).SerializeAsString(), OriginFrame().SerializeAsString());
}

TEST(MapFrames, OneThatDiffersIsRefused) {
  TestServer server;
  ASSERT_TRUE(LoadWith(server, MgrsFrame()).status.ok());
  // The same, written in another way.
  EXPECT_TRUE(RunUpdate(server, {BeginWith(MgrsFrame("54sue")), CommitRequest()}).status.ok());
  const UpdateOutcome other = RunUpdate(server, {BeginWith(MgrsFrame("54SUD")), CommitRequest()});
  EXPECT_EQ(other.status.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(ReasonOf(other.status), "MAP_HAS_OTHER_FRAME");
  EXPECT_THAT(other.status.error_message(),
              AllOf(HasSubstr("town"), HasSubstr("54SUE"), HasSubstr("54SUD")));
  EXPECT_EQ(GetMap(server).revision(), 2);
  EXPECT_EQ(FrameOf(server).projector().mgrs_grid(), "54SUE");
  // A map that was deleted may come back with another one.
  ASSERT_TRUE(DeleteMap(server, "town").ok());
  ASSERT_TRUE(LoadWith(server, MgrsFrame("54SUD")).status.ok());
  EXPECT_EQ(FrameOf(server).projector().mgrs_grid(), "54SUD");
}

TEST(MapFrames, OfTwoTransactionsTheFirstToCommitSetsIt) {
  TestServer server;
  LoadTwoTiles(server);
  TestUpdate slow(server);
  slow.Write(BeginWith(MgrsFrame("54SUD")));
  ASSERT_TRUE(slow.Read().has_begun());
  Change(server, {}, CommitRequest(), BeginWith(MgrsFrame()));
  slow.Write(CommitRequest());
  EXPECT_FALSE(slow.Read().has_committed());
  EXPECT_EQ(slow.Finish().error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(FrameOf(server).projector().mgrs_grid(), "54SUE");
  EXPECT_EQ(GetMap(server).revision(), 2);
}

TEST(MapFrames, ComeBackAfterARestart) {
  const ScratchDir directory;
  const auto start = [&directory] {
    return std::make_unique<TestServer>(
        [&directory](Config& config) { config.data_dir = directory.Path("maps"); });
  };
  v1::MapFrame frame = OriginFrame();
  v1::MapProjector& projector = *frame.mutable_projector();
  projector.set_projector_type("TransverseMercator");
  projector.set_vertical_datum("EGM2008");
  projector.mutable_map_origin()->set_latitude_deg(-33.8567844);
  projector.mutable_map_origin()->set_longitude_deg(151.213108);
  projector.set_scale_factor(0.9999);
  ASSERT_TRUE(LoadWith(*start(), frame).status.ok());
  const auto server = start();
  AwaitTown(*server);
  EXPECT_EQ(FrameOf(*server).SerializeAsString(), frame.SerializeAsString());
}

TEST(MapFrames, MalformedOnesAreNamedAndTheServerGoesOn) {
  TestServer server;
  const std::vector<std::pair<std::function<void(v1::MapFrame&)>, std::string>> cases = {
      {[](auto& f) { f.clear_projector(); }, "frame must have a projector or an origin"},
      {[](auto& f) { f.mutable_projector()->set_projector_type(""); },
       "projector_type must be one of Local, MGRS,"},
      {[](auto& f) { f.mutable_projector()->mutable_map_origin(); }, "map_origin must be unset"},
      {[](auto& f) { f.mutable_origin()->set_x_axis_yaw_rad(1.0); }, "origin must have a point"},
      {[](auto& f) { f.mutable_origin()->mutable_point()->set_latitude_deg(-91.0); },
       "frame.origin.point.latitude_deg must be from -90 to 90 (got -91)"},
  };
  for (const auto& [change, says] : cases) {
    v1::MapFrame frame = MgrsFrame();
    change(frame);
    const UpdateOutcome outcome = LoadWith(server, frame);
    EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << says;
    EXPECT_THAT(outcome.status.error_message(), HasSubstr(says));
  }
  EXPECT_TRUE(LoadWith(server, MgrsFrame()).status.ok());
}

}  // namespace
}  // namespace voxloc::server
