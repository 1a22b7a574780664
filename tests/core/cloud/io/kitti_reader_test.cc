// SPDX-License-Identifier: Apache-2.0

#include <string>

#include "core/cloud/io/cloud_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/cloud/io/cloud_bytes.h"

namespace voxloc {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(KittiReaderTest, BytesByHand) {
  const std::string data(
      "\x00\x00\x80\x3f\x00\x00\x00\xc0\x00\x00\x00\x3f\x00\x00\x40\x40"
      "\x00\x00\xa0\x40\x00\x00\xc0\x40\x00\x00\xe0\x40\x00\x00\x00\x00",
      32);
  const auto cloud = ParseCloud(CloudFormat::kKittiBin, data, "a.bin");
  ASSERT_TRUE(cloud.ok()) << cloud.status();
  EXPECT_THAT(cloud->x, ElementsAre(1.0F, 5.0F));
  EXPECT_THAT(cloud->y, ElementsAre(-2.0F, 6.0F));
  EXPECT_THAT(cloud->z, ElementsAre(0.5F, 7.0F));
  EXPECT_THAT(cloud->intensity, ElementsAre(3.0F, 0.0F));
}

TEST(KittiReaderTest, APartOfARecordIsAnErrorAtItsByte) {
  for (size_t size = 1; size < 64; ++size) {
    const auto cloud = ParseCloud(CloudFormat::kKittiBin, std::string(size, '\0'), "a.bin");
    EXPECT_EQ(cloud.ok(), size % 16 == 0) << size;
  }
  const auto cloud = ParseCloud(CloudFormat::kKittiBin, std::string(37, '\0'), "a.bin");
  EXPECT_THAT(
      std::string(cloud.status().message()),
      AllOf(HasSubstr("a.bin: byte 32"), HasSubstr("multiple of 16 bytes"), HasSubstr("(got 37)")));
}

TEST(KittiReaderTest, LimitsHold) {
  CloudReadOptions limits;
  limits.max_points = 2;
  EXPECT_TRUE(ParseCloud(CloudFormat::kKittiBin, std::string(32, '\0'), "a.bin", limits).ok());
  EXPECT_EQ(
      ParseCloud(CloudFormat::kKittiBin, std::string(48, '\0'), "a.bin", limits).status().code(),
      absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace voxloc
