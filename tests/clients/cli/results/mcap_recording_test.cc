// SPDX-License-Identifier: Apache-2.0
//
// Read back with the reader of bags; tests/e2e/result_files_test.py has one that is independent.

#include "clients/cli/results/mcap_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "clients/cli/results/result_files.h"
#include "clients/cpp/messages.h"
#include "clients/dataset/bag/bag.h"
#include "clients/dataset/bag/messages.h"
#include "clients/pointcloud2/point_cloud2.h"
#include "tests/clients/dataset/bag/bag_fixtures.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kRecordedStamp_ns = 1'700'000'000'900'000'000;

ReplayRow RecordedRow(size_t index, bool accepted) {
  v1::AlignmentResult result;
  result.set_status(accepted ? v1::ALIGNMENT_STATUS_OK : v1::ALIGNMENT_STATUS_LOW_SCORE);
  result.set_accepted(accepted);
  result.set_detail(accepted ? "" : "NVTL must be over 2.3");
  client::EncodePose(Pose{Eigen::Vector3d(static_cast<double>(index), 2.0, 3.0)},
                     result.mutable_map_t_base()->mutable_pose());
  PointCloud points;
  points.x = {1.0F, 4.0F};
  points.y = {2.0F, 5.0F};
  points.z = {3.0F, 6.5F};
  client::EncodeCloud(points, result.mutable_aligned_cloud());
  ReplayRow row = RowOf("a.pcd", result, 2.0);
  row.index = index;
  row.stamp_ns = kRecordedStamp_ns + static_cast<int64_t>(index) * 100'000'000;
  return row;
}

class McapRecordingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto recording = McapRecording::Create(path_);
    ASSERT_TRUE(recording.ok()) << recording.status();
    recording_ = *std::move(recording);
  }

  // Ends the file; the messages by topic.
  std::map<std::string, std::vector<std::string>> Finish() {
    EXPECT_TRUE(recording_->Close().ok());
    auto bag = bag::OpenBag({path_});
    EXPECT_TRUE(bag.ok()) << bag.status();
    if (!bag.ok()) return {};
    bag_ = *std::move(bag);
    absl::Status status;
    std::map<std::string, std::vector<std::string>> messages;
    for (const bag::ReadMessage& message : bag::ReadAll(*bag_, &status)) {
      messages[message.topic].push_back(message.bytes);
    }
    EXPECT_TRUE(status.ok()) << status;
    return messages;
  }

  const bag::Topic& TopicNamed(const std::string& name) {
    for (const bag::Topic& topic : bag_->contents().topics) {
      if (topic.name == name) return topic;
    }
    ADD_FAILURE() << "no topic " << name;
    return bag_->contents().topics.at(0);
  }

  const ScratchDir scratch_;
  const std::string path_ = scratch_.Path("x.mcap");
  std::unique_ptr<McapRecording> recording_;
  std::unique_ptr<bag::Bag> bag_;
};

TEST_F(McapRecordingTest, AcceptedPosesHaveTheStampAndTheFrameOfTheMap) {
  recording_->Add(RecordedRow(0, true));
  recording_->Add(RecordedRow(1, false));
  recording_->Add(RecordedRow(2, true));
  const auto messages = Finish();
  const auto& poses = messages.at("/voxloc/pose_with_covariance");
  ASSERT_EQ(poses.size(), 2u);
  const auto pose = bag::DecodePose(TopicNamed("/voxloc/pose_with_covariance"), poses[1]);
  ASSERT_TRUE(pose.ok()) << pose.status();
  EXPECT_EQ(pose->stamp_ns, kRecordedStamp_ns + 200'000'000);
  EXPECT_EQ(pose->parent, "map");
  EXPECT_EQ(pose->translation, Eigen::Vector3d(2.0, 2.0, 3.0));
  const auto& transforms = messages.at("/tf");
  ASSERT_EQ(transforms.size(), 3u);  // as the bridge: also of what was not accepted
  const auto transform = bag::DecodeTransforms(TopicNamed("/tf"), transforms[2]);
  ASSERT_TRUE(transform.ok()) << transform.status();
  EXPECT_EQ(transform->at(0).child, "base_link");
  EXPECT_EQ(transform->at(0).translation, pose->translation);
}

TEST_F(McapRecordingTest, CloudsAreThoseOfTheAnswers) {
  recording_->Add(RecordedRow(0, true));
  const auto messages = Finish();
  bag::CloudMessage cloud;
  ASSERT_TRUE(bag::DecodePointCloud2(TopicNamed("/voxloc/points_aligned"),
                                     messages.at("/voxloc/points_aligned").at(0), &cloud)
                  .ok());
  EXPECT_EQ(cloud.view.width, 2u);
  ASSERT_EQ(cloud.view.data.size(), 24u);
  EXPECT_EQ(ros::ReadValue<float>(cloud.view.data.data() + 20, false), 6.5F);
}

TEST_F(McapRecordingTest, DiagnosticsSayWhyAScanWasNotAccepted) {
  recording_->Add(RecordedRow(0, true));
  recording_->Add(RecordedRow(1, false));
  const auto messages = Finish();
  const auto& diagnostics = messages.at("/diagnostics");
  ASSERT_EQ(diagnostics.size(), 4u);
  EXPECT_THAT(diagnostics[0], HasSubstr("voxloc: scan_matching_status"));
  EXPECT_THAT(diagnostics[1], HasSubstr("voxloc: verdict"));
  EXPECT_THAT(diagnostics[1], Not(HasSubstr("LOW_SCORE")));
  EXPECT_THAT(diagnostics[3], HasSubstr("LOW_SCORE: NVTL must be over 2.3"));
}

TEST(ResultFiles, WithoutTheProfilesOfTheServerFilesHaveNoCells) {
  const ScratchDir scratch;
  client::ChannelOptions nowhere;
  nowhere.server = "unix:" + scratch.Path("none");
  const auto channel = client::Channel::Create(nowhere);
  ASSERT_TRUE(channel.ok()) << channel.status();
  const std::vector<std::string> paths = {scratch.Path("x.mcap"), scratch.Path("x.csv"),
                                          scratch.Path("x.tum")};
  ::testing::internal::CaptureStderr();
  const absl::Status written =
      WriteResultFiles(paths, *channel, MapFlags(), RecordedRow(0, true), 5.0);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("warning: the output has no cells of the map: "));
  EXPECT_TRUE(written.ok()) << written;
  const auto bag = bag::OpenBag({paths[0]});
  ASSERT_TRUE(bag.ok()) << bag.status();
  std::map<std::string, uint64_t> messages;
  for (const bag::Topic& topic : (*bag)->contents().topics) messages[topic.name] = topic.messages;
  EXPECT_EQ(messages["/voxloc/map_cells"], 0u);
  EXPECT_EQ(messages["/voxloc/pose_with_covariance"], 1u);
  EXPECT_TRUE(std::filesystem::exists(paths[1]));
  EXPECT_TRUE(std::filesystem::exists(paths[2]));
}

TEST(ResultFiles, AnMcapThatCannotBeWrittenIsAnErrorAtItsEnd) {
  const ScratchDir scratch;
  std::filesystem::create_symlink("/dev/full", scratch.Path("x.mcap"));
  auto files = ResultFiles::Open({scratch.Path("x.mcap"), scratch.Path("x.csv")});
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_TRUE(files->HasScene());
  const ReplayRow row = RecordedRow(0, true);
  files->Add(row, &row.truth_map_T_base);
  EXPECT_THAT(std::string(files->Close({row}).message()), HasSubstr("x.mcap cannot be written"));
  // The other files are whole.
  EXPECT_TRUE(std::filesystem::exists(scratch.Path("x.csv")));
}

}  // namespace
}  // namespace voxloc::cli
