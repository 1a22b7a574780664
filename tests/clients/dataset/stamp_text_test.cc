// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <limits>
#include <random>

#include "clients/dataset/trajectory_file.h"
#include "gtest/gtest.h"

namespace voxloc {
namespace {

TEST(StampTextTest, DigitsAreTakenAsTheyStand) {
  EXPECT_EQ(NanosecondsFromSeconds("1403636579.763555552"), 1403636579763555552);
  EXPECT_EQ(NanosecondsFromSeconds("1.403636579763555552e+09"), 1403636579763555552);
  EXPECT_EQ(NanosecondsFromSeconds("14036365797635555.52E-7"), 1403636579763555552);
  EXPECT_EQ(NanosecondsFromSeconds("0"), 0);
  EXPECT_EQ(NanosecondsFromSeconds("0.000"), 0);
  EXPECT_EQ(NanosecondsFromSeconds("+12."), 12'000'000'000);
  EXPECT_EQ(NanosecondsFromSeconds(".5"), 500'000'000);
  EXPECT_EQ(NanosecondsFromSeconds("-0.25"), -250'000'000);
  EXPECT_EQ(NanosecondsFromSeconds("0.000000001"), 1);
  EXPECT_EQ(NanosecondsFromSeconds("0.0000000019"), 1);
  EXPECT_EQ(NanosecondsFromSeconds("00042"), 42'000'000'000);
  EXPECT_EQ(NanosecondsFromSeconds("1e-9"), 1);
  EXPECT_EQ(NanosecondsFromSeconds("1e-300"), 0);
  EXPECT_EQ(NanosecondsFromSeconds("9223372036.854775807"), std::numeric_limits<int64_t>::max());
}

TEST(StampTextTest, WhatIsNoStampIsNothing) {
  for (const char* text : {"", ".", "-", "+", "e5", "1.2.3", "1e", "1e5x", "1,5", "nan", "inf",
                           "--1", "9223372036.854775808", "1e300", "1e2000", " 1"}) {
    EXPECT_FALSE(NanosecondsFromSeconds(text).has_value()) << text;
  }
}

TEST(StampTextTest, EveryStampComesBack) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const int64_t stamp = static_cast<int64_t>(random() >> (1 + i % 60)) * (i % 2 == 0 ? 1 : -1);
    ASSERT_EQ(NanosecondsFromSeconds(SecondsFromNanoseconds(stamp)), stamp);
  }
  EXPECT_EQ(SecondsFromNanoseconds(-1), "-0.000000001");
  EXPECT_EQ(SecondsFromNanoseconds(1403636579763555552), "1403636579.763555552");
  EXPECT_EQ(SecondsFromNanoseconds(std::numeric_limits<int64_t>::min()), "-9223372036.854775808");
}

}  // namespace
}  // namespace voxloc
