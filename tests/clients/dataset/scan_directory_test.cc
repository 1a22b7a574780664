// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/scan_directory.h"

#include <filesystem>
#include <string>

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

TEST(ScanDirectoryTest, OneFileIsAListOfOne) {
  const ScratchDir scratch;
  const std::string file = scratch.Write("a.ply", "");
  EXPECT_THAT(ListClouds(file).value(), ElementsAre(file));
}

TEST(ScanDirectoryTest, NothingToListIsAnError) {
  const ScratchDir scratch;
  scratch.Write("notes/readme.txt", "");
  const auto none = ListClouds(scratch.Path("notes"));
  EXPECT_EQ(none.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(none.status().message()),
              AllOf(HasSubstr("notes"), HasSubstr("no cloud"), HasSubstr(".pcd, .ply or .bin")));
  EXPECT_EQ(ListClouds(scratch.Path("missing")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ListClouds(scratch.Path("notes") + "/readme.txt").status().code(),
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
