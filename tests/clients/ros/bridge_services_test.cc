// SPDX-License-Identifier: Apache-2.0
//
// The services, the map feeder and the loaded map, with the real server.

#include <gmock/gmock.h>

#include <future>

#include "clients/ros/core/bridge.h"
#include "tests/clients/ros/bridge_fixture.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"

namespace voxloc::ros {
namespace {

using server::TestServer;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class BridgeServicesTest : public BridgeFixture {
 protected:
  void SetUp() override {
    server_.LoadTown();
    parameters_.initial_pose_estimation.particles_num = 40;
    parameters_.initial_pose_estimation.n_startup_trials = 20;
  }
  void TearDown() override { bridge_.reset(); }
  void Start() {
    StartBridge(server_.server().address());
    ASSERT_TRUE(AwaitConnection());
  }

  AlignResponse Align(const PoseWithCovarianceStamped& request) {
    auto promise = std::make_shared<std::promise<AlignResponse>>();
    bridge().Align(request,
                   [promise](const AlignResponse& response) { promise->set_value(response); });
    return Await(promise);
  }
  AlignResponse Await(const std::shared_ptr<std::promise<AlignResponse>>& promise) {
    std::future<AlignResponse> future = promise->get_future();
    if (future.wait_for(std::chrono::seconds(60)) != std::future_status::ready) {
      ADD_FAILURE() << "no response";
      return {};
    }
    return future.get();
  }
  DiagnosticStatus AlignStatus() {
    EXPECT_TRUE(
        Eventually([this] { return !fakes_.output.Statuses("ndt_align_service_status").empty(); }));
    return fakes_.output.Statuses("ndt_align_service_status").back();
  }

  // Half a metre off, as wide as Autoware's pose_initializer says of GNSS, but for the heading.
  static PoseWithCovarianceStamped Request() {
    PoseWithCovarianceStamped request;
    request.header = {42, "map"};
    request.pose = TruthAt(0);
    request.pose.translation += Eigen::Vector3d(0.4, -0.3, 0.0);
    request.covariance.diagonal() << 1.0, 1.0, 0.01, 0.01, 0.01, 10.0;
    return request;
  }

  TestServer server_;
};

TEST_F(BridgeServicesTest, AlignFindsTheVehicleWithAScanFromBeforeItsActivation) {
  fakes_.output.Subscribe(Topic::kMonteCarloInitialPoseMarker);
  Start();
  SendScan(0);
  const AlignResponse response = Align(Request());
  EXPECT_TRUE(response.success) << response.detail;
  EXPECT_TRUE(response.reliable);
  EXPECT_EQ(response.pose_with_covariance.header.stamp_ns, 42);
  EXPECT_EQ(response.pose_with_covariance.header.frame_id, "map");
  EXPECT_EQ(response.pose_with_covariance.covariance, Request().covariance);
  EXPECT_LT(TranslationDistance(response.pose_with_covariance.pose, TruthAt(0)), 0.1);
  const DiagnosticStatus status = AlignStatus();
  EXPECT_EQ(status.level, DiagnosticStatus::kOk) << status.message;
  EXPECT_THAT(KeysOf(status),
              ElementsAre("service_call_time_stamp", "is_succeed_transform_initial_pose",
                          "is_set_map_points", "is_set_sensor_points", "best_particle_score",
                          "is_succeed_service"));
  EXPECT_GT(std::stod(ValueOf(status, "best_particle_score")), 2.3);
  size_t arrows = 0;
  for (const auto& markers :
       fakes_.output.Of<std::vector<ArrowMarker>>(Topic::kMonteCarloInitialPoseMarker)) {
    arrows += markers.size();
  }
  EXPECT_EQ(arrows, 6u * 40u);

  // As pose_initializer goes on: activate, and track from the found pose.
  EXPECT_TRUE(bridge().Trigger(true).success);
  EXPECT_EQ(Drive(1).level, DiagnosticStatus::kOk);
}

TEST_F(BridgeServicesTest, AlignMovesThePoseIntoTheMapFrame) {
  const Pose map_T_viewer{{2.0, 1.0, 0.0}, Eigen::Quaterniond::Identity()};
  fakes_.transforms.Set("map", "viewer", map_T_viewer);
  Start();
  SendScan(0);
  PoseWithCovarianceStamped request = Request();
  request.header.frame_id = "viewer";
  request.pose = map_T_viewer.Inverse() * request.pose;
  const AlignResponse response = Align(request);
  EXPECT_TRUE(response.success) << response.detail;
  EXPECT_LT(TranslationDistance(response.pose_with_covariance.pose, TruthAt(0)), 0.1);
}

TEST_F(BridgeServicesTest, AlignFailsAsAutowaresDoes) {
  Start();
  PoseWithCovarianceStamped request = Request();
  request.header.frame_id = "gnss_link";
  AlignResponse response = Align(request);
  EXPECT_FALSE(response.success);
  EXPECT_EQ(AlignStatus().level, DiagnosticStatus::kError);
  EXPECT_EQ(ValueOf(AlignStatus(), "is_succeed_transform_initial_pose"), "False");
  EXPECT_EQ(ValueOf(AlignStatus(), "is_succeed_service"), "False");

  response = Align(Request());
  EXPECT_FALSE(response.success) << "no scan has come";
  EXPECT_THAT(response.detail, HasSubstr("no scan"));
  ASSERT_TRUE(Eventually(
      [this] { return fakes_.output.Statuses("ndt_align_service_status").size() == 2; }));
  EXPECT_EQ(ValueOf(AlignStatus(), "is_set_sensor_points"), "False");
  EXPECT_EQ(AlignStatus().level, DiagnosticStatus::kWarn);

  // Autoware's own test: first far from the map, then right.
  SendScan(0);
  request = Request();
  request.pose.translation.x() = 5000.0;
  response = Align(request);
  EXPECT_FALSE(response.success);
  ASSERT_TRUE(Eventually(
      [this] { return fakes_.output.Statuses("ndt_align_service_status").size() == 3; }));
  EXPECT_EQ(ValueOf(AlignStatus(), "is_set_map_points"), "False");
  EXPECT_TRUE(Align(Request()).success);
}

TEST_F(BridgeServicesTest, CallsThatCannotWaitAreRefusedAndAllAreAnsweredAtTheEnd) {
  Start();
  SendScan(0);
  parameters_.initial_pose_estimation.particles_num = 40;
  std::atomic<int> answers{0};
  std::atomic<int> successes{0};
  constexpr int kCalls = 12;
  for (int i = 0; i < kCalls; ++i) {
    bridge().Align(Request(), [&](const AlignResponse& response) {
      ++answers;
      if (response.success) ++successes;
    });
  }
  EXPECT_GE(answers, kCalls - 1 - static_cast<int>(AlignService::kMaxWaiting) - 1);
  bridge_.reset();
  EXPECT_EQ(answers, kCalls);
  EXPECT_LT(successes, kCalls);
}

TEST_F(BridgeServicesTest, ReinitializeSearchesTheWholeMap) {
  parameters_.voxloc.guess_source = "odometry";
  parameters_.voxloc.odom_frame = "odom";
  parameters_.voxloc.activate_at_start = true;
  fakes_.transforms.Set("odom", "base_link", Pose());
  Start();
  SendScan(0);
  auto promise = std::make_shared<std::promise<AlignResponse>>();
  bridge().Reinitialize([promise](const AlignResponse& response) { promise->set_value(response); });
  const AlignResponse response = Await(promise);
  ASSERT_TRUE(response.success) << response.detail;
  EXPECT_LT(TranslationDistance(response.pose_with_covariance.pose, TruthAt(0)), 0.3);
  if (!response.reliable || response.ambiguous) GTEST_SKIP() << "the town looks alike elsewhere";
  const size_t before = ScanStatuses().size();
  SendScan(0);
  ASSERT_TRUE(AwaitStatuses(before + 1));
  const auto poses = fakes_.output.Of<PoseStamped>(Topic::kNdtPose);
  ASSERT_FALSE(poses.empty()) << ScanStatuses().back().message;
  EXPECT_LT(TranslationDistance(poses.back().pose, TruthAt(0)), 0.05);
}

TEST_F(BridgeServicesTest, APlanarPoseOfAPersonIsRaisedToTheMap) {
  parameters_.voxloc.guess_source = "odometry";
  parameters_.voxloc.odom_frame = "odom";
  parameters_.voxloc.activate_at_start = true;
  fakes_.transforms.Set("odom", "base_link", Pose());
  Start();
  SendScan(0);
  ASSERT_TRUE(AwaitStatuses(1));
  // As of RViz over a map whose ground is 40 m higher; its variances along z, roll and pitch are 0.
  PoseWithCovarianceStamped given;
  given.header.frame_id = "map";
  given.pose = TruthAt(0);
  given.pose.translation.z() -= 40.0;
  given.covariance(0, 0) = given.covariance(1, 1) = 0.25;
  given.covariance(5, 5) = 0.07;
  bridge().OnUserPose(given);
  size_t statuses = 1;
  EXPECT_TRUE(Eventually([&] {
    SendScan(0);
    return AwaitStatuses(++statuses) && fakes_.output.Count(Topic::kNdtPose) > 0;
  }));
  const auto poses = fakes_.output.Of<PoseStamped>(Topic::kNdtPose);
  ASSERT_FALSE(poses.empty());
  EXPECT_LT(TranslationDistance(poses.back().pose, TruthAt(0)), 0.05);
}

// A loader that has the town as two tiles.
class TownLoader : public MapLoader {
 public:
  TownLoader() {
    const PointCloud town = server::SmallTown();
    PointCloud halves[2];
    for (size_t i = 0; i < town.size(); ++i) {
      const Eigen::Vector3f point = town.Point(i).cast<float>();
      halves[point.x() < 0.0F ? 0 : 1].PushBack(point.x(), point.y(), point.z());
    }
    for (const PointCloud& half : halves) tiles_.push_back(MessageOf(half));
  }

  [[nodiscard]] bool IsReady() const override { return ready; }
  void Request(const MapAreaRequest& request, Done done) override {
    requests.push_back(request);
    Area area;
    for (size_t i = 0; i < tiles_.size(); ++i) {
      const std::string id = "tile" + std::to_string(i) + ".pcd";
      const auto& cached = request.cached_ids;
      if (std::find(cached.begin(), cached.end(), id) != cached.end()) continue;
      area.tiles_to_add.push_back({id, tiles_[i].View()});
    }
    area.ids_to_remove = remove;
    done(std::move(area));
  }

  std::atomic<bool> ready{false};
  std::vector<MapAreaRequest> requests;  // read while no request is open
  std::vector<std::string> remove;

 private:
  std::vector<TestCloud> tiles_;
};

TEST_F(BridgeServicesTest, TheFeederBringsTheLoadersTilesToTheServerAndRemovesNone) {
  TownLoader loader;
  map_loader_ = &loader;
  parameters_.voxloc.map_feeder_enable = true;
  parameters_.voxloc.map_feeder_map = "fed";
  parameters_.voxloc.activate_at_start = true;
  parameters_.dynamic_map_loading.publish_loaded_map = true;
  Start();
  SendPosesAround(0);
  const auto update = [this] {
    DiagnosticStatus status;
    EXPECT_TRUE(Eventually([&] {
      const size_t before = fakes_.output.Statuses("map_update_status").size();
      bridge().OnTimer();
      EXPECT_TRUE(
          Eventually([&] { return fakes_.output.Statuses("map_update_status").size() > before; }));
      status = fakes_.output.Statuses("map_update_status").back();
      // While the last update is still being put away none is made.
      return KeysOf(status).size() > 3;
    }));
    return status;
  };
  DiagnosticStatus status = update();
  EXPECT_EQ(status.level, DiagnosticStatus::kWarn);
  EXPECT_EQ(ValueOf(status, "is_succeed_call_pcd_loader"), "False");
  // Unlike Autoware, which waits until the vehicle has moved by 20 m, it asks again at once.
  loader.ready = true;
  loader.remove = {"another_vehicles_tile"};
  status = update();
  EXPECT_EQ(status.level, DiagnosticStatus::kOk) << status.message;
  EXPECT_THAT(KeysOf(status),
              ElementsAre("timer_callback_time_stamp", "is_activated",
                          "is_set_last_update_position", "is_need_rebuild", "maps_size_before",
                          "is_succeed_call_pcd_loader", "maps_to_add_size", "maps_to_remove_size",
                          "map_update_execution_time", "maps_size_after", "is_updated_map"));
  EXPECT_EQ(ValueOf(status, "maps_to_add_size"), "2");
  EXPECT_EQ(ValueOf(status, "maps_to_remove_size"), "1");
  EXPECT_EQ(ValueOf(status, "maps_size_after"), "2");
  ASSERT_EQ(loader.requests.size(), 1u);
  EXPECT_THAT(loader.requests[0].cached_ids, IsEmpty());
  EXPECT_EQ(loader.requests[0].radius, 150.0F);

  v1::GetMapRequest request;
  request.set_map("fed");
  v1::GetMapResponse map;
  const auto context = TestServer::NewContext();
  ASSERT_TRUE(server_.maps->GetMap(context.get(), request, &map).ok());
  EXPECT_EQ(map.map().tiles(), 2u);
  EXPECT_EQ(map.map().points(), server::SmallTown().size());

  // A second vehicle, or the same after a restart, knows what is there.
  bridge_.reset();
  Start();
  SendPosesAround(0);
  status = update();
  EXPECT_EQ(ValueOf(status, "is_updated_map"), "False");
  ASSERT_EQ(loader.requests.size(), 2u);
  EXPECT_THAT(loader.requests[1].cached_ids, ElementsAre("tile0.pcd", "tile1.pcd"));
}

TEST_F(BridgeServicesTest, TheLoadedMapIsPublishedWhileSomebodyListens) {
  parameters_.dynamic_map_loading.publish_loaded_map = true;
  parameters_.voxloc.activate_at_start = true;
  Start();
  SendPosesAround(0);
  bridge().OnTimer();
  fakes_.output.Subscribe(Topic::kLoadedPointCloudMap);
  bridge().OnTimer();
  ASSERT_TRUE(Eventually([this] { return fakes_.output.Count(Topic::kLoadedPointCloudMap) == 1; }));
  const auto cloud = fakes_.output.Of<PointCloud2>(Topic::kLoadedPointCloudMap).front();
  EXPECT_EQ(cloud.width, server::SmallTown().size());
  EXPECT_EQ(cloud.header.frame_id, "map");
  EXPECT_EQ(cloud.data.size(), size_t{cloud.width} * 12);
}

}  // namespace
}  // namespace voxloc::ros
