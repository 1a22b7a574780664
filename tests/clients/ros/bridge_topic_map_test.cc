// SPDX-License-Identifier: Apache-2.0
//
// The map of the topic pointcloud_map, with the real server.

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

#include "clients/ros/core/parameter_table.h"
#include "clients/ros/core/topic_map.h"
#include "tests/clients/ros/bridge_fixture.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"

namespace voxloc::ros {
namespace {

using server::TestServer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The first points of the small town, all by default.
TestCloud TownMessage(int64_t stamp_ns, size_t points = std::numeric_limits<size_t>::max()) {
  PointCloud map;
  const PointCloud town = server::SmallTown();
  for (size_t i = 0; i < std::min(points, town.size()); ++i) {
    const Eigen::Vector3f point = town.Point(i).cast<float>();
    map.PushBack(point.x(), point.y(), point.z());
  }
  TestCloud message = MessageOf(map);
  message.header = {stamp_ns, "map"};
  return message;
}

class TopicMapTest : public BridgeFixture {
 protected:
  void SetUp() override {
    parameters_.voxloc.pointcloud_map = true;
    parameters_.voxloc.activate_at_start = true;
  }
  void TearDown() override { bridge_.reset(); }

  // Publishes the map; its status.
  DiagnosticStatus Publish(const TestCloud& map) {
    const size_t before = fakes_.output.Statuses("pointcloud_map_status").size();
    bridge().OnPointCloudMap(map.View());
    EXPECT_TRUE(Eventually(
        [&] { return fakes_.output.Statuses("pointcloud_map_status").size() > before; }));
    return fakes_.output.Statuses("pointcloud_map_status").back();
  }
};

TEST_F(TopicMapTest, BecomesTheMapOfTheSession) {
  TestServer server;
  StartBridge(server.server().address());
  TestCloud town = TownMessage(7);
  town.Put(0, 8, std::numeric_limits<float>::quiet_NaN());
  DiagnosticStatus status = Publish(town);
  EXPECT_EQ(status.level, DiagnosticStatus::kOk) << status.message;
  EXPECT_THAT(KeysOf(status),
              ElementsAre("topic_time_stamp", "map", "points_left_out", "tiles", "is_loaded",
                          "points", "tiles_sent", "map_revision", "execution_time"));
  EXPECT_EQ(ValueOf(status, "topic_time_stamp"), "7");
  EXPECT_EQ(ValueOf(status, "points"), std::to_string(server::SmallTown().size() - 1));
  EXPECT_EQ(ValueOf(status, "points_left_out"), "1");
  EXPECT_EQ(ValueOf(status, "tiles"), "4") << "of 50 m";
  EXPECT_EQ(ValueOf(status, "map_revision"), "1");
  ASSERT_TRUE(AwaitConnection());
  EXPECT_EQ(Drive(0).level, DiagnosticStatus::kOk);

  // The same map once more, as after a restart of either node, and a smaller one.
  status = Publish(town);
  EXPECT_EQ(ValueOf(status, "tiles_sent"), "0");
  EXPECT_EQ(ValueOf(status, "map_revision"), "1");
  status = Publish(TownMessage(8, 1000));
  EXPECT_EQ(ValueOf(status, "points"), "1000");
  EXPECT_EQ(ValueOf(status, "map_revision"), "2");
  v1::GetMapRequest request;
  request.set_map("town");
  v1::GetMapResponse map;
  ASSERT_TRUE(server.maps->GetMap(TestServer::NewContext().get(), request, &map).ok());
  EXPECT_EQ(map.map().points(), 1000u) << "what was there before is gone";
}

TEST_F(TopicMapTest, RefusesWhatIsNoMap) {
  StartBridge("unix:/nowhere");
  const auto error = [this](const TestCloud& map) {
    const DiagnosticStatus status = Publish(map);
    EXPECT_EQ(status.level, DiagnosticStatus::kError);
    EXPECT_EQ(ValueOf(status, "is_loaded"), "False");
    return status.message;
  };
  TestCloud map = TownMessage(7, 10);
  map.header.frame_id = "base_link";
  EXPECT_THAT(error(map), HasSubstr("frame_id of the map must be 'map' (got 'base_link')"));
  map = TownMessage(7, 10);
  map.fields.pop_back();
  EXPECT_THAT(error(map), HasSubstr("z"));
  EXPECT_THAT(error(TownMessage(7, 0)), HasSubstr("must have finite points (got 0 points"));
  map = TownMessage(7, 10);
  map.width = TopicMap::kMaxPoints + 1;
  EXPECT_THAT(error(map), HasSubstr("at most 20000000 points (got 20000001)"));
  EXPECT_THAT(fakes_.log.lines(), testing::Contains(HasSubstr("the map on pointcloud_map")));
}

TEST_F(TopicMapTest, WaitsForTheServer) {
  auto server = std::make_unique<TestServer>();
  const std::string address = server->server().address();
  server = nullptr;
  client::ChannelOptions options;
  options.server = address;
  const auto channel = client::Channel::Create(options);
  ASSERT_TRUE(channel.ok()) << channel.status();
  parameters_.voxloc.map = "town";
  TopicMap map(
      *channel, parameters_, "node",
      [this](int64_t stamp_ns, const DiagnosticStatus& status) {
        fakes_.output.PublishDiagnostics(stamp_ns, status);
      },
      /*retry_s=*/0.0);
  map.Set(TownMessage(7).View());
  const auto statuses = [this] { return fakes_.output.Statuses("pointcloud_map_status"); };
  ASSERT_TRUE(Eventually([&] { return !statuses().empty(); }));
  EXPECT_EQ(statuses().back().level, DiagnosticStatus::kError);
  EXPECT_THAT(statuses().back().message, HasSubstr("was not loaded, and is tried again in 0 s"));

  server = std::make_unique<TestServer>([&](server::Config& config) { config.listen = address; });
  ASSERT_TRUE(Eventually([&] {
    map.OnTimer();
    return statuses().back().level == DiagnosticStatus::kOk;
  }));
  const size_t count = statuses().size();
  map.OnTimer();
  EXPECT_EQ(statuses().size(), count) << "it is loaded once";
}

TEST_F(TopicMapTest, IsNotTheMapOfTheFeeder) {
  parameters_.voxloc.map_feeder_enable = true;
  parameters_.voxloc.map_feeder_map = parameters_.voxloc.map;
  EXPECT_THAT(std::string(ValidateParameters(parameters_).message()),
              HasSubstr("voxloc.map_feeder.map must be another map"));
}

}  // namespace
}  // namespace voxloc::ros
