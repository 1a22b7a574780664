// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/npy.h"

#include <algorithm>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/cloud/io/cloud_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/cloud/io/cloud_bytes.h"

namespace voxloc {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// As numpy.lib.format writes it: padded with blanks to a multiple of 64, with a line end.
std::string NpyBytes(const std::string& dictionary, const std::string& data, int major = 1) {
  const size_t before = major == 1 ? 10 : 12;
  std::string text = dictionary;
  text.append(63 - (before + text.size()) % 64, ' ');
  text += '\n';
  const std::string length = major == 1 ? Bytes(static_cast<uint16_t>(text.size()))
                                        : Bytes(static_cast<uint32_t>(text.size()));
  return "\x93NUMPY" + Bytes(static_cast<uint8_t>(major), uint8_t{0}) + length + text + data;
}

std::string Dictionary(const std::string& descr, const std::string& shape,
                       const std::string& fortran_order = "False") {
  return absl::StrCat("{'descr': ", descr, ", 'fortran_order': ", fortran_order,
                      ", 'shape': ", shape, ", }");
}

absl::StatusOr<PointCloud> ParseNpy(const std::string& bytes, const CloudReadOptions& limits = {}) {
  return ParseCloud(CloudFormat::kNpy, bytes, "a.npy", limits);
}

std::string NpyError(const std::string& bytes) {
  const absl::StatusOr<PointCloud> cloud = ParseNpy(bytes);
  EXPECT_EQ(cloud.status().code(), absl::StatusCode::kInvalidArgument) << cloud.status();
  return std::string(cloud.status().message());
}

template <typename T>
std::string Swapped(T value) {
  std::string bytes = Bytes(value);
  std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

TEST(NpyTest, ArraysByHand) {
  for (const int major : {1, 2, 3}) {
    const auto cloud = ParseNpy(
        NpyBytes(Dictionary("'<f4'", "(2, 3)"), Bytes(1.0F, -2.0F, 0.5F, 4.0F, 5.0F, 6.0F), major));
    ASSERT_TRUE(cloud.ok()) << cloud.status();
    EXPECT_THAT(cloud->x, ElementsAre(1.0F, 4.0F));
    EXPECT_THAT(cloud->y, ElementsAre(-2.0F, 5.0F));
    EXPECT_THAT(cloud->z, ElementsAre(0.5F, 6.0F));
    EXPECT_FALSE(cloud->has_intensity());
  }
}

TEST(NpyTest, AFourthColumnIsTheIntensity) {
  const auto cloud =
      ParseNpy(NpyBytes(Dictionary("'<f8'", "(1, 4)"), Bytes(4'123'456.25, -7.0, 3.5, 99.0)));
  ASSERT_TRUE(cloud.ok()) << cloud.status();
  EXPECT_EQ(cloud->origin, Eigen::Vector3d(4'123'456.0, -7.0, 4.0));
  EXPECT_EQ(cloud->Point(0), Eigen::Vector3d(4'123'456.25, -7.0, 3.5));
  EXPECT_THAT(cloud->intensity, ElementsAre(99.0F));
}

TEST(NpyTest, BigEndianArrays) {
  const auto floats = ParseNpy(
      NpyBytes(Dictionary("'>f4'", "(1, 3)"), Swapped(1.5F) + Swapped(2.5F) + Swapped(-3.5F)));
  const auto doubles = ParseNpy(
      NpyBytes(Dictionary("'>f8'", "(1, 3)"), Swapped(1.5) + Swapped(2.5) + Swapped(-3.5)));
  for (const auto& cloud : {floats, doubles}) {
    ASSERT_TRUE(cloud.ok()) << cloud.status();
    EXPECT_EQ(cloud->Point(0), Eigen::Vector3d(1.5, 2.5, -3.5));
  }
}

TEST(NpyTest, KeysOfAnyOrderAndNoPoint) {
  const auto cloud = ParseNpy(NpyBytes("{'shape':(0, 3),'fortran_order':False,'descr':'<f4'}", ""));
  ASSERT_TRUE(cloud.ok()) << cloud.status();
  EXPECT_TRUE(cloud->empty());
}

TEST(NpyTest, OtherArraysAreRefusedByWhatTheyAre) {
  const std::string data(240, '\0');
  const auto error = [&](const std::string& dictionary) {
    return NpyError(NpyBytes(dictionary, data));
  };
  EXPECT_THAT(error(Dictionary("'<i4'", "(20, 3)")),
              HasSubstr("the dtype must be float32 or float64, '<f4', '<f8', '>f4' or '>f8' (got "
                        "'\\'<i4\\'')"));
  EXPECT_THAT(error(Dictionary("[('x', '<f4'), ('y', '<f4')]", "(20,)")),
              HasSubstr("(got '[(\\'x\\', \\'<f4\\'), (\\'y\\', \\'<f4\\')]')"));
  EXPECT_THAT(error(Dictionary("'<f4'", "(20, 3)", "True")),
              AllOf(HasSubstr("fortran_order must be False"), HasSubstr("(got 'True')")));
  for (const char* shape : {"(60,)", "()", "(20, 2)", "(12, 5)", "(4, 5, 3)", "(-20, 3)", "20",
                            "(20.0, 3)", "(99999999999999999999, 3)"}) {
    EXPECT_THAT(error(Dictionary("'<f4'", shape)),
                AllOf(HasSubstr("the shape must be (N, 3), x y z, or (N, 4), x y z intensity"),
                      HasSubstr(absl::StrCat("(got '", shape, "')"))));
  }
  EXPECT_THAT(error("{}"), HasSubstr("the dtype must be"));
  EXPECT_THAT(error("{'descr': '<f4'}"), HasSubstr("fortran_order must be"));
  EXPECT_THAT(error("{'descr': '<f4', 'fortran_order': False}"), HasSubstr("the shape must be"));
}

TEST(NpyTest, SizesMustAgree) {
  const std::string dictionary = Dictionary("'<f4'", "(2, 3)");
  const std::string whole = NpyBytes(dictionary, std::string(24, '\0'));
  ASSERT_TRUE(ParseNpy(whole).ok());
  for (size_t size = 0; size < whole.size(); ++size) {
    ASSERT_FALSE(ParseNpy(whole.substr(0, size)).ok()) << size;
  }
  EXPECT_THAT(NpyError(whole.substr(0, whole.size() - 1)),
              HasSubstr("byte 128: the header promises 2 points of 12 bytes, but 23 bytes follow"));
  EXPECT_THAT(NpyError(whole + std::string(12, '\0')), HasSubstr("but 36 bytes follow"));
  EXPECT_THAT(NpyError(NpyBytes(Dictionary("'<f8'", absl::StrCat("(", UINT64_MAX, ", 4)")), "")),
              HasSubstr("promises 18446744073709551615 points of 32 bytes, but 0 bytes follow"));
  EXPECT_THAT(NpyError(whole.substr(0, 50)), HasSubstr("byte 50: the file ends inside its header"));
}

TEST(NpyTest, MalformedHeads) {
  EXPECT_THAT(NpyError("PK\3\4 an .npz"), HasSubstr("starts with \\x93NUMPY, this one with 'PK"));
  EXPECT_THAT(NpyError(NpyBytes("{}", "", 4)), HasSubstr("must be 1, 2 or 3 (got 4)"));
  EXPECT_THAT(NpyError("\x93NUMPY" + Bytes(uint8_t{2}, uint8_t{0}, uint32_t{0xFFFFFFFF})),
              HasSubstr("the header must have at most 65536 bytes (got 4294967307)"));
  CloudReadOptions limits;
  limits.max_points = 1;
  EXPECT_EQ(ParseNpy(NpyBytes(Dictionary("'<f4'", "(2, 3)"), std::string(24, '\0')), limits)
                .status()
                .code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace voxloc
