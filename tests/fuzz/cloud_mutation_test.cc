// SPDX-License-Identifier: Apache-2.0
//
// Valid files with bytes changed, cut, doubled and put in, thousands of times from fixed seeds.
// Each must give a Status or a cloud that is whole in itself, without an allocation out of
// proportion to the file; a sanitizer build sees reads out of bounds.

#include <cstdint>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/cloud/io/cloud_file.h"
#include "gtest/gtest.h"
#include "tests/core/cloud/io/cloud_bytes.h"
#include "tests/fuzz/mutation.h"
#include "tests/support/allocation_hooks.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

struct ValidFile {
  CloudFormat format;
  std::string bytes;
  size_t points = 20;
};

// No points, of many values each.
std::string EmptyPcdBytes(absl::string_view encoding) {
  return absl::StrCat(
      "FIELDS x y z normal _ histogram\nSIZE 4 4 4 4 1 8\nTYPE F F F F U F\n"
      "COUNT 1 1 1 3 4 99\nWIDTH 0\nHEIGHT 1\nPOINTS 0\nDATA ",
      encoding, "\n");
}

std::string EmptyPlyBytes(absl::string_view encoding) {
  return absl::StrCat("ply\nformat ", encoding,
                      " 1.0\nelement face 0\nproperty list uint int corners\nelement vertex 0\n"
                      "property float x\nproperty float y\nproperty float z\nend_header\n");
}

std::string PcdBytes(const PointCloud& cloud, PcdEncoding encoding) {
  const ScratchDir scratch;
  const std::string path = scratch.Path("a.pcd");
  EXPECT_TRUE(WritePcd(path, cloud, encoding).ok());
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string PlyBytes(const PointCloud& cloud, bool ascii) {
  std::string out = absl::StrCat(
      "ply\nformat ", ascii ? "ascii" : "binary_little_endian",
      " 1.0\nelement face 2\nproperty list uchar int corners\nelement vertex ", cloud.size(),
      "\nproperty float x\nproperty double y\nproperty float z\nend_header\n");
  out += ascii ? "2 0 1\n0\n" : Bytes(uint8_t{2}, int32_t{0}, int32_t{1}, uint8_t{0});
  for (size_t i = 0; i < cloud.size(); ++i) {
    if (ascii) {
      absl::StrAppend(&out, cloud.x[i], " ", cloud.y[i], " ", cloud.z[i], "\n");
    } else {
      out += Bytes(cloud.x[i], static_cast<double>(cloud.y[i]), cloud.z[i]);
    }
  }
  return out;
}

std::vector<ValidFile> ValidFiles() {
  const PointCloud cloud = RandomCloud(20, 1, true);
  PointCloud far = cloud;
  far.origin = {4e6, -7e5, 30.0};
  std::vector<ValidFile> files;
  for (const PcdEncoding encoding :
       {PcdEncoding::kAscii, PcdEncoding::kBinary, PcdEncoding::kBinaryCompressed}) {
    files.push_back({CloudFormat::kPcd, PcdBytes(cloud, encoding)});
    files.push_back({CloudFormat::kPcd, PcdBytes(far, encoding)});
  }
  files.push_back({CloudFormat::kPly, PlyBytes(cloud, true)});
  files.push_back({CloudFormat::kPly, PlyBytes(cloud, false)});
  for (const absl::string_view encoding : {"ascii", "binary", "binary_compressed"}) {
    files.push_back({CloudFormat::kPcd, EmptyPcdBytes(encoding), 0});
  }
  for (const absl::string_view encoding : {"ascii", "binary_little_endian"}) {
    files.push_back({CloudFormat::kPly, EmptyPlyBytes(encoding), 0});
  }
  std::string kitti;
  for (size_t i = 0; i < cloud.size(); ++i) {
    kitti += Bytes(cloud.x[i], cloud.y[i], cloud.z[i], cloud.intensity[i]);
  }
  files.push_back({CloudFormat::kKittiBin, kitti});
  return files;
}

void ExpectWhole(const absl::StatusOr<PointCloud>& cloud, uint64_t seed) {
  if (!cloud.ok()) {
    ASSERT_FALSE(cloud.status().message().empty()) << "seed " << seed;
    return;
  }
  ASSERT_EQ(cloud->y.size(), cloud->size()) << "seed " << seed;
  ASSERT_EQ(cloud->z.size(), cloud->size()) << "seed " << seed;
  ASSERT_TRUE(!cloud->has_intensity() || cloud->intensity.size() == cloud->size()) << seed;
  ASSERT_TRUE(cloud->origin.allFinite()) << "seed " << seed;
}

TEST(CloudMutationTest, TheFilesAreValidUnchanged) {
  for (const ValidFile& file : ValidFiles()) {
    const absl::StatusOr<PointCloud> cloud = ParseCloud(file.format, file.bytes, "valid");
    ASSERT_TRUE(cloud.ok()) << cloud.status();
    EXPECT_EQ(cloud->size(), file.points);
  }
}

TEST(CloudMutationTest, EveryTruncationGivesACloudOrAStatus) {
  for (const ValidFile& file : ValidFiles()) {
    for (size_t size = 0; size < file.bytes.size(); ++size) {
      // A copy of exactly this size, so that a sanitizer sees any byte read after it.
      const std::vector<char> cut(file.bytes.begin(),
                                  file.bytes.begin() + static_cast<std::ptrdiff_t>(size));
      ExpectWhole(ParseCloud(file.format, absl::string_view(cut.data(), cut.size()), "cut"), size);
    }
  }
}

TEST(CloudMutationTest, EveryMutationGivesACloudOrAStatus) {
  size_t refused = 0;
  size_t read = 0;
  for (const ValidFile& file : ValidFiles()) {
    for (uint64_t seed = 0; seed < 4000; ++seed) {
      std::mt19937_64 random(seed);
      const std::string mutated = Mutate(file.bytes, random);
      const std::vector<char> exact(mutated.begin(), mutated.end());
      ResetAllocationCounts();
      const absl::StatusOr<PointCloud> cloud =
          ParseCloud(file.format, absl::string_view(exact.data(), exact.size()), "mutated");
      // A byte of LZF stands for 88 at most; a few bytes of a header for a field's record. An error
      // of an empty file has its text.
      ASSERT_LE(CountedAllocations().largest_bytes, 100 * exact.size() + 256) << "seed " << seed;
      ExpectWhole(cloud, seed);
      ++(cloud.ok() ? read : refused);
    }
  }
  // Both happen, or the mutations test nothing.
  EXPECT_GT(refused, 1000u);
  EXPECT_GT(read, 1000u);
}

}  // namespace
}  // namespace voxloc
