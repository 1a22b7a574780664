// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/compare/recorded_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "clients/dataset/bag/messages.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::cli {
namespace {

using ::testing::HasSubstr;

constexpr char kClouds[] = "sensor_msgs/msg/PointCloud2";
constexpr char kPoses[] = "geometry_msgs/msg/PoseWithCovarianceStamped";
constexpr char kFloats[] = "tier4_debug_msgs/msg/Float32Stamped";

bag::BagContents ContentsOf(const std::vector<std::pair<std::string, std::string>>& topics) {
  bag::BagContents contents;
  for (const auto& [name, type] : topics) contents.topics.push_back({name, type, "cdr", 10});
  return contents;
}

// As Autoware's launch files name them, among topics of other nodes.
bag::BagContents AutowareContents() {
  return ContentsOf({{"/sensing/lidar/top/pointcloud", kClouds},
                     {"/localization/util/downsample/pointcloud", kClouds},
                     {"/sensing/gnss/pose_with_covariance", kPoses},
                     {"/localization/pose_estimator/pose_with_covariance", kPoses},
                     {"/localization/pose_estimator/initial_pose_with_covariance", kPoses},
                     {"/localization/pose_twist_fusion_filter/biased_pose_with_covariance", kPoses},
                     {"/localization/pose_estimator/exe_time_ms", kFloats},
                     {"/perception/exe_time_ms", kFloats},
                     {"/localization/pose_estimator/transform_probability", kFloats},
                     {"/diagnostics", "diagnostic_msgs/msg/DiagnosticArray"}});
}

std::string NameOf(const bag::BagContents& contents, const std::optional<size_t>& topic) {
  return topic.has_value() ? contents.topics[*topic].name : "none";
}

TEST(RecordedTopics, AreFoundByAutowaresNames) {
  const bag::BagContents contents = AutowareContents();
  const auto topics = ChooseRecordedTopics(contents, {}, true, true);
  ASSERT_TRUE(topics.ok()) << topics.status();
  EXPECT_EQ(NameOf(contents, topics->points), "/localization/util/downsample/pointcloud");
  EXPECT_EQ(NameOf(contents, topics->poses), "/localization/pose_estimator/pose_with_covariance");
  EXPECT_EQ(NameOf(contents, topics->guesses),
            "/localization/pose_estimator/initial_pose_with_covariance");
  EXPECT_EQ(NameOf(contents, topics->values[0]),
            "/localization/pose_estimator/transform_probability");
  EXPECT_EQ(NameOf(contents, topics->values[1]), "none");
  EXPECT_EQ(NameOf(contents, topics->values[3]), "/localization/pose_estimator/exe_time_ms");
  EXPECT_EQ(NameOf(contents, topics->diagnostics), "/diagnostics");
}

TEST(RecordedTopics, TakeTheFilterWhereTheGuessesWereNotRecorded) {
  bag::BagContents contents = AutowareContents();
  contents.topics[4].messages = 0;
  const auto topics = ChooseRecordedTopics(contents, {}, true, true);
  ASSERT_TRUE(topics.ok()) << topics.status();
  EXPECT_EQ(NameOf(contents, topics->guesses),
            "/localization/pose_twist_fusion_filter/biased_pose_with_covariance");
}

TEST(RecordedTopics, AreThoseThatAreNamed) {
  const bag::BagContents contents = AutowareContents();
  RecordedNames names;
  names.points_topic = "/sensing/lidar/top/pointcloud";
  names.poses_topic = "/sensing/gnss/pose_with_covariance";
  const auto topics = ChooseRecordedTopics(contents, names, true, false);
  ASSERT_TRUE(topics.ok()) << topics.status();
  EXPECT_EQ(NameOf(contents, topics->points), names.points_topic);
  EXPECT_EQ(NameOf(contents, topics->poses), names.poses_topic);
  EXPECT_FALSE(topics->guesses.has_value());
}

TEST(RecordedTopics, ThatAreMissingOrSeveralAreListed) {
  const auto missing = ChooseRecordedTopics(
      ContentsOf({{"/points_raw", kClouds}, {"/gnss/pose", kPoses}}), {}, true, true);
  EXPECT_TRUE(absl::IsNotFound(missing.status()));
  EXPECT_THAT(missing.status().message(), HasSubstr("--poses-topic"));
  EXPECT_THAT(missing.status().message(), HasSubstr("/gnss/pose (geometry_msgs/msg/"));
  const auto several = ChooseRecordedTopics(
      ContentsOf({{"/points_raw", kClouds}, {"/a/ndt_pose", kPoses}, {"/b/ndt_pose", kPoses}}), {},
      true, false);
  EXPECT_TRUE(absl::IsInvalidArgument(several.status()));
  EXPECT_THAT(several.status().message(), HasSubstr("choose one with --poses-topic: /a/ndt_pose"));
  EXPECT_THAT(several.status().message(), HasSubstr("/b/ndt_pose"));
  bag::BagContents two = AutowareContents();
  two.topics.push_back({"/shadow/iteration_num", "tier4_debug_msgs/msg/Int32Stamped", "cdr", 1});
  EXPECT_THAT(ChooseRecordedTopics(two, {}, true, true).status().message(),
              HasSubstr("--node-namespace: /localization/pose_estimator, /shadow"));
}

TEST(RecordedRun, KnowsWhichScansWereAligned) {
  RecordedRun run;
  run.scans[10].map_T_base = Pose();
  run.scans[20].diagnostics_level = 1;  // of a scan that was refused
  // Without values nothing else says that a scan was aligned.
  EXPECT_TRUE(run.At(10)->map_T_base.has_value());
  EXPECT_TRUE(run.At(20).has_value());
  EXPECT_TRUE(run.At(30).has_value());
  run.scans[40].values[2] = 5.0;
  run.has_values = true;
  EXPECT_TRUE(run.At(10).has_value());
  EXPECT_FALSE(run.At(20).has_value());
  EXPECT_FALSE(run.At(30).has_value());
  EXPECT_FALSE(run.At(40)->map_T_base.has_value());
}

class RecordedFiles : public ::testing::Test {
 protected:
  absl::Status ReadTable(const std::string& text) {
    std::ofstream(path_) << text;
    return ReadRecordedValues(path_, &run_);
  }

  ScratchDir scratch_;
  std::string path_ = scratch_.Path("values.csv");
  RecordedRun run_;
};

TEST_F(RecordedFiles, TablesHaveColumnsInAnyOrder) {
  ASSERT_TRUE(ReadTable("nvtl, note ,stamp,iterations\n2.5,x,1.000000001,4\n\n,y, 2 ,\n").ok());
  EXPECT_EQ(run_.scans.at(1'000'000'001).values[1], 2.5);
  EXPECT_EQ(run_.scans.at(1'000'000'001).values[2], 4.0);
  EXPECT_FALSE(run_.scans.at(1'000'000'001).values[0].has_value());
  EXPECT_FALSE(run_.scans.at(2'000'000'000).values[1].has_value());
}

TEST_F(RecordedFiles, MalformedTablesAreNamedWithTheLine) {
  EXPECT_THAT(ReadTable("nvtl,iterations\n1,2\n").message(), HasSubstr("one of which is stamp"));
  EXPECT_THAT(ReadTable("stamp,nvtl\n1,2\nx,2\n").message(),
              HasSubstr("line 3: the stamp must be a number of seconds (got 'x')"));
  EXPECT_THAT(ReadTable("stamp,nvtl\n1,two\n").message(),
              HasSubstr("line 2: nvtl must be a number (got 'two')"));
  EXPECT_FALSE(ReadRecordedValues(path_ + ".missing", &run_).ok());
}

}  // namespace
}  // namespace voxloc::cli
