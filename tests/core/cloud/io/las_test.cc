// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/las.h"

#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/cloud/io/cloud_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/cloud/io/las_bytes.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<PointCloud> ParseLas(const std::string& bytes, const CloudReadOptions& limits = {}) {
  return ParseCloud(CloudFormat::kLas, bytes, "a.las", limits);
}

std::string LasError(const std::string& bytes) {
  const absl::StatusOr<PointCloud> cloud = ParseLas(bytes);
  EXPECT_EQ(cloud.status().code(), absl::StatusCode::kInvalidArgument) << cloud.status();
  return std::string(cloud.status().message());
}

LasFile ThreePoints(int minor, int format) {
  LasFile file;
  file.minor = static_cast<uint8_t>(minor);
  file.format = static_cast<uint8_t>(format);
  file.points = {{100, -200, 50, 7, false}, {1, 2, 3, 8, true}, {300, 400, -25, 65535, false}};
  return file;
}

// As writers of the format pair them.
struct LasKind {
  int minor;
  int format;
};
std::vector<LasKind> AllKinds() {
  std::vector<LasKind> kinds;
  for (int format = 0; format <= 10; ++format) {
    for (int minor = format <= 3 ? 2 : format <= 5 ? 3 : 4; minor <= 4; ++minor) {
      kinds.push_back({minor, format});
    }
  }
  return kinds;
}

TEST(LasTest, EveryVersionAndFormatWithoutWithheldPoints) {
  for (const auto& [minor, format] : AllKinds()) {
    for (const int extra : {0, 5}) {
      LasFile file = ThreePoints(minor, format);
      file.extra_bytes = static_cast<uint16_t>(extra);
      file.vlrs = std::string(61 * static_cast<size_t>(extra), '\xDD');
      file.vlr_count = extra > 0 ? 1 : 0;
      const auto cloud = ParseLas(file.ToBytes());
      ASSERT_TRUE(cloud.ok()) << cloud.status() << " 1." << minor << " format " << format;
      ASSERT_EQ(cloud->size(), 2u) << "format " << format;
      EXPECT_EQ(cloud->origin, Eigen::Vector3d::Zero());
      EXPECT_THAT(cloud->x, ElementsAre(1.0F, 3.0F));
      EXPECT_THAT(cloud->y, ElementsAre(-2.0F, 4.0F));
      EXPECT_THAT(cloud->z, ElementsAre(0.5F, -0.25F));
      EXPECT_THAT(cloud->intensity, ElementsAre(7.0F, 65535.0F));
    }
  }
}

TEST(LasTest, ScaleAndOffsetAreDouble) {
  LasFile file = ThreePoints(4, 6);
  file.scale = {0.001, 0.0001, 1e-7};
  file.offset = {4'456'000.125, -712'345.0625, 33.0};
  file.points = {{2'147'483'647, -2'147'483'647, 1000, 1, false}, {1, 2, 3, 2, false}};
  const auto cloud = ParseLas(file.ToBytes());
  ASSERT_TRUE(cloud.ok()) << cloud.status();
  EXPECT_EQ(cloud->origin, Eigen::Vector3d(6'603'484.0, -927'093.0, 33.0));
  EXPECT_NEAR(cloud->Point(0).x(), 6'603'483.772, 1e-6);
  EXPECT_NEAR(cloud->Point(0).y(), -927'093.4272, 1e-6);
  EXPECT_NEAR(cloud->Point(0).z(), 33.0001, 1e-9);
  // The step of float32 at 2.1e6 m from the origin.
  EXPECT_NEAR(cloud->Point(1).x(), 4'456'000.126, 0.25);
}

TEST(LasTest, BothCountsOf14) {
  LasFile file = ThreePoints(4, 1);
  EXPECT_TRUE(ParseLas(file.ToBytes()).ok());
  file.legacy_points_error = -3;  // 0, as for more points than it can hold
  EXPECT_TRUE(ParseLas(file.ToBytes()).ok());
  file.legacy_points_error = 0;
  file.points_error = -3;  // 0, which some writers leave
  EXPECT_EQ(ParseLas(file.ToBytes())->size(), 2u);
  file.points_error = 0;
  file.legacy_points_error = -1;
  EXPECT_THAT(LasError(file.ToBytes()),
              AllOf(HasSubstr("byte 247: the number of points is 3"),
                    HasSubstr("the legacy number of points at byte 107 is 2")));
}

TEST(LasTest, NoPointIsAnEmptyCloud) {
  LasFile file = ThreePoints(2, 0);
  file.points.clear();
  EXPECT_TRUE(ParseLas(file.ToBytes())->empty());
  file.points = {{1, 2, 3, 4, true}};
  EXPECT_TRUE(ParseLas(file.ToBytes())->empty());
}

TEST(LasTest, EveryCutIsAnError) {
  for (const auto& [minor, format] : AllKinds()) {
    LasFile file = ThreePoints(minor, format);
    file.vlrs = std::string(60, '\xDD');
    file.vlr_count = 1;
    const std::string bytes = file.ToBytes();
    for (size_t size = 0; size < bytes.size(); ++size) {
      ASSERT_FALSE(ParseLas(bytes.substr(0, size)).ok()) << size;
    }
    EXPECT_TRUE(ParseLas(bytes + "what follows the points").ok());
  }
}

TEST(LasTest, WhatTheHeaderPromisesMustBeThere) {
  LasFile more = ThreePoints(2, 0);
  more.points_error = 1;
  EXPECT_THAT(LasError(more.ToBytes()),
              HasSubstr("byte 227: the header promises 4 points of 20 bytes, but only 60 bytes"));
  LasFile most = ThreePoints(4, 6);
  most.points_error = -4;
  EXPECT_THAT(LasError(most.ToBytes()), HasSubstr("promises 18446744073709551615 points"));
  LasFile far = ThreePoints(2, 0);
  far.data_offset_error = 61;
  EXPECT_THAT(LasError(far.ToBytes()),
              HasSubstr("byte 96: the offset to the points must be 227, the size of the header, to "
                        "287, the size of the file (got 288)"));
  LasFile early = ThreePoints(2, 0);
  early.data_offset_error = -1;
  EXPECT_THAT(LasError(early.ToBytes()), HasSubstr("(got 226)"));
}

TEST(LasTest, MalformedHeadersAreRefusedByWhatIsWrong) {
  const auto error_of = [](const auto& change, int minor = 2, int format = 0) {
    LasFile file = ThreePoints(minor, format);
    change(file);
    return LasError(file.ToBytes());
  };
  EXPECT_THAT(LasError("LAS"), HasSubstr("starts with 'LASF', this one with 'LAS'"));
  EXPECT_THAT(LasError("LASF"), HasSubstr("the header needs 227 bytes, the file has 4"));
  EXPECT_THAT(error_of([](LasFile& f) { f.signature = "ASTM"; }), HasSubstr("with 'ASTM'"));
  EXPECT_THAT(error_of([](LasFile& f) { f.minor = 1; }),
              HasSubstr("byte 24: the version of LAS must be 1.2, 1.3 or 1.4 (got 1.1)"));
  EXPECT_THAT(error_of([](LasFile& f) { f.minor = 5; }), HasSubstr("(got 1.5)"));
  EXPECT_THAT(error_of([](LasFile& f) { f.major = 2; }), HasSubstr("(got 2.2)"));
  EXPECT_THAT(error_of([](LasFile& f) { f.header_size_error = -1; }),
              HasSubstr("byte 94: the size of the header must be at least 227 (got 226)"));
  EXPECT_THAT(error_of([](LasFile& f) { f.header_size_error = -1; }, 4, 6),
              HasSubstr("at least 375 (got 374)"));
  EXPECT_THAT(error_of([](LasFile& f) { f.format = 11; }),
              HasSubstr("byte 104: the point data record format must be 0 to 10 (got 11)"));
  for (const auto& [minor, format] : AllKinds()) {
    EXPECT_THAT(error_of([](LasFile& f) { f.record_bytes_error = -1; }, minor, format),
                HasSubstr(absl::StrCat("byte 105: a record of format ", format, " must have at")));
  }
  for (const double scale : {0.0, -0.01, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(error_of([&](LasFile& f) { f.scale.y() = scale; }),
                HasSubstr(absl::StrCat("byte 139: the scale of y must be finite and above 0 (got ",
                                       scale)));
  }
  EXPECT_THAT(error_of([](LasFile& f) { f.offset.z() = std::nan(""); }),
              HasSubstr("byte 171: the offset of z must be finite (got nan)"));
}

TEST(LasTest, CompressedFilesAreRefusedWithTheCommandThatConvertsThem) {
  LasFile file = ThreePoints(2, 3);
  for (const int bits : {0x80, 0x40, 0xC0}) {
    std::string bytes = file.ToBytes();
    bytes[104] = static_cast<char>(3 | bits);
    EXPECT_THAT(LasError(bytes), HasSubstr("compressed (LAZ)"));
    EXPECT_THAT(LasError(bytes), HasSubstr("pdal translate a.las out.las"));
  }
}

TEST(LasTest, LimitsAndInspection) {
  const ScratchDir scratch;
  const std::string path = scratch.Write("A.LAS", ThreePoints(4, 7).ToBytes());
  EXPECT_EQ(InspectCloud(path)->points, 3u);
  EXPECT_EQ(ReadCloud(path)->size(), 2u);
  CloudReadOptions limits;
  limits.max_points = 2;
  EXPECT_EQ(ReadCloud(path, limits).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ParseLas(ThreePoints(4, 7).ToBytes(), limits).status().code(),
            absl::StatusCode::kResourceExhausted);
  limits.max_points = 3;
  EXPECT_TRUE(ReadCloud(path, limits).ok());
  limits.max_file_bytes = 400;
  EXPECT_EQ(ReadCloud(path, limits).status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace voxloc
