// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/text_points.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "core/cloud/io/cloud_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<PointCloud> ParseText(const std::string& text, const CloudReadOptions& limits = {}) {
  return ParseCloud(CloudFormat::kText, text, "a.xyz", limits);
}

std::string TextError(const std::string& text) {
  const absl::StatusOr<PointCloud> cloud = ParseText(text);
  EXPECT_EQ(cloud.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(cloud.status().message());
}

TEST(TextPointsTest, EverySeparator) {
  for (const char* text :
       {"1 -2 0.5\n4 5 6\n", "1\t-2\t0.5\n4\t5\t6", "1,-2,0.5\r\n4,5,6\r\n",
        "1, -2, 0.5\n 4 ,5,6\n", "1;-2;0.5\n4;5;6\n", "1,-2,0.5,\n4,5,6,\n",
        "\xEF\xBB\xBF"
        "1 -2 0.5\n4 5 6\n",
        "  1   -2 \t 0.5  \n\n\n4 5 6\n\n", "# of a survey\n1 -2 0.5\n// so far\n#4 5\n4 5 6\n",
        "1e0 -2.0E+0 .5\n+4 5. 6\n"}) {
    const auto cloud = ParseText(text);
    ASSERT_TRUE(cloud.ok()) << cloud.status() << "\n" << text;
    EXPECT_THAT(cloud->x, ElementsAre(1.0F, 4.0F)) << text;
    EXPECT_THAT(cloud->y, ElementsAre(-2.0F, 5.0F)) << text;
    EXPECT_THAT(cloud->z, ElementsAre(0.5F, 6.0F)) << text;
    EXPECT_FALSE(cloud->has_intensity());
  }
}

TEST(TextPointsTest, NamesOfColumns) {
  for (const char* text :
       {"intensity,z,label,y,x\n9,3,car,2,1\n", "Z Y Intensity X\n3 2 9 1\n",
        "\"X\";\"Y\";\"Z\";\"R\";\"Scalar_Intensity\"\n1;2;3;;9\n",
        "//X Y Z R Intensity\n1 2 3 0 9\n", "# x y z of a survey\n1 2 3 9\n",
        "# made by hand\n# Y, X, Z, intensity\n2 1 3 9\n", "1 2 3 9\n# z y x i\n"}) {
    const auto cloud = ParseText(text);
    ASSERT_TRUE(cloud.ok()) << cloud.status() << "\n" << text;
    ASSERT_EQ(cloud->size(), 1u) << text;
    EXPECT_EQ(cloud->Point(0), Eigen::Vector3d(1.0, 2.0, 3.0)) << text;
    EXPECT_THAT(cloud->intensity, ElementsAre(9.0F)) << text;
  }
}

TEST(TextPointsTest, OfMoreColumnsThanFourOnlyTheFirstThreeAreKnown) {
  const auto cloud = ParseText("1 2 3 255 128 64\n");
  ASSERT_TRUE(cloud.ok()) << cloud.status();
  EXPECT_EQ(cloud->Point(0), Eigen::Vector3d(1.0, 2.0, 3.0));
  EXPECT_FALSE(cloud->has_intensity());
}

TEST(TextPointsTest, KeepsThePrecisionOfText) {
  const auto cloud = ParseText("4123456.125 -712345.0625 33.5\n4123457.125 nan 1\n");
  ASSERT_TRUE(cloud.ok()) << cloud.status();
  EXPECT_EQ(cloud->origin, Eigen::Vector3d(4123456.0, -712345.0, 34.0));
  EXPECT_EQ(cloud->Point(0), Eigen::Vector3d(4123456.125, -712345.0625, 33.5));
  EXPECT_FALSE(cloud->IsFinite(1));
}

TEST(TextPointsTest, WhatIsWrongIsNamedWithItsLine) {
  EXPECT_THAT(TextError("1 2 3\n4 5\n"),
              HasSubstr("a.xyz: line 2: has 2 columns, the first line has 3"));
  EXPECT_THAT(TextError("1 2 3\n\n4 5 6 7\n"), HasSubstr("line 3: has 4 columns"));
  EXPECT_THAT(TextError("1 2 3\n4 five 6\n"),
              HasSubstr("line 2: column 2, 'five', is not a number"));
  EXPECT_THAT(TextError("x,y,z,i\n1,,3,4\n"), HasSubstr("line 2: column 2, '', is not a number"));
  EXPECT_THAT(TextError("1,2,3,4\n1,2,3,\n"), HasSubstr("line 2: has 3 columns"));
  EXPECT_THAT(TextError("1,5;2,5;3,5\n"),
              AllOf(HasSubstr("line 1: must be numbers or name the columns"),
                    HasSubstr("'1,5' is not a number"), HasSubstr("there is no field 'x'")));
  EXPECT_THAT(TextError("easting northing height\n1 2 3\n"), HasSubstr("'easting'"));
  EXPECT_THAT(TextError("x y z x\n1 2 3 4\n"), HasSubstr("field 'x' is named twice"));
  EXPECT_THAT(TextError("2\n1 2 3\n4 5 6\n"),
              HasSubstr("line 1: a point must have 3 to 1024 columns, x, y and z first (got 1)"));
  EXPECT_THAT(TextError(std::string(2000, '1') + " " + std::string(5000, ';')), HasSubstr("5000"));
  EXPECT_THAT(TextError("1 2 3\n" + std::string(kMaxTextLineBytes + 1, '1')),
              HasSubstr("line 2: must have at most 1048576 bytes (got more)"));
  EXPECT_THAT(TextError(std::string("1 2 \0 3\n", 8)), HasSubstr("'\\x00'"));
}

TEST(TextPointsTest, LimitsAndNoPoint) {
  CloudReadOptions limits;
  limits.max_points = 2;
  EXPECT_TRUE(ParseText("1 2 3\n4 5 6\n", limits).ok());
  EXPECT_EQ(ParseText("1 2 3\n4 5 6\n7 8 9", limits).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(ParseText("x y z\n")->empty());
  EXPECT_TRUE(ParseText("\n# nothing\n")->empty());
}

TEST(TextPointsTest, InspectionCountsOrEstimates) {
  const ScratchDir scratch;
  EXPECT_EQ(InspectCloud(scratch.Write("a.xyz", "x y z\n1 2 3\n\n4 5 6"))->points, 2u);
  EXPECT_EQ(InspectCloud(scratch.Write("b.xyz", "x y z\n"))->points, 0u);
  std::string text;
  for (int i = 0; i < 50'000; ++i) absl::StrAppend(&text, 100 + i % 800, ".5 200.25 3.125\n");
  EXPECT_NEAR(static_cast<double>(InspectCloud(scratch.Write("c.csv", text))->points), 50'000.0,
              500.0);
  // The first point comes late.
  const auto late =
      InspectCloud(scratch.Write("d.txt", "#" + std::string(10'000, '-') + "\n" + text));
  EXPECT_NEAR(static_cast<double>(late->points), 50'000.0, 2500.0);
  const auto none = InspectCloud(scratch.Write("e.txt", "#" + std::string(500'000, '-')));
  EXPECT_THAT(std::string(none.status().message()),
              HasSubstr("the first 262144 bytes have no point"));
}

}  // namespace
}  // namespace voxloc
