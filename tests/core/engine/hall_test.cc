// SPDX-License-Identifier: Apache-2.0
//
// `precise` where no constant was chosen: recorded scans in a hall, whose dense ground once led the
// large cells away by metres.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "core/cloud/filters.h"
#include "core/cloud/io/cloud_file.h"
#include "core/geometry/euler.h"
#include "tests/support/engine_test.h"
#include "tests/support/real_data.h"

namespace voxloc {
namespace {

// Rows of 3 x 4 numbers.
std::vector<Pose> ReadPoses(const std::string& path) {
  std::ifstream file(path);
  std::vector<Pose> poses;
  double m[12];
  while (true) {
    for (double& number : m) file >> number;
    if (!file.good()) return poses;
    Eigen::Matrix3d rotation;
    rotation << m[0], m[1], m[2], m[4], m[5], m[6], m[8], m[9], m[10];
    Pose pose;
    pose.rotation = Eigen::Quaterniond(rotation).normalized();
    pose.translation = {m[3], m[7], m[11]};
    poses.push_back(pose);
  }
}

class HallTest : public EngineTest {
 protected:
  // Every fourth scan, from guesses off by this in the base's axes.
  void ExpectAllFound(const Eigen::Vector3d& shift_m, double turn_deg, size_t points,
                      double most_iterations = 45.0) {
    VOXLOC_REAL_DATA_OR_SKIP(data);
    const std::string folder = data + "/hall";
    const std::vector<Pose> poses = ReadPoses(folder + "/poses.txt");
    if (poses.empty()) GTEST_SKIP() << "no hall in " << data;
    const absl::StatusOr<PointCloud> map_cloud = ReadCloud(folder + "/map.pcd");
    ASSERT_TRUE(map_cloud.ok()) << map_cloud.status();
    const Profile profile = PreciseProfile();
    const auto map = LoadMap(engine(), {*map_cloud}, RequiredStatistics({profile}));
    ASSERT_NE(map, nullptr);
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder + "/scans")) {
      files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    ASSERT_EQ(files.size(), poses.size());

    std::vector<AlignJob> jobs;
    std::vector<Pose> truth;
    for (size_t i = 0; i < files.size(); i += 4) {
      absl::StatusOr<PointCloud> cloud = ReadCloud(files[i]);
      ASSERT_TRUE(cloud.ok()) << cloud.status();
      AlignJob job;
      job.map = map;
      job.scan = std::make_shared<const PointCloud>(RandomSample(*cloud, points, /*seed=*/i));
      job.profile = profile;
      job.map_T_base_guess = poses[i];
      job.map_T_base_guess.translation += poses[i].rotation * shift_m;
      job.map_T_base_guess.rotation =
          poses[i].rotation *
          Eigen::AngleAxisd((i % 8 == 0 ? 1.0 : -1.0) * turn_deg * kRadiansPerDegree,
                            Eigen::Vector3d::UnitZ());
      jobs.push_back(job);
      truth.push_back(poses[i]);
    }
    std::vector<double> errors_m;
    double iterations = 0.0;
    const std::vector<AlignResult> results = engine().Align(jobs);
    for (size_t i = 0; i < results.size(); ++i) {
      ASSERT_TRUE(results[i].status.ok()) << results[i].status;
      errors_m.push_back(TranslationDistance(results[i].map_T_base, truth[i]));
      // The truth is good to 4 cm.
      EXPECT_LE(errors_m.back(), 0.15) << "scan " << 4 * i;
      EXPECT_EQ(Judge(results[i], profile), Acceptance::kAccepted) << "scan " << 4 * i;
      EXPECT_GE(results[i].after.nearest_voxel_likelihood,
                (1.0 - profile.allowed_loss) * results[i].before.nearest_voxel_likelihood);
      iterations += results[i].iterations;
    }
    std::sort(errors_m.begin(), errors_m.end());
    EXPECT_LE(errors_m[errors_m.size() / 2], 0.04);
    EXPECT_LE(iterations / static_cast<double>(results.size()), most_iterations);
  }
};
VOXLOC_INSTANTIATE_ON_ENGINES(HallTest);

TEST_P(HallTest, FromTheTruth) { ExpectAllFound({0.0, 0.0, 0.0}, 0.0, 0); }
TEST_P(HallTest, FromHalfAMetreAndTwoDegrees) { ExpectAllFound({0.4, 0.3, 0.1}, 2.0, 0); }
TEST_P(HallTest, FromHalfAMetreWithFewPoints) { ExpectAllFound({0.4, 0.3, 0.1}, 2.0, 1500); }
// Answers so far from the guess are doubted, and several stages run twice.
TEST_P(HallTest, FromTwoMetresAndTenDegrees) { ExpectAllFound({2.0, 1.5, 0.1}, 10.0, 0, 160.0); }

}  // namespace
}  // namespace voxloc
