// SPDX-License-Identifier: Apache-2.0
//
// What the bridge publishes for people and for logs, on the wire: each topic of a scan against the
// others of the same scan, against the cloud that was sent, and against the map's files.

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/dataset/cloud_sources.h"
#include "core/cloud/io/cloud_file.h"
#include "tests/ros_wire/bridge_test.h"

namespace voxloc::ros_wire {
namespace {

constexpr double kTwoPi = 6.283185307179586;
// Rounding of coordinates below 128 m to float32.
constexpr double kFloatStep_m = 2e-5;

std::vector<Eigen::Vector3f> PointsOf(const Cloud& cloud) {
  std::vector<Eigen::Vector3f> points(cloud.width);
  for (size_t i = 0; i < points.size(); ++i) {
    std::memcpy(points[i].data(), cloud.data.data() + i * cloud.point_step, 12);
  }
  return points;
}

std::vector<std::string> FieldNames(const Cloud& cloud) {
  std::vector<std::string> names;
  for (const CloudField& field : cloud.fields) names.push_back(field.name);
  return names;
}

// Where a colour lies on Autoware's scale, 0 to 1: from blue over cyan, green and yellow to red.
double ShareOf(double r, double g, double b) {
  if (r <= 0.0 && b >= 1.0) return std::asin(g) / kTwoPi;
  if (r <= 0.0) return 0.5 - std::asin(b) / kTwoPi;
  if (g >= 1.0) return 0.5 + std::asin(r) / kTwoPi;
  return 1.0 - std::asin(g) / kTwoPi;
}

double Distance(const Pose& a, const Pose& b) { return TranslationDistance(a, b); }

// What has come, by topic and stamp.
struct Received {
  std::map<int64_t, Pose> poses;  // ndt_pose
  std::map<int64_t, Pose> guesses;
  std::map<int64_t, Pose> relative;
  std::map<std::string, std::map<int64_t, Cloud>> clouds;
  std::map<std::string, std::map<int64_t, StampedPoses>> arrays;
  std::map<int64_t, StampedArrows> steps;
  std::map<std::string, std::map<int64_t, double>> numbers;
};

constexpr char kAligned[] = "points_aligned";
constexpr char kNoGround[] = "points_aligned_no_ground";
constexpr char kScores[] = "voxel_score_points";
constexpr char kMap[] = "debug/loaded_pointcloud_map";

class DebugTopicsOnTheWire : public BridgeTest {
 protected:
  void Collect() {
    for (const StampedPose& pose : peer().TakePoses()) {
      received_.poses[pose.stamp_ns] = pose.frame_T_base;
    }
    for (const StampedPose& pose : peer().TakeInitialPoses()) {
      received_.guesses[pose.stamp_ns] = pose.frame_T_base;
    }
    for (const StampedPose& pose : peer().TakeRelativePoses()) {
      received_.relative[pose.stamp_ns] = pose.frame_T_base;
    }
    for (const char* topic : {kAligned, kNoGround, kScores, kMap}) {
      for (Cloud& cloud : peer().TakeClouds(topic)) {
        received_.clouds[topic][cloud.stamp_ns] = std::move(cloud);
      }
    }
    for (const char* topic : {"multi_ndt_pose", "multi_initial_pose"}) {
      for (StampedPoses& poses : peer().TakePoseArrays(topic)) {
        received_.arrays[topic][poses.stamp_ns] = std::move(poses);
      }
    }
    for (StampedArrows& arrows : peer().TakeArrows("ndt_marker")) {
      received_.steps[arrows.stamp_ns] = std::move(arrows);
    }
    for (const std::string& topic : NumberTopics()) {
      for (const StampedNumber& number : peer().TakeNumbers(topic)) {
        received_.numbers[topic][number.stamp_ns] = number.value;
      }
    }
  }

  // Whether everything of that scan has come.
  [[nodiscard]] bool IsComplete(int64_t stamp_ns) const {
    const auto has = [stamp_ns](const auto& by_stamp) { return by_stamp.count(stamp_ns) > 0; };
    const Received& r = received_;
    bool complete = has(r.poses) && has(r.guesses) && has(r.relative) && has(r.steps);
    for (const char* topic : {kAligned, kNoGround, kScores}) {
      complete = complete && r.clouds.count(topic) > 0 && has(r.clouds.at(topic));
    }
    for (const char* topic : {"multi_ndt_pose", "multi_initial_pose"}) {
      complete = complete && r.arrays.count(topic) > 0 && has(r.arrays.at(topic));
    }
    for (const std::string& topic : NumberTopics()) {
      complete = complete && r.numbers.count(topic) > 0 && has(r.numbers.at(topic));
    }
    return complete;
  }

  // The poses of the vehicle's filter around a scan, 40 ms before it and after it.
  [[nodiscard]] static Pose PoseBefore(size_t index) {
    Pose pose = drive().guessed[index].pose;
    pose.translation -= Eigen::Vector3d(0.1, 0.04, 0.0);
    return pose;
  }
  [[nodiscard]] static Pose PoseAfter(size_t index) {
    Pose pose = drive().guessed[index].pose;
    pose.translation += Eigen::Vector3d(0.1, 0.04, 0.0);
    return pose;
  }
  std::optional<Diagnostic> SendBetweenPoses(size_t index) {
    constexpr int64_t kApart_ns = 40'000'000;
    const int64_t stamp_ns = drive().truth[index].stamp_ns;
    SetTime(stamp_ns + kApart_ns);
    GivePose(stamp_ns - kApart_ns, PoseBefore(index));
    GivePose(stamp_ns + kApart_ns, PoseAfter(index));
    return SendCloud(XyzCloud(drive().clouds[index], stamp_ns, kBaseFrame));
  }

  // Drives until a scan has everything, and the map is there. Its index; what is sent with a scan
  // is asked for once its topics have found their subscribers.
  void DriveUntilComplete(size_t* index) {
    *index = 0;
    ASSERT_TRUE(Eventually([&] {
      const size_t sent = ++*index;
      if (sent >= drive().clouds.size()) return true;
      const auto status = SendBetweenPoses(sent);
      if (!status.has_value()) return true;
      return Eventually(
          [&] {
            Collect();
            return IsComplete(drive().truth[sent].stamp_ns) && received_.clouds.count(kMap) > 0;
          },
          absl::Milliseconds(200));
    }));
    ASSERT_TRUE(IsComplete(drive().truth[*index].stamp_ns)) << "scan " << *index;
  }

  double Number(const std::string& topic, int64_t stamp_ns) {
    return received_.numbers[topic].at(stamp_ns);
  }

  Received received_;
};

TEST_F(DebugTopicsOnTheWire, AllTopicsOfAScanAgree) {
  ros::Parameters parameters = Defaults();
  parameters.covariance.covariance_estimation_type = 2;
  parameters.score_estimation.no_ground_points_enable = true;
  parameters.dynamic_map_loading.publish_loaded_map = true;
  ASSERT_NO_FATAL_FAILURE(Start(parameters, true));
  peer().ListenToDebugTopics();
  ASSERT_NO_FATAL_FAILURE(SetTime(drive().truth.front().stamp_ns));
  ASSERT_TRUE(peer().CallTrigger(true, kTestTimeout).has_value());
  size_t index = 0;
  ASSERT_NO_FATAL_FAILURE(DriveUntilComplete(&index));
  const int64_t stamp_ns = drive().truth[index].stamp_ns;
  SCOPED_TRACE(absl::StrCat("scan ", index));
  const Pose result = received_.poses.at(stamp_ns);
  const Pose guess = received_.guesses.at(stamp_ns);

  // The guess lies in the middle of the two poses.
  EXPECT_LT(Distance(guess, drive().guessed[index].pose), 1e-9);
  EXPECT_LT(Distance(received_.relative.at(stamp_ns), guess.Inverse() * result), 1e-9);
  EXPECT_NEAR(Number("initial_to_result_distance", stamp_ns), Distance(guess, result), 1e-5);
  EXPECT_NEAR(Number("initial_to_result_distance_new", stamp_ns),
              Distance(PoseAfter(index), result), 1e-5);
  EXPECT_NEAR(Number("initial_to_result_distance_old", stamp_ns),
              Distance(PoseBefore(index), result), 1e-5);

  // The scan where the result puts it.
  const PointCloud& scan = drive().clouds[index];
  const Cloud& aligned_cloud = received_.clouds[kAligned].at(stamp_ns);
  EXPECT_EQ(aligned_cloud.frame_id, "map");
  EXPECT_EQ(FieldNames(aligned_cloud), (std::vector<std::string>{"x", "y", "z"}));
  const std::vector<Eigen::Vector3f> aligned = PointsOf(aligned_cloud);
  ASSERT_EQ(aligned.size(), scan.size());
  double farthest_m = 0.0;
  for (size_t i = 0; i < aligned.size(); ++i) {
    farthest_m = std::max(farthest_m, (aligned[i].cast<double>() - result * scan.Point(i)).norm());
  }
  EXPECT_LT(farthest_m, kFloatStep_m);

  // Those above the ground: more than 0.8 m above the result.
  std::vector<Eigen::Vector3f> above;
  const auto lowest = static_cast<float>(result.translation.z() + 0.8);
  for (const Eigen::Vector3f& point : aligned) {
    if (point.z() > lowest) above.push_back(point);
  }
  ASSERT_FALSE(above.empty());
  EXPECT_EQ(PointsOf(received_.clouds[kNoGround].at(stamp_ns)), above);
  EXPECT_GT(Number("no_ground_transform_probability", stamp_ns), 0.0);
  EXPECT_GT(Number("no_ground_nearest_voxel_transformation_likelihood", stamp_ns), 0.0);

  // Points with the colours of their scores, whose mean is the likelihood. Colours end at 1.0 and
  // 3.5.
  const Cloud& score_cloud = received_.clouds[kScores].at(stamp_ns);
  EXPECT_EQ(FieldNames(score_cloud), (std::vector<std::string>{"x", "y", "z", "rgb"}));
  const std::vector<Eigen::Vector3f> scored = PointsOf(score_cloud);
  ASSERT_GT(scored.size(), scan.size() / 2);
  double sum = 0.0;
  size_t at = 0;  // scored points are aligned ones, in their order
  for (size_t i = 0; i < scored.size(); ++i, ++at) {
    while (at < aligned.size() && aligned[at] != scored[i]) ++at;
    ASSERT_LT(at, aligned.size()) << "point " << i << " is not one of the scan";
    const auto* bgr =
        reinterpret_cast<const uint8_t*>(score_cloud.data.data()) + i * score_cloud.point_step + 12;
    sum += 1.0 + 2.5 * ShareOf(bgr[2] / 255.0, bgr[1] / 255.0, bgr[0] / 255.0);
  }
  EXPECT_NEAR(sum / static_cast<double>(scored.size()),
              Number("nearest_voxel_transformation_likelihood", stamp_ns), 0.15);

  // An arrow for the guess and each step, and those that cover an earlier scan's.
  const StampedArrows& steps = received_.steps.at(stamp_ns);
  const auto iterations = static_cast<size_t>(Number("iteration_num", stamp_ns));
  ASSERT_EQ(steps.arrows.size(), 32U);
  ASSERT_LT(iterations, steps.arrows.size());
  for (size_t i = 0; i < steps.arrows.size(); ++i) {
    const Arrow& arrow = steps.arrows[i];
    EXPECT_EQ(arrow.type, kArrowType);
    EXPECT_EQ(arrow.action, kAddAction);
    EXPECT_EQ(arrow.ns, "result_pose_matrix_array");
    EXPECT_EQ(arrow.id, static_cast<int32_t>(i));
    EXPECT_EQ(arrow.frame_id, "map");
    EXPECT_EQ(arrow.stamp_ns, stamp_ns);
    EXPECT_EQ(arrow.scale, (std::array<double, 3>{0.3, 0.1, 0.1}));
    if (i > iterations) {
      EXPECT_EQ(arrow.pose.translation, Eigen::Vector3d::Zero());
      continue;
    }
    const double share = ShareOf(arrow.rgba[0], arrow.rgba[1], arrow.rgba[2]);
    EXPECT_NEAR(share, std::min(static_cast<double>(i + 1) / 15.0, 0.9999), 1e-3) << i;
  }
  EXPECT_LT(Distance(steps.arrows.front().pose, guess), 1e-6);
  EXPECT_LT(Distance(steps.arrows[iterations].pose, result), 1e-6);

  // The result, and searches from six offsets, as the upper left 2x2 of its rotation turns them.
  const StampedPoses& starts = received_.arrays["multi_initial_pose"].at(stamp_ns);
  const StampedPoses& ends = received_.arrays["multi_ndt_pose"].at(stamp_ns);
  EXPECT_EQ(starts.frame_id, "map");
  EXPECT_EQ(ends.frame_id, "map");
  ASSERT_EQ(starts.poses.size(), 7U);
  ASSERT_EQ(ends.poses.size(), 7U);
  EXPECT_LT(Distance(starts.poses[0], guess), 1e-9);
  EXPECT_LT(Distance(ends.poses[0], result), 1e-9);
  const double offset_x_m[] = {0.0, 0.0, 0.5, -0.5, 1.0, -1.0};  // Autoware's defaults
  const double offset_y_m[] = {0.5, -0.5, 0.0, 0.0, 0.0, 0.0};
  const Eigen::Matrix2d turn = result.rotation.toRotationMatrix().topLeftCorner<2, 2>();
  for (size_t i = 0; i < 6; ++i) {
    Eigen::Vector3d expected = result.translation;
    expected.head<2>() += turn * Eigen::Vector2d(offset_x_m[i], offset_y_m[i]);
    EXPECT_LT((starts.poses[i + 1].translation - expected).norm(), 1e-5) << i;
    EXPECT_LT(Distance(ends.poses[i + 1], result), Distance(starts.poses[i + 1], result)) << i;
  }

  // The map: every point of its files.
  std::multiset<std::array<float, 3>> in_files;
  const auto files = ListClouds((drive().map / "pointcloud_map.pcd").string());
  ASSERT_TRUE(files.ok()) << files.status();
  for (const std::string& file : *files) {
    const auto points = ReadCloud(file);
    ASSERT_TRUE(points.ok()) << points.status();
    for (size_t i = 0; i < points->size(); ++i) {
      in_files.insert({points->x[i], points->y[i], points->z[i]});
    }
  }
  const Cloud& map = received_.clouds[kMap].begin()->second;
  EXPECT_EQ(map.frame_id, "map");
  std::multiset<std::array<float, 3>> published;
  for (const Eigen::Vector3f& point : PointsOf(map)) {
    published.insert({point.x(), point.y(), point.z()});
  }
  ASSERT_GT(in_files.size(), 10'000U);
  EXPECT_TRUE(published == in_files) << published.size() << " and " << in_files.size() << " points";
}

TEST_F(DebugTopicsOnTheWire, ASearchShowsItsParticles) {
  ros::Parameters parameters = Defaults();
  parameters.initial_pose_estimation.particles_num = 20;
  ASSERT_NO_FATAL_FAILURE(Start(parameters, true));
  peer().ListenToDebugTopics();
  ASSERT_TRUE(SendScan(0).has_value());
  StampedPose prior;
  prior.stamp_ns = drive().truth.front().stamp_ns;
  prior.frame_id = "map";
  prior.frame_T_base = drive().truth.front().pose;
  for (size_t i = 0; i < 6; ++i) prior.covariance.at(7 * i) = 0.01;
  const auto answer = peer().CallAlign(prior, kTestTimeout);
  ASSERT_TRUE(answer.has_value() && answer->success);
  std::map<int32_t, std::set<std::string>> names_of;  // by the particle
  ASSERT_TRUE(Eventually([&] {
    for (const StampedArrows& message : peer().TakeArrows("monte_carlo_initial_pose_marker")) {
      for (const Arrow& arrow : message.arrows) {
        names_of[arrow.id].insert(arrow.ns);
        EXPECT_EQ(arrow.type, kArrowType);
        EXPECT_EQ(arrow.frame_id, "map");
        EXPECT_EQ(arrow.lifetime_ns, 10'000'000'000);
        EXPECT_LT(Distance(arrow.pose, prior.frame_T_base), 2.0);
      }
    }
    return names_of.size() == 20;
  })) << names_of.size()
      << " particles";
  EXPECT_EQ(names_of.begin()->first, 0);
  EXPECT_EQ(names_of.rbegin()->first, 19);
  for (const auto& [id, names] : names_of) {
    EXPECT_THAT(names, testing::ElementsAre(
                           "initial_pose_index_color_marker", "initial_pose_iteration_color_marker",
                           "initial_pose_transform_probability_color_marker",
                           "result_pose_index_color_marker", "result_pose_iteration_color_marker",
                           "result_pose_transform_probability_color_marker"))
        << id;
  }
}

}  // namespace
}  // namespace voxloc::ros_wire
