// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/cloud_file.h"

#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/cloud/io/cloud_bytes.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(CloudFileTest, TheNameDecidesTheFormat) {
  EXPECT_EQ(CloudFormatOf("a/b.pcd").value(), CloudFormat::kPcd);
  EXPECT_EQ(CloudFormatOf("B.PCD").value(), CloudFormat::kPcd);
  EXPECT_EQ(CloudFormatOf("x.y.Ply").value(), CloudFormat::kPly);
  EXPECT_EQ(CloudFormatOf("000000.bin").value(), CloudFormat::kKittiBin);
  EXPECT_EQ(CloudFormatOf("tile.LAS").value(), CloudFormat::kLas);
  EXPECT_EQ(CloudFormatOf("scan.npy").value(), CloudFormat::kNpy);
  for (const char* text : {"a.xyz", "a.csv", "a.TXT"}) {
    EXPECT_EQ(CloudFormatOf(text).value(), CloudFormat::kText);
  }
  const auto unknown = CloudFormatOf("a.obj");
  EXPECT_EQ(unknown.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(unknown.status().message()),
              AllOf(HasSubstr("a.obj"), HasSubstr(kCloudNames)));
  EXPECT_FALSE(CloudFormatOf("pcd").ok());
  EXPECT_FALSE(CloudFormatOf("").ok());
}

TEST(CloudFileTest, LazAndE57AreRefusedWithTheCommandThatConvertsThem) {
  EXPECT_EQ(std::string(CloudFormatOf("a/b.c.LAZ").status().message()),
            "a/b.c.LAZ: this format is not read; convert the file: pdal translate a/b.c.LAZ "
            "a/b.c.las");
  EXPECT_THAT(std::string(ReadCloud("scan.e57").status().message()),
              HasSubstr("pdal translate scan.e57 scan.las"));
}

TEST(CloudFileTest, CloudsOfFolders) {
  const ScratchDir scratch;
  for (const char* name : {"a.pcd", "a.ply", "a.bin", "a.las", "a.npy", "a.xyz"}) {
    EXPECT_TRUE(IsCloudOfFolder(scratch.Path(name)).value()) << name;
  }
  for (const char* name : {"poses.txt", "times.csv", "a.yaml", "a"}) {
    EXPECT_FALSE(IsCloudOfFolder(scratch.Path(name)).value()) << name;
  }
  EXPECT_THAT(std::string(IsCloudOfFolder(scratch.Path("b.laz")).status().message()),
              HasSubstr("pdal translate"));
  const std::string las = scratch.Write("b.las", "");
  EXPECT_FALSE(IsCloudOfFolder(scratch.Path("b.laz")).value());
}

TEST(CloudFileTest, TheSameCloudInEveryOtherFormatReadsTheSame) {
  const ScratchDir scratch;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const PointCloud cloud = RandomCloud(20 * seed, seed, true);
    std::string kitti;
    std::string text;
    std::string ply_binary =
        absl::StrCat("ply\nformat binary_little_endian 1.0\nelement vertex ", cloud.size(),
                     "\nproperty float intensity\nproperty float x\nproperty float y\n"
                     "property float z\nend_header\n");
    std::string ply_ascii = absl::StrCat("ply\nformat ascii 1.0\nelement vertex ", cloud.size(),
                                         "\nproperty float x\nproperty float y\nproperty float z\n"
                                         "property float intensity\nend_header\n");
    for (size_t i = 0; i < cloud.size(); ++i) {
      const float intensity = cloud.intensity[i];
      kitti += Bytes(cloud.x[i], cloud.y[i], cloud.z[i], intensity);
      ply_binary += Bytes(intensity, cloud.x[i], cloud.y[i], cloud.z[i]);
      char line[128];
      std::snprintf(line, sizeof(line), "%.9g %.9g %.9g %.9g\n", static_cast<double>(cloud.x[i]),
                    static_cast<double>(cloud.y[i]), static_cast<double>(cloud.z[i]),
                    static_cast<double>(intensity));
      ply_ascii += line;
      text += line;
    }
    const std::vector<std::string> paths = {
        scratch.Write("a.bin", kitti), scratch.Write("binary.ply", ply_binary),
        scratch.Write("ascii.ply", ply_ascii), scratch.Write("a.xyz", text)};
    for (const std::string& path : paths) {
      const absl::StatusOr<PointCloud> read = ReadCloud(path);
      ASSERT_TRUE(read.ok()) << read.status();
      EXPECT_TRUE(SameBits(*read, cloud)) << path;
    }
  }
}

TEST(CloudFileTest, WhatIsNoFileIsAnErrorWithItsName) {
  const ScratchDir scratch;
  const std::string missing = scratch.Path("missing.pcd");
  EXPECT_EQ(ReadCloud(missing).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(ReadCloud(missing).status().message()), HasSubstr(missing));

  const std::string folder = scratch.Path("folder.pcd");
  std::filesystem::create_directory(folder);
  EXPECT_EQ(ReadCloud(folder).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(ReadCloud(folder).status().message()),
              AllOf(HasSubstr(folder), HasSubstr("a directory")));

  const std::string pipe = scratch.Path("pipe.ply");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(ReadCloud(pipe).status().code(), absl::StatusCode::kInvalidArgument);

  const std::string below_file = scratch.Write("file.bin", "x") + "/a.bin";
  EXPECT_EQ(ReadCloud(below_file).status().code(), absl::StatusCode::kNotFound);
}

TEST(CloudFileTest, AnEmptyFileIsAnError) {
  const ScratchDir scratch;
  for (const char* name :
       {"empty.pcd", "empty.ply", "empty.bin", "empty.las", "empty.npy", "empty.csv"}) {
    const auto read = ReadCloud(scratch.Write(name, ""));
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(std::string(read.status().message()), HasSubstr("empty")) << name;
  }
}

TEST(CloudFileTest, FilesOverTheByteLimitAreNotRead) {
  const ScratchDir scratch;
  const std::string path = scratch.Write("a.bin", std::string(160, '\0'));
  CloudReadOptions limits;
  limits.max_file_bytes = 160;
  EXPECT_TRUE(ReadCloud(path, limits).ok());
  limits.max_file_bytes = 159;
  const auto read = ReadCloud(path, limits);
  EXPECT_EQ(read.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(read.status().message()),
              AllOf(HasSubstr("at most 159 bytes"), HasSubstr("(got 160)")));
  EXPECT_EQ(
      ParseCloud(CloudFormat::kKittiBin, std::string(160, '\0'), "a.bin", limits).status().code(),
      absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace voxloc
