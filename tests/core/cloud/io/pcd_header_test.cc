// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/pcd_header.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace voxloc {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kHeader =
    "# .PCD v0.7\n"
    "VERSION 0.7\n"
    "FIELDS x y z intensity\n"
    "SIZE 4 4 4 4\n"
    "TYPE F F F F\n"
    "COUNT 1 1 1 1\n"
    "WIDTH 4\n"
    "HEIGHT 3\n"
    "VIEWPOINT 0 0 0 1 0 0 0\n"
    "POINTS 12\n"
    "DATA binary\n";

absl::StatusOr<PcdHeader> ParseHeader(const std::string& text) {
  return ParsePcdHeader(text, "a.pcd");
}

// The header with one line replaced.
std::string With(const std::string& line, const std::string& replacement) {
  return absl::StrReplaceAll(kHeader,
                             {{line + "\n", replacement.empty() ? "" : replacement + "\n"}});
}

std::string HeaderError(const std::string& text) {
  const absl::StatusOr<PcdHeader> header = ParseHeader(text);
  EXPECT_EQ(header.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(header.status().message());
}

TEST(PcdHeaderTest, AWholeHeaderIsUnderstood) {
  const absl::StatusOr<PcdHeader> header = ParseHeader(kHeader);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->points, 12u);
  EXPECT_EQ(header->encoding, PcdEncoding::kBinary);
  EXPECT_EQ(header->fields.size(), 4u);
  EXPECT_EQ(header->point_bytes(), 16u);
  EXPECT_EQ(header->point_fields.intensity, 3u);
  EXPECT_EQ(header->data_offset, std::string(kHeader).size());
  EXPECT_EQ(header->data_line, 12u);
}

TEST(PcdHeaderTest, WhatMayBeMissingMayBeMissing) {
  for (const char* line :
       {"# .PCD v0.7", "VERSION 0.7", "COUNT 1 1 1 1", "POINTS 12", "VIEWPOINT 0 0 0 1 0 0 0"}) {
    const absl::StatusOr<PcdHeader> header = ParseHeader(With(line, ""));
    ASSERT_TRUE(header.ok()) << line << ": " << header.status();
    EXPECT_EQ(header->points, 12u);
  }
  const std::string points_only =
      absl::StrReplaceAll(kHeader, {{"WIDTH 4\n", ""}, {"HEIGHT 3\n", ""}});
  ASSERT_TRUE(ParseHeader(points_only).ok());
  EXPECT_EQ(ParseHeader(points_only)->points, 12u);
}

TEST(PcdHeaderTest, WindowsLineEndsAndExtraSpacesAreTaken) {
  const std::string text =
      absl::StrReplaceAll(kHeader, {{"\n", "\r\n"}, {"SIZE 4 4", "SIZE\t4   4"}});
  const absl::StatusOr<PcdHeader> header = ParseHeader(text);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->data_offset, text.size());
}

TEST(PcdHeaderTest, EveryTypeAndSizeThatExistsIsAllowedAndNoOther) {
  for (const std::string type : {"I", "U", "F", "D", "FF", "f"}) {
    for (const std::string size : {"-1", "0", "1", "2", "3", "4", "8", "16", "x"}) {
      const bool whole = (type == "I" || type == "U") &&
                         (size == "1" || size == "2" || size == "4" || size == "8");
      const bool real = type == "F" && (size == "4" || size == "8");
      const std::string text = absl::StrReplaceAll(
          kHeader,
          {{"SIZE 4 4 4 4", "SIZE 4 4 4 " + size}, {"TYPE F F F F", "TYPE F F F " + type}});
      EXPECT_EQ(ParseHeader(text).ok(), whole || real) << type << size;
    }
  }
}

TEST(PcdHeaderTest, ErrorsNameFileLineValueAndWhatIsAllowed) {
  const struct {
    std::string text;
    std::vector<std::string> named;
  } rows[] = {
      {With("SIZE 4 4 4 4", "SIZE 4 0 4 4"), {"a.pcd: line 4", "'y'", "'0'", "4 and 8"}},
      {With("TYPE F F F F", "TYPE F F Q F"), {"line 5", "'Q'", "I, U or F"}},
      {With("COUNT 1 1 1 1", "COUNT 1 1 1 -1"), {"line 6", "'-1'", "from 1"}},
      {With("COUNT 1 1 1 1", "COUNT 1 1 1 0"), {"'0'"}},
      {With("COUNT 1 1 1 1", "COUNT 1 1 1 99999999999999999999"), {"COUNT"}},
      {With("COUNT 1 1 1 1", "COUNT 2 1 1 1"), {"'x'", "COUNT 2"}},
      {With("COUNT 1 1 1 1", "COUNT 1 1 1"), {"each of the 4 fields (got 3)"}},
      {With("SIZE 4 4 4 4", "SIZE 4 4 4 4 4"), {"each of the 4 fields (got 5)"}},
      {With("SIZE 4 4 4 4", ""), {"no SIZE line"}},
      {With("TYPE F F F F", ""), {"no TYPE line"}},
      {With("FIELDS x y z intensity", ""), {"no FIELDS line"}},
      {With("FIELDS x y z intensity", "FIELDS x y w intensity"), {"line 3", "no field 'z'"}},
      {With("FIELDS x y z intensity", "FIELDS x y z x"), {"named twice"}},
      {With("FIELDS x y z intensity", "FIELDS"), {"0 fields"}},
      {With("POINTS 12", "POINTS 13"), {"line 10", "13", "12"}},
      {With("POINTS 12", "POINTS -12"), {"'-12'"}},
      {With("POINTS 12", "POINTS 1e2"), {"'1e2'"}},
      {With("POINTS 12", "POINTS"), {"(got '')"}},
      {With("WIDTH 4", "WIDTH 18446744073709551615"), {"more than a file can hold"}},
      {absl::StrReplaceAll(kHeader, {{"WIDTH 4\n", ""}, {"POINTS 12\n", ""}}),
       {"neither POINTS nor WIDTH"}},
      {With("DATA binary", "DATA binary_lzma"), {"line 11", "'binary_lzma'", "ascii"}},
      {With("DATA binary", ""), {"no DATA line"}},
      {With("HEIGHT 3", "DEPTH 3"), {"line 8", "DEPTH"}},
      {With("HEIGHT 3", "HEIGHT 3\nHEIGHT 3"), {"given twice"}},
  };
  for (const auto& row : rows) {
    const std::string message = HeaderError(row.text);
    for (const std::string& part : row.named) EXPECT_THAT(message, HasSubstr(part));
  }
}

TEST(PcdHeaderTest, BinaryRubbishIsQuotedSafelyAndShort) {
  const std::string message = HeaderError(std::string(5000, '\x01') + "\n");
  EXPECT_LT(message.size(), 500u);
  EXPECT_THAT(message, HasSubstr("\\x01"));
}

// Header of `fields` more fields of `count` values each, beside the coordinates.
std::string WideHeader(size_t fields, size_t count) {
  std::string lines[4] = {"FIELDS x y z", "SIZE 4 4 4", "TYPE F F F", "COUNT 1 1 1"};
  for (size_t i = 0; i < fields; ++i) {
    absl::StrAppend(&lines[0], " f", i);
    absl::StrAppend(&lines[1], " 8");
    absl::StrAppend(&lines[2], " F");
    absl::StrAppend(&lines[3], " ", count);
  }
  return absl::StrCat(lines[0], "\n", lines[1], "\n", lines[2], "\n", lines[3],
                      "\nPOINTS 0\nDATA ascii\n");
}

TEST(PcdHeaderTest, AWideRecordIsAllowedUpToTheLimit) {
  const absl::StatusOr<PcdHeader> wide = ParseHeader(WideHeader(100, 1000));
  ASSERT_TRUE(wide.ok()) << wide.status();
  EXPECT_EQ(wide->point_bytes(), 12u + 100u * 8000u);
  EXPECT_THAT(HeaderError(WideHeader(2, 100'000)),
              AllOf(HasSubstr("line 4"), HasSubstr("'f1'"), HasSubstr("at most 1048576 bytes"),
                    HasSubstr("got 1600012")));
  EXPECT_THAT(HeaderError(WideHeader(2000, 1)),
              AllOf(HasSubstr("line 1"), HasSubstr("3 to 1024"), HasSubstr("got 2003")));
}

TEST(PcdHeaderTest, IntensityOfManyValuesIsNoIntensity) {
  const absl::StatusOr<PcdHeader> header = ParseHeader(With("COUNT 1 1 1 1", "COUNT 1 1 1 5"));
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_FALSE(header->point_fields.intensity.has_value());
  EXPECT_EQ(header->point_bytes(), 32u);
}

}  // namespace
}  // namespace voxloc
