// SPDX-License-Identifier: Apache-2.0

#include <filesystem>
#include <string>
#include <vector>

#include "clients/dataset/cloud_sources.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/real_data.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ScanDirectoryTest, CloudFilesComeInTheOrderOfTheirNames) {
  const ScratchDir scratch;
  const std::string b = scratch.Write("scans/000010.bin", "");
  const std::string a = scratch.Write("scans/000002.PCD", "");
  const std::string c = scratch.Write("scans/000011.ply", "");
  scratch.Write("scans/poses.txt", "");
  scratch.Write("scans/000001.pcd.part", "");
  scratch.Write("scans/below/000000.pcd", "");
  std::filesystem::create_directory(scratch.Path("scans/000003.pcd"));
  const auto clouds = ListClouds(scratch.Path("scans"));
  ASSERT_TRUE(clouds.ok()) << clouds.status();
  EXPECT_THAT(*clouds, ElementsAre(a, b, c));
}

TEST(ScanDirectoryTest, NumbersInNamesOrderAsNumbers) {
  const ScratchDir scratch;
  std::vector<std::string> expected;
  for (int i = 0; i < 12; ++i) {
    expected.push_back(scratch.Write("scans/" + std::to_string(i) + ".pcd", ""));
  }
  EXPECT_EQ(ListClouds(scratch.Path("scans")).value(), expected);
  EXPECT_EQ(PairingOrder(expected).value(),
            "in the numeric order of their names: 0.pcd, 1.pcd, 2.pcd, ... 11.pcd");
  EXPECT_EQ(PairingOrder({expected[0], expected[1]}).value(),
            "in the numeric order of their names: 0.pcd, 1.pcd");
  // One by one they keep the order that was given, but not that of a shell's *.
  EXPECT_EQ(PairingOrder({expected[4], expected[2], expected[10]}).value(),
            "in the order given: 4.pcd, 2.pcd, 10.pcd");
  const auto shell = PairingOrder({expected[1], expected[10], expected[2]});
  EXPECT_EQ(shell.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(shell.status().message()),
              AllOf(HasSubstr("1.pcd to 2.pcd"), HasSubstr("give their directory")));
}

TEST(ScanDirectoryTest, AnExtensionDecidesLast) {
  const ScratchDir scratch;
  const std::string b = scratch.Write("scans/a-1.pcd", "");
  const std::string a = scratch.Write("scans/a.pcd", "");
  EXPECT_THAT(ListClouds(scratch.Path("scans")).value(), ElementsAre(a, b));
}

TEST(ScanDirectoryTest, AnOrderThatIsAMatterOfOpinionIsRefused) {
  const auto error = [](const std::vector<std::string>& names) {
    const auto order = PairingOrder(names);
    EXPECT_EQ(order.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(order.status().message());
  };
  EXPECT_THAT(error({"s/007.pcd", "s/7.pcd"}), AllOf(HasSubstr("007.pcd"), HasSubstr("7.pcd")));
  EXPECT_THAT(error({"s/7.pcd", "s/7.ply"}), HasSubstr("different numbers"));
  // 0.5 s is after 0.25 s, but 5 ns are before 25 ns.
  EXPECT_THAT(error({"s/17.5.pcd", "s/17.25.pcd"}),
              AllOf(HasSubstr("17.5.pcd"), HasSubstr("17.25.pcd"), HasSubstr("one width")));
  EXPECT_TRUE(PairingOrder({"s/17.05.pcd", "s/17.25.pcd", "s/18.5.pcd"}).ok());
  EXPECT_TRUE(PairingOrder({"s/17.5.pcd", "s/17.75.pcd"}).ok());
  EXPECT_TRUE(PairingOrder({"a/7.pcd", "b/7.pcd"}).ok());
}

TEST(ScanDirectoryTest, OneFileIsAListOfOne) {
  const ScratchDir scratch;
  const std::string file = scratch.Write("a.ply", "");
  EXPECT_THAT(ListClouds(file).value(), ElementsAre(file));
}

TEST(ScanDirectoryTest, AFormatThatIsNotReadIsNotLeftOutInSilence) {
  const ScratchDir scratch;
  const std::string las = scratch.Write("a.las", "");
  scratch.Write("a.laz", "");
  scratch.Write("poses.txt", "");
  EXPECT_THAT(ListClouds(scratch.Path("")).value(), ElementsAre(las));
  scratch.Write("b.laz", "");
  EXPECT_THAT(std::string(ListClouds(scratch.Path("")).status().message()),
              AllOf(HasSubstr("b.laz"), HasSubstr("pdal translate")));
}

TEST(ScanDirectoryTest, NothingToListIsAnError) {
  const ScratchDir scratch;
  scratch.Write("notes/readme.txt", "");
  const auto none = ListClouds(scratch.Path("notes"));
  EXPECT_EQ(none.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(none.status().message()),
              AllOf(HasSubstr("notes"), HasSubstr("no cloud"),
                    HasSubstr(".pcd, .ply, .bin (KITTI), .las, .npy or .xyz"),
                    HasSubstr("there is readme.txt")));
  // A map of Autoware without its metadata.
  scratch.Write("map/pointcloud_map.pcd/1.pcd", "");
  scratch.Write("map/pointcloud_map.pcd/2.pcd", "");
  scratch.Write("map/lanelet2_map.osm", "");
  EXPECT_THAT(std::string(ListClouds(scratch.Path("map")).status().message()),
              HasSubstr("there is lanelet2_map.osm, pointcloud_map.pcd/ (2 clouds)"));
  EXPECT_EQ(ListClouds(scratch.Path("missing")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ListClouds(scratch.Write("notes/map.osm", "")).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ScanDirectoryTest, TheOusterScansAreThree) {
  VOXLOC_REAL_DATA_OR_SKIP(data);
  const auto scans = ListClouds(data + "/ouster_os1/scans");
  ASSERT_TRUE(scans.ok()) << scans.status();
  EXPECT_EQ(scans->size(), 3u);
  EXPECT_EQ(ListClouds(data + "/ouster_os1/task/scans")->size(), 20u);
}

}  // namespace
}  // namespace voxloc
