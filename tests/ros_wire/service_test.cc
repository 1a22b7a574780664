// SPDX-License-Identifier: Apache-2.0
//
// The services of the bridge on the wire, and the map that it gets from the peer's map loader.

#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "clients/dataset/cloud_sources.h"
#include "core/cloud/io/cloud_file.h"
#include "tests/ros_wire/bridge_test.h"

namespace voxloc::ros_wire {
namespace {

constexpr int64_t kScanPeriod_ns = 100'000'000;  // of the LiDAR
constexpr double kServiceNear_m =
    0.15;  // more than any error of these scans, less than those of priors

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

  // By their files.
  [[nodiscard]] static std::map<std::string, PointCloud> TilesOfTheTown() {
    const auto files = ListClouds((drive().map / "pointcloud_map.pcd").string());
    EXPECT_TRUE(files.ok()) << files.status();
    std::map<std::string, PointCloud> tiles;
    for (const std::string& file : *files) {
      tiles[file] = *ReadCloud(file);
      EXPECT_EQ(tiles[file].origin, Eigen::Vector3d::Zero());
    }
    return tiles;
  }

  // Sends scans of the vehicle, which stands: they are not found until the map is there.
  void ExpectFoundOnceTheMapIsThere() {
    std::optional<Diagnostic> status;
    int64_t stamp_ns = drive().truth.front().stamp_ns;
    ASSERT_TRUE(Eventually([&] {
      status = SendScanAt(0, stamp_ns += kScanPeriod_ns);
      return status.has_value() && status->level == kLevelOk;
    }));
    const std::vector<StampedPose> poses = AwaitPoses(1);
    ASSERT_FALSE(poses.empty());
    EXPECT_LT(TranslationDistance(poses.back().frame_T_base, drive().truth.front().pose),
              kServiceNear_m);
  }
};

// A robot without a filter of poses, as Nav2 has it: odometry in tf, and the node broadcasts the
// transform from the map to it.
class OdometryOnTheWire : public ServicesOnTheWire {
 protected:
  static constexpr char kOdom[] = "odom";

  void StartWithOdometry() {
    ros::Parameters parameters = Defaults();
    parameters.voxloc.guess_source = "odometry";
    parameters.voxloc.odom_frame = kOdom;
    parameters.voxloc.tf_output = "odom";
    parameters.voxloc.activate_at_start = true;
    ASSERT_NO_FATAL_FAILURE(Start(parameters, true));
  }

  // The next scan of the drive, with the odometry at its stamp. Its status.
  std::optional<Diagnostic> SendNext() {
    const voxloc::StampedPose& truth = drive().truth.at(next_++);
    SetTime(truth.stamp_ns);
    peer().PublishTransform(
        {truth.stamp_ns, kOdom, kBaseFrame, map_T_odom_.Inverse() * truth.pose});
    EXPECT_TRUE(Eventually([&] { return node().HasTransform(kOdom, kBaseFrame, truth.stamp_ns); }));
    return SendCloud(XyzCloud(drive().clouds.at(next_ - 1), truth.stamp_ns, kBaseFrame));
  }

  // Whether one of the next scans is found, where it was; the vehicle drives on meanwhile.
  [[nodiscard]] bool IsFoundEventually() {
    return Eventually([&] {
             if (next_ == drive().truth.size()) return true;
             const std::optional<Diagnostic> status = SendNext();
             return status.has_value() && status->level == kLevelOk;
           }) &&
           next_ < drive().truth.size();
  }

  // Poses are those of the drive, and transforms those of the odometry.
  void ExpectRight() {
    const std::vector<StampedPose> poses = AwaitPoses(1);
    ASSERT_FALSE(poses.empty());
    for (const StampedPose& pose : poses) {
      const size_t index =
          static_cast<size_t>((pose.stamp_ns - drive().truth[0].stamp_ns) / kScanPeriod_ns);
      EXPECT_LT(TranslationDistance(pose.frame_T_base, drive().truth.at(index).pose),
                kServiceNear_m);
    }
    std::vector<StampedTransform> of_node;
    EXPECT_TRUE(Eventually([&] {
      for (StampedTransform& transform : peer().TakeTransforms()) {
        if (transform.frame_id == "map") of_node.push_back(std::move(transform));
      }
      return !of_node.empty();
    }));
    for (const StampedTransform& transform : of_node) {
      EXPECT_EQ(transform.child_frame_id, kOdom);
      EXPECT_LT(RotationDistance(transform.frame_T_child, map_T_odom_), 0.02);
      EXPECT_LT(TranslationDistance(transform.frame_T_child, map_T_odom_), 1.0);
    }
  }

  // The odometry is right but for where it began.
  const Pose map_T_odom_ = {{12.0, -7.0, 0.3},
                            Eigen::Quaterniond(Eigen::AngleAxisd(1.1, Eigen::Vector3d::UnitZ()))};
  size_t next_ = 0;
};

TEST_F(OdometryOnTheWire, ThePoseOfAPersonIsCarriedOnByTheOdometry) {
  ASSERT_NO_FATAL_FAILURE(StartWithOdometry());
  ASSERT_TRUE(SendNext().has_value());
  ASSERT_TRUE(SendNext().has_value());
  EXPECT_EQ(peer().poses_received(), 0U) << "nobody knows where it is";
  StampedPose given = Prior(drive().truth.at(next_).pose);
  given.frame_T_base.translation += Eigen::Vector3d(0.3, -0.2, 0.0);
  peer().PublishInitialPose(given);
  ASSERT_TRUE(IsFoundEventually());
  for (int i = 0; i < 10; ++i) {
    const std::optional<Diagnostic> status = SendNext();
    ASSERT_TRUE(status.has_value());
    EXPECT_EQ(status->level, kLevelOk) << status->message;
  }
  ExpectRight();
}

TEST_F(OdometryOnTheWire, ReinitializeFindsTheRobotWithoutAnyPose) {
  ASSERT_NO_FATAL_FAILURE(StartWithOdometry());
  const std::optional<Diagnostic> status = SendNext();
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->level, kLevelWarn) << status->message;
  // It is answered at once, and the result comes with the scans after the search.
  ASSERT_TRUE(peer().CallReinitialize(kTestTimeout));
  ASSERT_TRUE(Eventually([&] {
    const auto answer = Newest("ndt_align_service_status");
    return answer.has_value() && answer->Find("is_succeed_service").has_value();
  }));
  EXPECT_EQ(Newest("ndt_align_service_status")->Find("is_succeed_service"), "True")
      << Newest("ndt_align_service_status")->message;
  ASSERT_TRUE(IsFoundEventually());
  ExpectRight();
}

TEST_F(ServicesOnTheWire, AlignFindsTheVehicleFromAPriorWithoutHeading) {
  ASSERT_NO_FATAL_FAILURE(Start(Defaults(), true));
  const voxloc::StampedPose& truth = drive().truth.front();
  Pose moved = truth.pose;
  moved.translation += Eigen::Vector3d(0.8, -0.6, 0.0);
  const StampedPose prior = Prior(moved);

  std::optional<AlignAnswer> answer = peer().CallAlign(prior, kTestTimeout);
  ASSERT_TRUE(answer.has_value());
  EXPECT_FALSE(answer->success) << "a search without a scan";

  // The scan is kept although the node is not active, as the order of pose_initializer needs.
  ASSERT_TRUE(SendScan(0).has_value());
  answer = peer().CallAlign(prior, kTestTimeout);
  ASSERT_TRUE(answer.has_value());
  EXPECT_TRUE(answer->success);
  EXPECT_TRUE(answer->reliable);
  EXPECT_EQ(answer->pose.frame_id, "map");
  EXPECT_EQ(answer->pose.stamp_ns, prior.stamp_ns);
  EXPECT_LT(TranslationDistance(answer->pose.frame_T_base, truth.pose), kServiceNear_m);
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
  std::optional<AlignAnswer> answer = peer().CallAlign(prior, kTestTimeout);
  ASSERT_TRUE(answer.has_value());
  EXPECT_FALSE(answer->success);
  std::optional<Diagnostic> status;
  ASSERT_TRUE(
      Eventually([&] { return (status = Newest("ndt_align_service_status")).has_value(); }));
  EXPECT_EQ(status->level, kLevelError);
  EXPECT_EQ(status->Find("is_succeed_transform_initial_pose"), "False");

  peer().PublishStaticTransform({0, "map", "site", map_T_site});
  ASSERT_TRUE(Eventually([&] {
    answer = peer().CallAlign(prior, kTestTimeout);
    return answer.has_value() && answer->success;
  }));
  EXPECT_EQ(answer->pose.frame_id, "map");
  EXPECT_LT(TranslationDistance(answer->pose.frame_T_base, truth.pose), kServiceNear_m);
}

TEST_F(ServicesOnTheWire, AVehicleDrivesOnAMapThatOnlyItsMapLoaderHas) {
  ros::Parameters parameters = Defaults();
  parameters.voxloc.map = "from_the_loader";
  parameters.voxloc.map_feeder_map = "from_the_loader";
  parameters.voxloc.map_feeder_enable = true;
  ASSERT_NO_FATAL_FAILURE(Start(parameters, true));
  std::vector<MapCell> cells;
  for (const auto& [file, points] : TilesOfTheTown()) {
    const Bounds bounds = ComputeBounds(points);
    const Eigen::Vector3f min = bounds.min.cast<float>();
    const Eigen::Vector3f max = bounds.max.cast<float>();
    cells.push_back({file, XyzCloud(points, 0, "map"), {min.x(), min.y(), max.x(), max.y()}});
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
  ASSERT_TRUE(peer().CallTrigger(true, kTestTimeout).has_value());

  // The timer asks for the map around the newest pose.
  ExpectFoundOnceTheMapIsThere();
  const absl::MutexLock lock(&mutex);
  ASSERT_FALSE(questions.empty());
  EXPECT_EQ(questions.front().radius_m, 150.0);  // dynamic_map_loading.map_radius
  EXPECT_TRUE(questions.front().cached_ids.empty());
}

TEST_F(ServicesOnTheWire, AVehicleDrivesOnTheMapOfATopic) {
  ros::Parameters parameters = Defaults();
  parameters.voxloc.map = "from_the_topic";
  parameters.voxloc.pointcloud_map = true;
  PointCloud town;
  for (const auto& [file, points] : TilesOfTheTown()) Append(points, town);
  ASSERT_NO_FATAL_FAILURE(Start(parameters, true));
  // The map was published before the node came.
  StopBridge();
  peer().PublishMap(XyzCloud(town, 0, "map"));
  ASSERT_NO_FATAL_FAILURE(StartBridge(parameters, true));
  ASSERT_TRUE(peer().AwaitNode(kTestTimeout));
  ASSERT_TRUE(Eventually([&] { return node().HasDiagnosticsReader(); }));
  ASSERT_NO_FATAL_FAILURE(SetTime(drive().truth.front().stamp_ns));
  ASSERT_TRUE(peer().CallTrigger(true, kTestTimeout).has_value());
  ExpectFoundOnceTheMapIsThere();
}

}  // namespace
}  // namespace voxloc::ros_wire
