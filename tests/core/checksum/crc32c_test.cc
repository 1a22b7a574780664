// SPDX-License-Identifier: Apache-2.0

#include "core/checksum/crc32c.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace voxloc {
namespace {

TEST(Crc32cTest, AgreesWithPublishedVectors) {
  EXPECT_EQ(Crc32c(""), 0U);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283U);
  // RFC 3720, appendix B.4.
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  std::string ascending;
  for (char c = 0; c < 32; ++c) ascending.push_back(c);
  EXPECT_EQ(Crc32c(ascending), 0x46dd794eU);
}

TEST(Crc32cTest, GoesOnWhereItStopped) {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(ExtendCrc32c(Crc32c(text.substr(0, cut)), text.substr(cut)), Crc32c(text)) << cut;
  }
}

TEST(Crc32cTest, IsTheSameByTableAndByInstruction) {
  std::mt19937_64 random(5);
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(ExtendCrc32cByTable(0, bytes), Crc32c(bytes)) << i;
    const auto crc = static_cast<uint32_t>(random());
    EXPECT_EQ(ExtendCrc32cByTable(crc, bytes), ExtendCrc32c(crc, bytes)) << i;
    bytes.push_back(static_cast<char>(random()));
  }
  EXPECT_EQ(ExtendCrc32cByTable(0, "123456789"), 0xe3069283U);
}

}  // namespace
}  // namespace voxloc
