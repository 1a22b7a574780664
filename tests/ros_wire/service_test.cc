// SPDX-License-Identifier: Apache-2.0
//
// The services of the bridge on the wire, and the map that it gets from the peer's map loader.

#include <gmock/gmock.h>

#include <set>
#include <string>
#include <vector>

#include "clients/dataset/scan_directory.h"
#include "core/cloud/io/cloud_file.h"
#include "tests/ros_wire/bridge_test.h"

namespace voxloc::ros_wire {
namespace {

constexpr int64_t kScanPeriod_ns = 100'000'000;  // of the LiDAR
constexpr double kNear_m = 0.15;  // more than any error of these scans, less than those of priors

class ServicesOnTheWire : public BridgeTest {
 protected:
  // As pose_initializer calls it with a pose from GNSS.
  [[nodiscard]] static StampedPose Prior(const Pose& map_T_base) {
    StampedPose prior;
    prior.stamp_ns = drive().truth.front().stamp_ns;
    prior.frame_id = "map";
    prior.frame_T_base = map_T_base;
    prior.covariance[0] = prior.covariance[7] = 1.0;
    prior.covariance[14] = prior.covariance[21] = prior.covariance[28] = 0.01;
    prior.covariance[35] = 10.0;
    return prior;
  }
};

TEST_F(ServicesOnTheWire, AlignFindsTheVehicleFromAPriorWithoutHeading) {
  ASSERT_NO_FATAL_FAILURE(Start(Defaults(), true));
  const voxloc::StampedPose& truth = drive().truth.front();
  Pose moved = truth.pose;
  moved.translation += Eigen::Vector3d(0.8, -0.6, 0.0);
  const StampedPose prior = Prior(moved);

  std::optional<AlignAnswer> answer = peer().CallAlign(prior, kLongestWait);
  ASSERT_TRUE(answer.has_value());
  EXPECT_FALSE(answer->success) << "a search without a scan";

  // The scan is kept although the node is not active, as the order of pose_initializer needs.
  ASSERT_TRUE(SendScan(0).has_value());
  answer = peer().CallAlign(prior, kLongestWait);
  ASSERT_TRUE(answer.has_value());
  EXPECT_TRUE(answer->success);
  EXPECT_TRUE(answer->reliable);
  EXPECT_EQ(answer->pose.frame_id, "map");
  EXPECT_EQ(answer->pose.stamp_ns, prior.stamp_ns);
  EXPECT_LT(TranslationDistance(answer->pose.frame_T_base, truth.pose), kNear_m);
  EXPECT_LT(RotationDistance(answer->pose.frame_T_base, truth.pose), 0.02);
  EXPECT_EQ(answer->pose.covariance, prior.covariance);
  EXPECT_TRUE(Eventually([&] {
    const auto status = Newest("ndt_align_service_status");
    return status.has_value() && status->Find("is_succeed_service") == "True" &&
           status->Find("best_particle_score").has_value();
  }));
}

TEST_F(ServicesOnTheWire, AlignTakesPriorsOfFramesThatItKnows) {
  ASSERT_NO_FATAL_FAILURE(Start(Defaults(), true));
  ASSERT_TRUE(SendScan(0).has_value());
  const voxloc::StampedPose& truth = drive().truth.front();
  const Pose map_T_site = {{5.0, -3.0, 0.5},
                           Eigen::Quaterniond(Eigen::AngleAxisd(0.7, Eigen::Vector3d::UnitZ()))};
  StampedPose prior = Prior(map_T_site.Inverse() * truth.pose);
  prior.frame_id = "site";
  std::optional<AlignAnswer> answer = peer().CallAlign(prior, kLongestWait);
  ASSERT_TRUE(answer.has_value());
  EXPECT_FALSE(answer->success);
  std::optional<Diagnostic> status;
  ASSERT_TRUE(
      Eventually([&] { return (status = Newest("ndt_align_service_status")).has_value(); }));
  EXPECT_EQ(status->level, kLevelError);
  EXPECT_EQ(status->Find("is_succeed_transform_initial_pose"), "False");

  peer().PublishStaticTransform({0, "map", "site", map_T_site});
  ASSERT_TRUE(Eventually([&] {
    answer = peer().CallAlign(prior, kLongestWait);
    return answer.has_value() && answer->success;
  }));
  EXPECT_EQ(answer->pose.frame_id, "map");
  EXPECT_LT(TranslationDistance(answer->pose.frame_T_base, truth.pose), kNear_m);
}

TEST_F(ServicesOnTheWire, AVehicleDrivesOnAMapThatOnlyItsMapLoaderHas) {
  ros::Parameters parameters = Defaults();
  parameters.voxloc.map = "from_the_loader";
  parameters.voxloc.map_feeder_map = "from_the_loader";
  parameters.voxloc.map_feeder_enable = true;
  ASSERT_NO_FATAL_FAILURE(Start(parameters, true));
  const auto files = ListClouds((drive().map / "pointcloud_map.pcd").string());
  ASSERT_TRUE(files.ok()) << files.status();
  std::vector<MapCell> cells;
  for (const std::string& file : *files) {
    const auto points = ReadCloud(file);
    ASSERT_TRUE(points.ok()) << points.status();
    ASSERT_EQ(points->origin, Eigen::Vector3d::Zero());
    const Bounds bounds = ComputeBounds(*points);
    const Eigen::Vector3f min = bounds.min.cast<float>();
    const Eigen::Vector3f max = bounds.max.cast<float>();
    cells.push_back({file, XyzCloud(*points, 0, "map"), {min.x(), min.y(), max.x(), max.y()}});
  }
  absl::Mutex mutex;
  std::vector<MapQuestion> questions;
  peer().OfferMap([&](const MapQuestion& question) {
    const absl::MutexLock lock(&mutex);
    questions.push_back(question);
    const std::set<std::string> cached(question.cached_ids.begin(), question.cached_ids.end());
    MapAnswer answer;
    for (const MapCell& cell : cells) {
      if (cached.count(cell.id) == 0) answer.added.push_back(cell);
    }
    return answer;
  });
  ASSERT_NO_FATAL_FAILURE(SetTime(drive().truth.front().stamp_ns));
  ASSERT_TRUE(peer().CallTrigger(true, kLongestWait).has_value());

  // The timer asks for the map around the newest pose; until the map is there scans are not found.
  // The vehicle stands.
  std::optional<Diagnostic> status;
  int64_t stamp_ns = drive().truth.front().stamp_ns;
  ASSERT_TRUE(Eventually([&] {
    status = SendScanAt(0, stamp_ns += kScanPeriod_ns);
    return status.has_value() && status->level == kLevelOk;
  }));
  const std::vector<StampedPose> poses = AwaitPoses(1);
  ASSERT_FALSE(poses.empty());
  EXPECT_LT(TranslationDistance(poses.back().frame_T_base, drive().truth.front().pose), kNear_m);
  const absl::MutexLock lock(&mutex);
  ASSERT_FALSE(questions.empty());
  EXPECT_EQ(questions.front().radius_m, 150.0);  // dynamic_map_loading.map_radius
  EXPECT_TRUE(questions.front().cached_ids.empty());
}

}  // namespace
}  // namespace voxloc::ros_wire
