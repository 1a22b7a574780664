// SPDX-License-Identifier: Apache-2.0
//
// Small files on which readers of clouds went wrong, as their users have them.

#include <filesystem>
#include <string>

#include "core/cloud/io/cloud_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/real_data.h"

namespace voxloc {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

class CaseCloudsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    VOXLOC_REAL_DATA_OR_SKIP(data);
    cases_ = data + "/cases";
    if (!std::filesystem::is_directory(cases_)) GTEST_SKIP() << "there is no " << cases_;
  }

  PointCloud Read(const std::string& name) const {
    absl::StatusOr<PointCloud> cloud = ReadCloud(cases_ + "/" + name);
    EXPECT_TRUE(cloud.ok()) << cloud.status();
    return cloud.ok() ? *cloud : PointCloud();
  }

  std::string cases_;
};

TEST_F(CaseCloudsTest, AViewpointMovesThePoints) {
  const PointCloud cloud = Read("viewpoint.pcd");
  ASSERT_EQ(cloud.size(), 2u);
  EXPECT_LT((cloud.Point(0) - Eigen::Vector3d(100, 51, 0)).norm(), 1e-5);
  EXPECT_LT((cloud.Point(1) - Eigen::Vector3d(100, 52, 0)).norm(), 1e-5);
}

TEST_F(CaseCloudsTest, PointsOfFiveFloatsAreFour) {
  const PointCloud cloud = Read("five.bin");
  EXPECT_THAT(cloud.x, ElementsAre(1.0F, 2.0F, 3.0F, 4.0F));
  EXPECT_THAT(cloud.z, Each(-1.8F));
}

TEST_F(CaseCloudsTest, PlyWithListsAndBigEndianIsRead) {
  for (const char* name : {"vertex_list.ply", "big_endian.ply"}) {
    const PointCloud cloud = Read(name);
    EXPECT_THAT(cloud.x, ElementsAre(1.0F, 4.0F)) << name;
    EXPECT_THAT(cloud.y, ElementsAre(2.0F, 5.0F)) << name;
    EXPECT_THAT(cloud.z, ElementsAre(3.0F, 6.0F)) << name;
  }
}

TEST_F(CaseCloudsTest, ABlockThatIsStoredRawIsRead) {
  const PointCloud cloud = Read("pypcd4_raw.pcd");
  EXPECT_THAT(cloud.x, ElementsAre(1.0F, 4.0F, 7.0F, 1.5F));
  EXPECT_THAT(cloud.y, ElementsAre(2.0F, 5.0F, 8.0F, 2.5F));
  EXPECT_THAT(cloud.z, ElementsAre(3.0F, 6.0F, 9.0F, 3.5F));
}

}  // namespace
}  // namespace voxloc
