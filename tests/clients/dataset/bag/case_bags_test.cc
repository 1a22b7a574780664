// SPDX-License-Identifier: Apache-2.0
//
// Recordings on which drives went wrong, as their users have them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "clients/dataset/bag/drive.h"
#include "tests/support/real_data.h"

namespace voxloc::bag {
namespace {

using ::testing::HasSubstr;

class CaseBagsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    VOXLOC_REAL_DATA_OR_SKIP(data);
    bags_ = data + "/cases/bags";
    if (!std::filesystem::is_directory(bags_)) GTEST_SKIP() << "there is no " << bags_;
  }

  absl::StatusOr<std::unique_ptr<Drive>> Open(const std::string& name, PoseFrames frames = {},
                                              const std::string& poses_topic = "") const {
    DriveOptions options;
    options.paths = {bags_ + "/" + name};
    options.frames = std::move(frames);
    options.poses_topic = poses_topic;
    return Drive::Open(options);
  }

  // All scans are there, and their clouds can be read.
  static void ExpectWhole(const absl::StatusOr<std::unique_ptr<Drive>>& drive) {
    ASSERT_TRUE(drive.ok()) << drive.status();
    EXPECT_EQ((*drive)->scans().size(), 10u);
    const auto clouds = (*drive)->ReadClouds();
    ASSERT_TRUE(clouds.ok()) << clouds.status();
    for (size_t i = 0; i < (*drive)->scans().size(); ++i) {
      const auto cloud = (*clouds)->Next();
      ASSERT_TRUE(cloud.ok()) << cloud.status();
      EXPECT_GT(cloud->size(), 0u);
    }
  }

  std::string bags_;
};

TEST_F(CaseBagsTest, ABaseWithTwoParentsHasItsMount) {
  const auto drive = Open("twoparents.db3");
  ExpectWhole(drive);
  if (drive.ok()) {
    EXPECT_TRUE((*drive)->base_T_sensor().has_value());
  }
}

TEST_F(CaseBagsTest, TheTransformBetweenFramesThatAreGivenIsTaken) {
  const auto drive = Open("twoparents.db3", {"map", "base_link"}, "/tf");
  ExpectWhole(drive);
  const auto asked = Open("twoparents.db3", {}, "/tf");
  ASSERT_FALSE(asked.ok());
  EXPECT_THAT(std::string(asked.status().message()),
              HasSubstr("give both --map-frame and --base-frame"));
}

TEST_F(CaseBagsTest, AMountWithEitherSignIsFixed) { ExpectWhole(Open("static_sign.db3")); }

TEST_F(CaseBagsTest, CompressedMessagesInMcapAreRead) { ExpectWhole(Open("mcap_message")); }

TEST_F(CaseBagsTest, CompressedFilesAreRead) { ExpectWhole(Open("filezstd")); }

}  // namespace
}  // namespace voxloc::bag
