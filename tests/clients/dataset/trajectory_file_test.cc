// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/trajectory_file.h"

#include <cstdint>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/real_data.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string ContentOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(TrajectoryFileTest, KittiLinesByHand) {
  const ScratchDir scratch;
  const std::string path = scratch.Write("poses.txt",
                                         "# made by hand\n"
                                         "1 0 0 1.5 0 1 0 -2 0 0 1 3e2\n"
                                         "\n"
                                         "  0 -1 0 4 1 0 0 5 0 0 1 6\r\n");
  const auto poses = ReadTrajectory(path, TrajectoryFormat::kKitti);
  ASSERT_TRUE(poses.ok()) << poses.status();
  ASSERT_EQ(poses->size(), 2u);
  EXPECT_EQ((*poses)[0].stamp_ns, 0);
  EXPECT_EQ((*poses)[0].pose.translation, Eigen::Vector3d(1.5, -2, 300));
  EXPECT_EQ((*poses)[1].stamp_ns, 100'000'000);
  // A quarter turn to the left: ahead becomes left.
  EXPECT_LT(((*poses)[1].pose * Eigen::Vector3d(1, 0, 0) - Eigen::Vector3d(4, 6, 6)).norm(), 1e-14);
}

TEST(TrajectoryFileTest, TumLinesByHand) {
  const ScratchDir scratch;
  const std::string path = scratch.Write("poses.tum",
                                         "# stamp x y z qx qy qz qw\n"
                                         "1403636579.763555552 1 2 3 0 0 0.70710678 0.70710678\n"
                                         "1403636579.863555552\t-1\t-2\t-3\t0\t0\t0\t2\n");
  const auto poses = ReadTrajectory(path, TrajectoryFormat::kTum);
  ASSERT_TRUE(poses.ok()) << poses.status();
  ASSERT_EQ(poses->size(), 2u);
  EXPECT_EQ((*poses)[0].stamp_ns, 1403636579763555552);
  EXPECT_EQ((*poses)[1].stamp_ns - (*poses)[0].stamp_ns, 100'000'000);
  EXPECT_LT(((*poses)[0].pose * Eigen::Vector3d(1, 0, 0) - Eigen::Vector3d(1, 3, 3)).norm(), 1e-14);
  EXPECT_EQ((*poses)[1].pose.rotation.w(), 1.0);
}

TEST(TrajectoryFileTest, BothFormatsComeBack) {
  const ScratchDir scratch;
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal;
  std::vector<StampedPose> poses;
  for (int64_t i = 0; i < 200; ++i) {
    StampedPose stamped;
    stamped.stamp_ns = 1'700'000'000'123'456'789 + i * 100'000'001;
    stamped.pose.translation = {4e6 + normal(random), normal(random) * 1e-7, normal(random)};
    stamped.pose.rotation =
        Eigen::Quaterniond(normal(random), normal(random), normal(random), normal(random))
            .normalized();
    poses.push_back(stamped);
  }
  for (const TrajectoryFormat format : {TrajectoryFormat::kKitti, TrajectoryFormat::kTum}) {
    const std::string path = scratch.Path("poses.txt");
    ASSERT_TRUE(WriteTrajectory(path, format, poses).ok());
    const auto read = ReadTrajectory(path, format);
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_EQ(read->size(), poses.size());
    for (size_t i = 0; i < poses.size(); ++i) {
      EXPECT_EQ((*read)[i].pose.translation, poses[i].pose.translation);
      EXPECT_LT(RotationDistance((*read)[i].pose, poses[i].pose), 1e-14);
      EXPECT_EQ((*read)[i].stamp_ns, format == TrajectoryFormat::kTum
                                         ? poses[i].stamp_ns
                                         : static_cast<int64_t>(i) * 100'000'000);
    }
  }
}

TEST(TrajectoryFileTest, WhatIsWrittenIsPlain) {
  const ScratchDir scratch;
  const std::string path = scratch.Path("poses.txt");
  StampedPose stamped;
  stamped.stamp_ns = 1'500'000'000;
  stamped.pose.translation = {0.1, -2, 30};
  ASSERT_TRUE(WriteTrajectory(path, TrajectoryFormat::kKitti, {stamped}).ok());
  EXPECT_EQ(ContentOf(path), "1 0 0 0.1 0 1 0 -2 0 0 1 30\n");
  ASSERT_TRUE(WriteTrajectory(path, TrajectoryFormat::kTum, {stamped}).ok());
  EXPECT_EQ(ContentOf(path), "1.500000000 0.1 -2 30 0 0 0 1\n");
}

TEST(TrajectoryFileTest, ErrorsNameFileAndLine) {
  const ScratchDir scratch;
  const auto error = [&](TrajectoryFormat format, const std::string& text) {
    const auto poses = ReadTrajectory(scratch.Write("p.txt", text), format);
    EXPECT_EQ(poses.status().code(), absl::StatusCode::kInvalidArgument) << text;
    return std::string(poses.status().message());
  };
  const std::string good = "1 0 0 0 0 1 0 0 0 0 1 0\n";
  constexpr auto kKitti = TrajectoryFormat::kKitti;
  constexpr auto kTum = TrajectoryFormat::kTum;
  EXPECT_THAT(error(kKitti, good + "1 2 3\n"),
              AllOf(HasSubstr("p.txt: line 2"), HasSubstr("3 values"), HasSubstr("12")));
  EXPECT_THAT(error(kKitti, "#\n\n" + good + good + "1 0 0 0 0 1 0 a 0 0 1 0\n"),
              AllOf(HasSubstr("line 5"), HasSubstr("'a'")));
  EXPECT_THAT(error(kKitti, "2 0 0 0 0 1 0 0 0 0 1 0\n"), HasSubstr("not a rotation"));
  EXPECT_THAT(error(kKitti, "1 0 0 nan 0 1 0 0 0 0 1 0\n"), HasSubstr("not finite"));
  EXPECT_THAT(error(kTum, good), AllOf(HasSubstr("12 values"), HasSubstr("8")));
  EXPECT_THAT(error(kTum, "x 0 0 0 0 0 0 1\n"), HasSubstr("the stamp 'x'"));
  EXPECT_THAT(error(kTum, "1 0 0 0 0 0 0 0\n"),
              AllOf(HasSubstr("line 1"), HasSubstr("(got (0, 0, 0, 0))")));
  EXPECT_THAT(error(kTum, "1 0 0 inf 0 0 0 1\n"), HasSubstr("not finite"));
  EXPECT_THAT(error(kKitti, ""), HasSubstr("no pose"));
  EXPECT_THAT(error(kKitti, "# only a comment\n\n"), HasSubstr("no pose"));
  EXPECT_EQ(ReadTrajectory(scratch.Path("missing"), kKitti).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(TrajectoryFileTest, FormatsHaveNames) {
  EXPECT_EQ(TrajectoryFormatNamed("kitti").value(), TrajectoryFormat::kKitti);
  EXPECT_EQ(TrajectoryFormatNamed("tum").value(), TrajectoryFormat::kTum);
  EXPECT_THAT(std::string(TrajectoryFormatNamed("euroc").status().message()),
              AllOf(HasSubstr("'euroc'"), HasSubstr("kitti or tum")));
}

// The first guess of the benchmark task: (0.40, -0.29, 0.08) m and 2 degrees of yaw off the truth.
TEST(TrajectoryFileTest, TheBenchmarkTasksGuessesLieWhereItsDescriptionSays) {
  VOXLOC_REAL_DATA_OR_SKIP(data);
  const std::string task = data + "/ouster_os1/task/";
  const auto truth = ReadTrajectory(task + "poses.txt", TrajectoryFormat::kKitti);
  const auto guesses = ReadTrajectory(task + "guesses.txt", TrajectoryFormat::kKitti);
  ASSERT_TRUE(truth.ok()) << truth.status();
  ASSERT_TRUE(guesses.ok()) << guesses.status();
  ASSERT_EQ(truth->size(), 20u);
  ASSERT_EQ(guesses->size(), 20u);
  const Eigen::Vector3d first = (*guesses)[0].pose.translation - (*truth)[0].pose.translation;
  EXPECT_LT((first - Eigen::Vector3d(0.40, -0.29, 0.08)).norm(), 0.01);
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_NEAR(RotationDistance((*guesses)[i].pose, (*truth)[i].pose), 2.0 * M_PI / 180.0, 1e-3);
  }
}

}  // namespace
}  // namespace voxloc
