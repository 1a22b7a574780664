// SPDX-License-Identifier: Apache-2.0

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include "core/cloud/io/cloud_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/cloud/io/cloud_bytes.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

using ::testing::HasSubstr;

constexpr PcdEncoding kEncodings[] = {PcdEncoding::kAscii, PcdEncoding::kBinary,
                                      PcdEncoding::kBinaryCompressed};

std::string ContentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(PcdWriterTest, AnyCloudComesBackBitForBitInEveryEncoding) {
  const ScratchDir scratch;
  const std::string path = scratch.Path("cloud.pcd");
  for (uint64_t seed = 0; seed < 30; ++seed) {
    PointCloud cloud = RandomCloud(seed == 0 ? 0 : 50 * seed + 1, seed, seed % 2 == 1);
    if (seed % 3 == 1) {
      cloud.x[0] = std::numeric_limits<float>::quiet_NaN();
      cloud.y[0] = -std::numeric_limits<float>::infinity();
      cloud.z[0] = std::numeric_limits<float>::denorm_min();
    }
    for (const PcdEncoding encoding : kEncodings) {
      const absl::Status written = WritePcd(path, cloud, encoding);
      ASSERT_TRUE(written.ok()) << written;
      const absl::StatusOr<PointCloud> read = ReadCloud(path);
      ASSERT_TRUE(read.ok()) << read.status();
      EXPECT_TRUE(SameBits(*read, cloud)) << "seed " << seed;
    }
  }
}

TEST(PcdWriterTest, CloudsAroundAnOriginLoseNothing) {
  const ScratchDir scratch;
  const std::string path = scratch.Path("cloud.pcd");
  PointCloud cloud = RandomCloud(500, 5, true);
  cloud.origin = {4'000'000.5, -700'000.25, 12.125};
  for (const PcdEncoding encoding : kEncodings) {
    ASSERT_TRUE(WritePcd(path, cloud, encoding).ok());
    EXPECT_THAT(ContentOf(path), HasSubstr("SIZE 8 8 8 4"));
    const absl::StatusOr<PointCloud> read = ReadCloud(path);
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_EQ(read->size(), cloud.size());
    for (size_t i = 0; i < cloud.size(); ++i) {
      ASSERT_LT((read->Point(i) - cloud.Point(i)).cwiseAbs().maxCoeff(), 2e-5) << i;
    }
    EXPECT_TRUE(SameBits(read->intensity, cloud.intensity));
  }
}

TEST(PcdWriterTest, ExtraFieldsFollowAndReadersSkipThem) {
  const ScratchDir scratch;
  const std::string path = scratch.Path("cloud.pcd");
  PointCloud cloud;
  cloud.PushBack(1.0F, 2.5F, -3.0F);
  cloud.PushBack(4.0F, 5.0F, 6.0F);
  ASSERT_TRUE(WritePcd(path, cloud, PcdEncoding::kAscii, {{"t", {0.25F, 0.5F}}}).ok());
  EXPECT_EQ(
      ContentOf(path),
      "# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS x y z t\nSIZE 4 4 4 4\n"
      "TYPE F F F F\nCOUNT 1 1 1 1\nWIDTH 2\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS 2\n"
      "DATA ascii\n1 2.5 -3 0.25\n4 5 6 0.5\n");
  cloud = RandomCloud(301, 3, true);
  const std::vector<float> times(301, 0.125F);
  for (const PcdEncoding encoding : kEncodings) {
    ASSERT_TRUE(WritePcd(path, cloud, encoding, {{"t", times}, {"u", times}}).ok());
    const absl::StatusOr<PointCloud> read = ReadCloud(path);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(SameBits(*read, cloud));
  }
  const absl::Status status = WritePcd(path, cloud, PcdEncoding::kBinary, {{"t", {1.0F}}});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("field t must have 301 values (got 1)"));
}

TEST(PcdWriterTest, IncompressibleDataFitsToo) {
  const ScratchDir scratch;
  const std::string path = scratch.Path("cloud.pcd");
  std::mt19937_64 random(1);
  PointCloud cloud;
  const auto noise = [&random] {
    const uint32_t bits = static_cast<uint32_t>(random() >> 33);  // no sign, and any exponent
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  };
  for (int i = 0; i < 10000; ++i) {
    const float x = noise();
    const float y = noise();
    cloud.PushBack(x, y, noise());
  }
  ASSERT_TRUE(WritePcd(path, cloud, PcdEncoding::kBinaryCompressed).ok());
  const absl::StatusOr<PointCloud> read = ReadCloud(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(SameBits(*read, cloud));
}

TEST(PcdWriterTest, AFailedWriteLeavesTheOldFileAndNothingElse) {
  const ScratchDir scratch;
  const std::string folder = scratch.Path("target/occupied");
  std::filesystem::create_directory(folder);  // renaming a file onto a folder fails
  EXPECT_FALSE(WritePcd(folder, RandomCloud(10, 1, false)).ok());
  size_t entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(scratch.Path("target"))) {
    EXPECT_EQ(entry.path().filename(), "occupied");
    ++entries;
  }
  EXPECT_EQ(entries, 1u);

  const absl::Status missing = WritePcd(scratch.Path("a") + "/b/c.pcd", RandomCloud(1, 1, false));
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound) << missing;
}

}  // namespace
}  // namespace voxloc
