// SPDX-License-Identifier: Apache-2.0

#include <string>
#include <vector>

#include "clients/dataset/cloud_sources.h"
#include "core/cloud/io/cloud_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Pcd(const std::string& viewpoint, const std::string& comment = "") {
  return "# " + comment + "\nVERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\n" +
         "WIDTH 1\nHEIGHT 1\nVIEWPOINT " + viewpoint + "\nPOINTS 1\nDATA ascii\n1 2 3\n";
}

TEST(CloudRemarksTest, ViewpointsThatMovePointsAreNamed) {
  const ScratchDir scratch;
  const std::string still = scratch.Write("0.pcd", Pcd("0 0 0 1 0 0 0"));
  const std::string moved = scratch.Write("1.pcd", Pcd("100 50 0 0.5 0 0 -0.5"));
  const std::string shifted = scratch.Write("2.pcd", Pcd("0 0 1 1 0 0 0"));
  EXPECT_THAT(DescribeClouds({still, scratch.Path("missing.pcd")}), IsEmpty());
  EXPECT_THAT(DescribeClouds({still, moved, shifted}),
              ElementsAre("VIEWPOINT moves the points of 2 of 3 clouds, first " + moved +
                          " by 100 50 0 m and 90 deg"));
}

TEST(CloudRemarksTest, RecordsOfBinFilesAreNamedWithTheReason) {
  const ScratchDir scratch;
  const std::string bin = scratch.Write("a.bin", std::string(64, '\1'));
  CloudReadOptions told;
  told.record_floats = 8;
  EXPECT_THAT(DescribeClouds({bin, bin}, told),
              ElementsAre("points of .bin files have 8 float32 each, as told: " + bin));
  EXPECT_THAT(DescribeClouds({scratch.Write("a.pcd.bin", std::string(80, '\0'))}),
              ElementsAre(HasSubstr("5 float32 each, by the file's name: ")));
}

TEST(CloudInspectionTest, AHeaderOfAnyLengthIsRead) {
  const ScratchDir scratch;
  const auto info =
      InspectCloud(scratch.Write("a.pcd", Pcd("0 0 7 1 0 0 0", std::string(5000, 'x'))));
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->points, 1u);
  EXPECT_EQ(info->viewpoint.translation.z(), 7.0);
  EXPECT_EQ(InspectCloud(scratch.Write("empty.pcd", ""))->points, 0u);
  EXPECT_EQ(InspectCloud(scratch.Write("a.bin", std::string(48, '\0')))->points, 3u);
  EXPECT_EQ(InspectCloud(scratch.Write("a.ply",
                                       "ply\nformat ascii 1.0\nelement vertex 5\nproperty float x\n"
                                       "property float y\nproperty float z\nend_header\n"))
                ->points,
            5u);
  EXPECT_FALSE(InspectCloud(scratch.Write("bad.pcd", "VERSION")).ok());
}

}  // namespace
}  // namespace voxloc
