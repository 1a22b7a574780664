// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "core/text/names.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace voxloc {
namespace {

using ::testing::ElementsAreArray;

TEST(NaturalOrderTest, NumbersOfAnyWidthCompareAsNumbers) {
  const std::vector<std::string> ordered = {"",
                                            "0",
                                            "1",
                                            "2",
                                            "10",
                                            "11",
                                            "100",
                                            "99999999999999999999999998",
                                            "99999999999999999999999999",
                                            "a",
                                            "a-2",
                                            "a2b1",
                                            "a2b10",
                                            "a10b2",
                                            "frame_9",
                                            "frame_10",
                                            "frame_10_left",
                                            "frame_11"};
  std::vector<std::string> names = ordered;
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(names.begin(), names.end(), random);
    std::sort(names.begin(), names.end(), NaturalLess);
    EXPECT_THAT(names, ElementsAreArray(ordered));
  }
}

TEST(NaturalOrderTest, LeadingZerosDecideOnlyWhereNothingElseDoes) {
  EXPECT_EQ(CompareNatural("scan_007.pcd", "scan_7.pcd"), 0);
  EXPECT_EQ(CompareNatural("000", "0"), 0);
  EXPECT_TRUE(NaturalLess("scan_007.pcd", "scan_7.pcd"));
  EXPECT_FALSE(NaturalLess("scan_7.pcd", "scan_007.pcd"));
  EXPECT_TRUE(NaturalLess("007a", "7b"));
  EXPECT_TRUE(NaturalLess("08", "9"));
}

TEST(NaturalOrderTest, BytesOverAsciiAreBytes) {
  EXPECT_LT(CompareNatural("z", "\xC3\xA4"), 0);
  EXPECT_GT(CompareNatural("\xC3\xA4", "z"), 0);
}

}  // namespace
}  // namespace voxloc
