// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/text_scan.h"

#include <clocale>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

#include "absl/strings/str_format.h"
#include "gtest/gtest.h"

namespace voxloc {
namespace {

TEST(TextScanTest, LinesAreCountedWhateverTheyEndWith) {
  LineScanner lines("a\nb\r\n\nlast", 5);
  absl::string_view line;
  ASSERT_TRUE(lines.Next(line));
  EXPECT_EQ(line, "a");
  EXPECT_EQ(lines.line_number(), 5u);
  EXPECT_EQ(lines.offset(), 2u);
  ASSERT_TRUE(lines.Next(line));
  EXPECT_EQ(line, "b");
  ASSERT_TRUE(lines.Next(line));
  EXPECT_EQ(line, "");
  ASSERT_TRUE(lines.Next(line));
  EXPECT_EQ(line, "last");
  EXPECT_EQ(lines.line_number(), 8u);
  EXPECT_FALSE(lines.Next(line));
}

TEST(TextScanTest, WordsStandBetweenSpacesAndTabs) {
  absl::string_view rest = " \tone  two\tthree ";
  EXPECT_EQ(ConsumeWord(rest), "one");
  EXPECT_EQ(ConsumeWord(rest), "two");
  EXPECT_EQ(ConsumeWord(rest), "three");
  EXPECT_EQ(ConsumeWord(rest), "");
}

TEST(TextScanTest, NumbersAgreeWithTheStandardLibrary) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 20000; ++i) {
    const double magnitude = std::pow(10.0, static_cast<double>(random() % 40) - 20.0);
    const double value = static_cast<double>(static_cast<int64_t>(random())) * 1e-19 * magnitude;
    const std::string text = absl::StrFormat("%.*g", static_cast<int>(1 + random() % 18), value);
    double parsed = 0.0;
    ASSERT_TRUE(ParseDouble(text, parsed)) << text;
    ASSERT_EQ(parsed, std::strtod(text.c_str(), nullptr)) << text;
  }
}

TEST(TextScanTest, OnlyWholeWordsAreNumbers) {
  double value = 0.0;
  for (const char* text : {"", "+", "-", ".", "e5", "1x", "x1", "1 ", " 1", "1,5", "0xg", "--1",
                           "+-1", "++1", "1e", "nan5"}) {
    EXPECT_FALSE(ParseDouble(text, value)) << text;
  }
  for (const char* text :
       {"1", "+1", "-1", ".5", "5.", "1e5", "1E-5", "nan", "-nan", "inf", "-Inf", "+inf"}) {
    EXPECT_TRUE(ParseDouble(text, value)) << text;
  }
}

TEST(TextScanTest, NumbersOutOfRangeBecomeInfiniteOrZero) {
  double value = 1.0;
  ASSERT_TRUE(ParseDouble("1e999", value));
  EXPECT_TRUE(std::isinf(value));
  ASSERT_TRUE(ParseDouble("-1e999", value));
  EXPECT_EQ(value, -std::numeric_limits<double>::infinity());
  ASSERT_TRUE(ParseDouble("1e-999", value));
  EXPECT_LT(value, 1e-300);
}

TEST(TextScanTest, TheLocaleDoesNotMatter) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* locale : {"de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8"}) {
    std::setlocale(LC_ALL, locale);
    double value = 0.0;
    EXPECT_TRUE(ParseDouble("1.5", value)) << locale;
    EXPECT_EQ(value, 1.5) << locale;
    EXPECT_FALSE(ParseDouble("1,5", value)) << locale;
  }
  std::setlocale(LC_ALL, before.c_str());
}

}  // namespace
}  // namespace voxloc
