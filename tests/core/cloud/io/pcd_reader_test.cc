// SPDX-License-Identifier: Apache-2.0

#include <lzf.h>

#include <cmath>
#include <cstdint>
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

absl::StatusOr<PointCloud> ParsePcd(const std::string& bytes, const CloudReadOptions& limits = {}) {
  return ParseCloud(CloudFormat::kPcd, bytes, "a.pcd", limits);
}

std::string PcdError(const std::string& bytes) {
  const absl::StatusOr<PointCloud> cloud = ParsePcd(bytes);
  EXPECT_EQ(cloud.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(cloud.status().message());
}

std::string PcdHeaderText(const std::string& fields, const std::string& sizes,
                          const std::string& types, const std::string& counts, uint64_t points,
                          const std::string& data) {
  return absl::StrCat("VERSION 0.7\nFIELDS ", fields, "\nSIZE ", sizes, "\nTYPE ", types,
                      "\nCOUNT ", counts, "\nWIDTH ", points, "\nHEIGHT 1\nPOINTS ", points,
                      "\nDATA ", data, "\n");
}

std::string XyzHeader(uint64_t points, const std::string& data) {
  return PcdHeaderText("x y z", "4 4 4", "F F F", "1 1 1", points, data);
}

std::string Compressed(const std::string& plain) {
  std::string packed(plain.size() * 2 + 64, '\0');
  packed.resize(lzf_compress(plain.data(), static_cast<unsigned>(plain.size()), packed.data(),
                             static_cast<unsigned>(packed.size())));
  return Bytes(static_cast<uint32_t>(packed.size()), static_cast<uint32_t>(plain.size())) + packed;
}

TEST(PcdReaderTest, CompressedBytesByHand) {
  // Two points, field after field. LZF: 0x03 = four literal bytes, 0x20 0x03 = the three bytes four
  // back; here only literals (24 bytes = 0x17) are used.
  const std::string fields = Bytes(1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F);
  const std::string packed = '\x17' + fields;
  const auto cloud =
      ParsePcd(XyzHeader(2, "binary_compressed") + Bytes(uint32_t{25}, uint32_t{24}) + packed);
  ASSERT_TRUE(cloud.ok()) << cloud.status();
  EXPECT_THAT(cloud->x, ElementsAre(1.0F, 2.0F));
  EXPECT_THAT(cloud->y, ElementsAre(3.0F, 4.0F));
  EXPECT_THAT(cloud->z, ElementsAre(5.0F, 6.0F));
}

TEST(PcdReaderTest, AsciiTextByHand) {
  const auto cloud =
      ParsePcd(PcdHeaderText("x y z intensity", "4 4 4 4", "F F F F", "1 1 1 1", 3, "ascii") +
               "1.5 -2 3e-1 7\n\n\t+0.25\t1E2 -0 8\r\n nan -inf inf 9");
  ASSERT_TRUE(cloud.ok()) << cloud.status();
  ASSERT_EQ(cloud->size(), 3u);
  EXPECT_EQ(cloud->x[0], 1.5F);
  EXPECT_EQ(cloud->y[0], -2.0F);
  EXPECT_EQ(cloud->z[0], 0.3F);
  EXPECT_EQ(cloud->x[1], 0.25F);
  EXPECT_EQ(cloud->y[1], 100.0F);
  EXPECT_TRUE(std::signbit(cloud->z[1]));
  EXPECT_TRUE(std::isnan(cloud->x[2]));
  EXPECT_EQ(cloud->y[2], -std::numeric_limits<float>::infinity());
  EXPECT_THAT(cloud->intensity, ElementsAre(7.0F, 8.0F, 9.0F));
}

// Fields in another order, of several types, with COUNT over 1 and padding: all three encodings.
TEST(PcdReaderTest, AnyFieldOrderTypeCountAndPadding) {
  const auto header = [](const std::string& encoding) {
    return PcdHeaderText("intensity _ normal z y _ x", "2 1 4 8 4 1 4", "U U F F I U F",
                         "1 3 2 1 1 5 1", 2, encoding);
  };
  const std::string normals = Bytes(9.0F, 9.0F, 9.0F, 9.0F);
  const std::string rest = Bytes(0.125, 0.25, int32_t{-7}, int32_t{8});
  const std::string intensity = Bytes(uint16_t{65535}, uint16_t{12});
  const std::string x = Bytes(1.5F, 2.5F);
  for (const std::string& file :
       {header("binary") + Bytes(uint16_t{65535}) + "abc" + Bytes(9.0F, 9.0F, 0.125, int32_t{-7}) +
            "defgh" + Bytes(1.5F) + Bytes(uint16_t{12}) + "abc" +
            Bytes(9.0F, 9.0F, 0.25, int32_t{8}) + "defgh" + Bytes(2.5F),
        header("ascii") +
            "65535 0 0 0 9 9 0.125 -7 0 0 0 0 0 1.5\n12 0 0 0 9 9 0.25 8 0 0 0 0 0 2.5\n",
        header("binary_compressed") +
            Compressed(intensity + "abcabc" + normals + rest + "defghdefgh" + x),
        // Padding that the header names but the data leaves out.
        header("binary_compressed") + Compressed(intensity + normals + rest + x)}) {
    const absl::StatusOr<PointCloud> cloud = ParsePcd(file);
    ASSERT_TRUE(cloud.ok()) << cloud.status();
    EXPECT_THAT(cloud->x, ElementsAre(1.5F, 2.5F));
    EXPECT_THAT(cloud->y, ElementsAre(-7.0F, 8.0F));
    EXPECT_THAT(cloud->z, ElementsAre(0.125F, 0.25F));
    EXPECT_THAT(cloud->intensity, ElementsAre(65535.0F, 12.0F));
  }
}

template <typename T>
void ExpectTypeRead(const std::string& type, const std::string& size) {
  const std::string data = Bytes(T{1}, T{0}, T{7}, std::numeric_limits<T>::max(), T{2}, T{3});
  const auto cloud =
      ParsePcd(PcdHeaderText("x y z", absl::StrCat(size, " ", size, " ", size),
                             absl::StrCat(type, " ", type, " ", type), "1 1 1", 2, "binary") +
               data);
  ASSERT_TRUE(cloud.ok()) << cloud.status();
  EXPECT_EQ(cloud->Point(0), Eigen::Vector3d(1, 0, 7));
  EXPECT_EQ(cloud->x[1], static_cast<float>(std::numeric_limits<T>::max())) << type << size;
}

TEST(PcdReaderTest, EveryTypeIsReadAsItIs) {
  ExpectTypeRead<int8_t>("I", "1");
  ExpectTypeRead<int16_t>("I", "2");
  ExpectTypeRead<int32_t>("I", "4");
  ExpectTypeRead<int64_t>("I", "8");
  ExpectTypeRead<uint8_t>("U", "1");
  ExpectTypeRead<uint16_t>("U", "2");
  ExpectTypeRead<uint32_t>("U", "4");
  ExpectTypeRead<uint64_t>("U", "8");
  ExpectTypeRead<float>("F", "4");
}

TEST(PcdReaderTest, EightByteCoordinatesKeepTheirPrecisionFarFromZero) {
  const Eigen::Vector3d first(4'123'456.789, 712'345.678, 37.25);
  const Eigen::Vector3d second = first + Eigen::Vector3d(150.001, -99.999, 4.5);
  const std::string header = PcdHeaderText("x y z", "8 8 8", "F F F", "1 1 1", 2, "binary");
  const auto cloud = ParsePcd(header + Bytes(first.x(), first.y(), first.z()) +
                              Bytes(second.x(), second.y(), second.z()));
  ASSERT_TRUE(cloud.ok()) << cloud.status();
  EXPECT_EQ(cloud->origin, Eigen::Vector3d(4'123'457, 712'346, 37));
  EXPECT_LT((cloud->Point(0) - first).norm(), 1e-6);
  EXPECT_LT((cloud->Point(1) - second).norm(), 1e-5);

  const auto text = ParsePcd(PcdHeaderText("x y z", "8 8 8", "F F F", "1 1 1", 1, "ascii") +
                             "4123456.789 712345.678 37.25\n");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_LT((text->Point(0) - first).norm(), 1e-6);

  const auto integers = ParsePcd(PcdHeaderText("x y z", "4 4 4", "I I I", "1 1 1", 2, "binary") +
                                 Bytes(int32_t{123456789}, int32_t{-123456789}, int32_t{1}) +
                                 Bytes(int32_t{123456791}, int32_t{-123456787}, int32_t{2}));
  ASSERT_TRUE(integers.ok()) << integers.status();
  EXPECT_EQ(integers->size(), 2u);
}

TEST(PcdReaderTest, TheOriginIsTheFirstFinitePointAndBrokenPointsDoNotMoveIt) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::string header = PcdHeaderText("x y z", "8 8 8", "F F F", "1 1 1", 3, "binary");
  const auto cloud =
      ParsePcd(header + Bytes(nan, 0.0, 0.0) + Bytes(1e300, 0.0, 0.0) + Bytes(5000.3, -3.6, 0.2));
  ASSERT_TRUE(cloud.ok()) << cloud.status();
  EXPECT_EQ(cloud->origin, Eigen::Vector3d(5000, -4, 0));
  EXPECT_FALSE(cloud->IsFinite(0));
  EXPECT_FALSE(cloud->IsFinite(1));
  EXPECT_LT((cloud->Point(2) - Eigen::Vector3d(5000.3, -3.6, 0.2)).norm(), 1e-7);
}

TEST(PcdReaderTest, ScansInDoubleKeepAZeroOrigin) {
  const auto cloud = ParsePcd(PcdHeaderText("x y z", "8 8 8", "F F F", "1 1 1", 1, "binary") +
                              Bytes(201.123456789, -150.0, 2.0));
  ASSERT_TRUE(cloud.ok()) << cloud.status();
  EXPECT_TRUE(cloud->origin.isZero(0.0));
  EXPECT_EQ(cloud->x[0], 201.123456789F);
}

TEST(PcdReaderTest, LyingPointCountsAreRefusedBeforeAnythingIsAllocated) {
  for (const char* data : {"ascii", "binary", "binary_compressed"}) {
    for (const uint64_t points :
         {uint64_t{2}, uint64_t{100'000'000}, uint64_t{1'000'000'000'000'000'000},
          std::numeric_limits<uint64_t>::max()}) {
      CloudReadOptions limits;
      limits.max_points = std::numeric_limits<size_t>::max();
      const auto cloud = ParsePcd(XyzHeader(points, data) + "1 2 3", limits);
      EXPECT_EQ(cloud.status().code(), absl::StatusCode::kInvalidArgument) << data << points;
      EXPECT_THAT(std::string(cloud.status().message()), HasSubstr("a.pcd: ")) << data;
    }
  }
}

TEST(PcdReaderTest, RecordsOfGigabytesAreRefusedInEveryEncodingAlsoWithoutPoints) {
  std::string fields = "x y z";
  std::string sizes = "4 4 4";
  std::string types = "F F F";
  std::string counts = "1 1 1";
  for (size_t i = 0; i < 1000; ++i) {
    absl::StrAppend(&fields, " f", i);
    sizes += " 8";
    types += " F";
    counts += " 1000000";
  }
  for (const std::string encoding : {"ascii", "binary", "binary_compressed"}) {
    for (const uint64_t points : {0, 1}) {
      EXPECT_THAT(PcdError(PcdHeaderText(fields, sizes, types, counts, points, encoding)),
                  AllOf(HasSubstr("'f0'"), HasSubstr("at most 1048576 bytes a point")));
    }
  }
}

TEST(PcdReaderTest, TruncatedBinaryDataSaysWhereAndHowMuch) {
  const std::string header = XyzHeader(2, "binary");
  EXPECT_THAT(PcdError(header + std::string(23, '\0')),
              AllOf(HasSubstr(absl::StrCat("byte ", header.size())), HasSubstr("2 points"),
                    HasSubstr("12 bytes"), HasSubstr("only 23")));
  EXPECT_TRUE(ParsePcd(header + std::string(24, '\0')).ok());
  EXPECT_TRUE(ParsePcd(header + std::string(4096, '\0')).ok()) << "padded files are allowed";
}

TEST(PcdReaderTest, WrongAsciiLinesAreNamed) {
  const std::string header = XyzHeader(2, "ascii");  // 9 lines
  EXPECT_THAT(PcdError(header + "1 2 3\n4 5  \n"),
              AllOf(HasSubstr("line 11"), HasSubstr("2 values"), HasSubstr("3")));
  EXPECT_THAT(PcdError(header + "1 2 3\n4 5 6 7\n"),
              AllOf(HasSubstr("line 11"), HasSubstr("more")));
  EXPECT_THAT(PcdError(header + "1 2 3\n4 5x 6\n"), AllOf(HasSubstr("line 11"), HasSubstr("'5x'")));
  EXPECT_THAT(PcdError(header + "1 2 3\n4 1,5 6\n"), HasSubstr("'1,5'"));
  EXPECT_THAT(PcdError(header + "1 2 3          \n"), HasSubstr("after 1 of the 2 points"));
  EXPECT_THAT(PcdError(header + "1 2 3\n4 5 6\n\n7 8 9\n"),
              AllOf(HasSubstr("line 13"), HasSubstr("more than the 2 points")));
}

TEST(PcdReaderTest, WrongCompressedSizesAreRefused) {
  const std::string header = XyzHeader(2, "binary_compressed");
  const std::string fields = Bytes(1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F);
  const std::string packed = '\x17' + fields;
  const auto with = [&](uint32_t packed_size, uint32_t unpacked_size) {
    return header + Bytes(packed_size, unpacked_size) + packed;
  };
  ASSERT_TRUE(ParsePcd(with(25, 24)).ok());
  EXPECT_THAT(PcdError(with(26, 24)), AllOf(HasSubstr("compressed size is 26"), HasSubstr("25")));
  EXPECT_THAT(PcdError(with(0xffffffff, 24)), HasSubstr("4294967295"));
  EXPECT_THAT(PcdError(with(25, 23)), AllOf(HasSubstr("size is 23"), HasSubstr("2 points of 12")));
  EXPECT_THAT(PcdError(with(24, 24)), HasSubstr("corrupt"));
  EXPECT_THAT(PcdError(header + Bytes(uint32_t{13}, uint32_t{24}) + '\x0b' + fields),
              HasSubstr("unpacks to 12 bytes instead of 24"));
  EXPECT_THAT(PcdError(header + "abc"), HasSubstr("there are 3"));
  // A reference to bytes before the start.
  EXPECT_THAT(PcdError(header + Bytes(uint32_t{3}, uint32_t{24}) + "\xe0\xff\xff"),
              HasSubstr("corrupt"));
}

TEST(PcdReaderTest, AFewCompressedBytesCannotPromiseGigabytes) {
  CloudReadOptions limits;
  limits.max_points = std::numeric_limits<size_t>::max();
  const uint32_t points = 300'000'000;
  const auto cloud = ParsePcd(
      XyzHeader(points, "binary_compressed") + Bytes(uint32_t{4}, uint32_t{points * 12U}) + "abcd",
      limits);
  EXPECT_EQ(cloud.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(cloud.status().message()), HasSubstr("cannot hold more than 352"));
}

TEST(PcdReaderTest, TheBestCompressionThereIsGoesThrough) {
  const size_t points = 100'000;
  const auto cloud =
      ParsePcd(XyzHeader(points, "binary_compressed") + Compressed(std::string(points * 12, '\0')));
  ASSERT_TRUE(cloud.ok()) << cloud.status();
  EXPECT_EQ(cloud->size(), points);
}

TEST(PcdReaderTest, MorePointsThanTheLimitAreResourceExhausted) {
  CloudReadOptions limits;
  limits.max_points = 1;
  for (const char* data : {"ascii", "binary", "binary_compressed"}) {
    const auto cloud = ParsePcd(XyzHeader(2, data) + std::string(64, ' '), limits);
    EXPECT_EQ(cloud.status().code(), absl::StatusCode::kResourceExhausted) << data;
    EXPECT_THAT(std::string(cloud.status().message()),
                AllOf(HasSubstr("at most 1 points"), HasSubstr("(got 2")));
  }
}

TEST(PcdReaderTest, ABlockThatIsStoredAsItIsIsRead) {
  // What LZF makes larger: pypcd and others then store the columns raw, with both sizes equal.
  const std::string columns =
      Bytes(1.0F, 4.0F, 7.0F, 1.5F, 2.0F, 5.0F, 8.0F, 2.5F, 3.0F, 6.0F, 9.0F, 3.5F);
  const std::string sizes = Bytes(uint32_t{48}, uint32_t{48});
  const auto cloud = ParsePcd(XyzHeader(4, "binary_compressed") + sizes + columns);
  ASSERT_TRUE(cloud.ok()) << cloud.status();
  EXPECT_THAT(cloud->x, ElementsAre(1.0F, 4.0F, 7.0F, 1.5F));
  EXPECT_THAT(cloud->z, ElementsAre(3.0F, 6.0F, 9.0F, 3.5F));
  // A smaller one that is damaged is an error still.
  EXPECT_THAT(
      PcdError(XyzHeader(4, "binary_compressed") + Bytes(uint32_t{40}, uint32_t{48}) + columns),
      HasSubstr("compressed data"));
}

// Two points 1 and 2 m along x, seen from (100, 50, 0) with a quarter turn to the left.
std::string ViewedPcd(const std::string& viewpoint, const std::string& encoding) {
  const std::string data = encoding == "ascii" ? "1 0 0\n2 0 0\n"
                           : encoding == "binary"
                               ? Bytes(1.0F, 0.0F, 0.0F, 2.0F, 0.0F, 0.0F)
                               : Compressed(Bytes(1.0F, 2.0F, 0.0F, 0.0F, 0.0F, 0.0F));
  return "VIEWPOINT " + viewpoint + "\n" + XyzHeader(2, encoding) + data;
}

TEST(PcdReaderTest, ViewpointMovesThePoints) {
  for (const char* encoding : {"ascii", "binary", "binary_compressed"}) {
    for (const char* viewpoint :
         {"100 50 0 0.70710678 0 0 0.70710678", "100 50 0 -2 0 0 -2", "1e2 5e1 0 1 0 0 1"}) {
      const auto cloud = ParsePcd(ViewedPcd(viewpoint, encoding));
      ASSERT_TRUE(cloud.ok()) << cloud.status();
      ASSERT_EQ(cloud->size(), 2u);
      EXPECT_LT((cloud->Point(0) - Eigen::Vector3d(100, 51, 0)).norm(), 1e-6) << viewpoint;
      EXPECT_LT((cloud->Point(1) - Eigen::Vector3d(100, 52, 0)).norm(), 1e-6) << viewpoint;
    }
  }
}

TEST(PcdReaderTest, AnIdentityOfAViewpointKeepsTheBits) {
  for (const char* viewpoint :
       {"0 0 0 1 0 0 0", "0 0 0 -1 0 0 0", "0 0 0 2 0 0 0", "0 0 0 0 0 0 0"}) {
    const auto cloud = ParsePcd(ViewedPcd(viewpoint, "binary"));
    ASSERT_TRUE(cloud.ok()) << cloud.status();
    EXPECT_TRUE(cloud->origin.isZero(0.0));
    EXPECT_TRUE(SameBits(cloud->x, {1.0F, 2.0F}));
    EXPECT_TRUE(SameBits(cloud->y, {0.0F, 0.0F}));
  }
}

TEST(PcdReaderTest, AViewpointThatIsNoPoseIsRefused) {
  for (const char* viewpoint : {"1 2 3", "1 2 3 1 0 0", "1 2 3 1 0 0 0 0", "1 2 3 0 0 0 0",
                                "nan 2 3 1 0 0 0", "1 2 3 inf 0 0 0", "1 2 here 1 0 0 0"}) {
    EXPECT_THAT(PcdError(ViewedPcd(viewpoint, "ascii")),
                AllOf(HasSubstr("a.pcd: line 1: VIEWPOINT must be a position x y z"),
                      HasSubstr("qw qx qy qz")))
        << viewpoint;
  }
}

}  // namespace
}  // namespace voxloc
