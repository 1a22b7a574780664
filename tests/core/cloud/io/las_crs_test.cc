// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/las_crs.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/cloud/io/cloud_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/cloud/io/las_bytes.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string WktVlr(const std::string& wkt) {
  return LasVlr("LASF_Projection", 2112, wkt + std::string(1, '\0'));
}

absl::Status StatusOfFile(const std::string& vlrs, uint32_t count) {
  LasFile file;
  file.vlrs = vlrs;
  file.vlr_count = count;
  file.points = {{1, 2, 3, 4, false}};
  return ParseCloud(CloudFormat::kLas, file.ToBytes(), "a.las").status();
}

std::string UnitsError(const std::string& vlrs, uint32_t count = 1) {
  const absl::Status status = StatusOfFile(vlrs, count);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

constexpr const char* kUtm =
    "PROJCS[\"WGS 84 / UTM zone 32N\",GEOGCS[\"WGS 84\",DATUM[\"WGS_1984\",SPHEROID[\"WGS 84\","
    "6378137,298.257223563]],UNIT[\"degree\",0.0174532925199433]],UNIT[\"metre\",1]]";

TEST(LasUnitsTest, MetresAndNothingSaidAreTaken) {
  for (const std::string& vlr :
       {GeoKeysVlr({{1024, 0, 1}, {3072, 0, 25832}, {3076, 0, 9001}, {4099, 0, 9001}}),
        GeoKeysVlr({{3072, 0, 25832}}), GeoKeysVlr({{3076, 0, 32767}, {3076, 34736, 9002}}),
        GeoKeysVlr({}), WktVlr(kUtm), WktVlr(""), LasVlr("LASF_Projection", 34735, "cut"),
        LasVlr("LASF_Spec", 2112, "GEOGCS[\"WGS 84\"]")}) {
    EXPECT_TRUE(StatusOfFile(vlr, 1).ok()) << StatusOfFile(vlr, 1);
  }
}

TEST(LasUnitsTest, DegreesAreRefused) {
  EXPECT_THAT(UnitsError(GeoKeysVlr({{1024, 0, 2}, {2048, 0, 4326}})),
              AllOf(HasSubstr("a.las: the coordinates must be metres (got degrees, by "
                              "GTModelTypeGeoKey 2)"),
                    HasSubstr("pdal translate a.las out.las reprojection")));
  for (const char* wkt : {"GEOGCS[\"WGS 84\"]", "GEOGCRS[\"WGS 84\"]",
                          "COMPD_CS[\"a\",GEOGCS[\"WGS 84\"],VERT_CS[\"b\"]]"}) {
    EXPECT_THAT(UnitsError(WktVlr(wkt)), HasSubstr("(got degrees, by its WKT)"));
  }
}

TEST(LasUnitsTest, FeetAreRefused) {
  EXPECT_THAT(UnitsError(GeoKeysVlr({{1024, 0, 1}, {3076, 0, 9003}})),
              HasSubstr("(got the unit EPSG:9003, by ProjLinearUnitsGeoKey)"));
  EXPECT_THAT(UnitsError(GeoKeysVlr({{3076, 0, 9001}, {4099, 0, 9002}})),
              HasSubstr("(got the unit EPSG:9002, by VerticalUnitsGeoKey)"));
  EXPECT_THAT(UnitsError(WktVlr("PROJCS[\"a\",GEOGCS[\"b\",UNIT[\"degree\",0.017]],"
                                "UNIT[\"US survey foot\",0.3048006096]]")),
              HasSubstr("(got the unit 'US survey foot', by its WKT)"));
  EXPECT_THAT(UnitsError(WktVlr("PROJCRS[\"a\",LENGTHUNIT[\"Foot_US")), HasSubstr("'Foot_US"));
}

std::string DefinitionOf(const std::string& vlrs, uint32_t count = 1) {
  return ReadLasCrs(vlrs, count, "a.las").definition;
}

TEST(LasCrsTest, IsTheWktOrTheCodesOfEpsg) {
  EXPECT_EQ(DefinitionOf(GeoKeysVlr({{1024, 0, 1}, {3072, 0, 25832}})), "EPSG:25832");
  EXPECT_EQ(DefinitionOf(GeoKeysVlr({{3072, 0, 2263}, {4096, 0, 6360}, {4099, 0, 9003}})),
            "EPSG:2263+6360");
  EXPECT_EQ(DefinitionOf(GeoKeysVlr({{1024, 0, 2}, {2048, 0, 4326}})), "EPSG:4326");
  EXPECT_EQ(DefinitionOf(GeoKeysVlr({{2048, 0, 4258}, {3072, 0, 25832}})), "EPSG:25832");
  // VertCS_WGS_84_ellipsoid of GeoTIFF 1.0, whose unit is the metre.
  EXPECT_EQ(DefinitionOf(GeoKeysVlr({{3072, 0, 32632}, {4096, 0, 5030}, {4099, 0, 9001}})),
            "EPSG:32632+ellipsoidal");
  EXPECT_EQ(DefinitionOf(GeoKeysVlr({{3072, 0, 32632}, {4096, 0, 5030}, {4099, 0, 9003}})), "");
  EXPECT_EQ(DefinitionOf(WktVlr(kUtm)), kUtm);
  EXPECT_EQ(DefinitionOf(GeoKeysVlr({{3072, 0, 32632}}) + WktVlr(kUtm), 2), kUtm);
  EXPECT_EQ(DefinitionOf(WktVlr(kUtm) + GeoKeysVlr({{3072, 0, 32632}}), 2), kUtm);
  // A system of the file's own keys, and heights in feet of no system.
  EXPECT_EQ(DefinitionOf(GeoKeysVlr({{3072, 0, 32767}})), "");
  EXPECT_EQ(DefinitionOf(GeoKeysVlr({{3072, 0, 2263}, {4099, 0, 9003}})), "");
  EXPECT_EQ(DefinitionOf(WktVlr("")), "");
}

TEST(LasCrsTest, IsFoundBehindOtherRecordsAndAnyUnitIsTakenWhereItIsAskedFor) {
  LasFile file;
  file.vlrs = LasVlr("another", 7, std::string(60'000, 'x')) +
              GeoKeysVlr({{3072, 0, 2263}, {3076, 0, 9003}});
  file.vlr_count = 2;
  file.points = {{1, 2, 3, 4, false}};
  const ScratchDir scratch;
  const std::string path = scratch.Write("a.las", file.ToBytes());
  EXPECT_FALSE(InspectCloud(path).ok());
  CloudReadOptions options;
  options.any_unit = true;
  const auto info = InspectCloud(path, options);
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->crs, "EPSG:2263");
  EXPECT_FALSE(ReadCloud(path).ok());
  const auto cloud = ReadCloud(path, options);
  ASSERT_TRUE(cloud.ok()) << cloud.status();
  EXPECT_EQ(cloud->size(), 1U);
}

// A file of version 1.4 with points of format 6 and these records.
LasFile ExtendedFile(const std::string& extended, uint32_t count = 1) {
  LasFile file;
  file.minor = 4;
  file.format = 6;
  file.points = {{1, 2, 3, 4, false}, {5, 6, 7, 8, false}};
  file.extended = extended;
  file.extended_count = count;
  return file;
}

std::string ExtendedWkt(const std::string& wkt) {
  return LasExtendedVlr("LASF_Projection", 2112, wkt + std::string(1, '\0'));
}

// As InspectCloud, ReadCloud and ParseCloud have it, which must agree.
absl::StatusOr<std::string> CrsOf(const LasFile& file, bool any_unit = true) {
  const ScratchDir scratch;
  const std::string bytes = file.ToBytes();
  const std::string path = scratch.Write("a.las", bytes);
  CloudReadOptions options;
  options.any_unit = any_unit;
  const auto info = InspectCloud(path, options);
  EXPECT_EQ(ReadCloud(path, options).status().code(), info.status().code());
  EXPECT_EQ(ParseCloud(CloudFormat::kLas, bytes, "a.las", options).status().code(),
            info.status().code());
  if (!info.ok()) return info.status();
  EXPECT_EQ(info->points, file.points.size());
  return info->crs;
}

constexpr const char* kLambert = "PROJCS[\"Lambert\",UNIT[\"metre\",1]]";

TEST(ExtendedLasCrsTest, IsReadBehindThePoints) {
  const std::string other = LasExtendedVlr("LASF_Spec", 65535, std::string(70'000, 'w'));
  EXPECT_EQ(*CrsOf(ExtendedFile(ExtendedWkt(kUtm))), kUtm);
  EXPECT_EQ(*CrsOf(ExtendedFile(other + ExtendedWkt(kUtm), 2)), kUtm);
  // Longer than any record before the points.
  const std::string large = absl::StrCat(kUtm, std::string(100'000, ' '));
  EXPECT_EQ(*CrsOf(ExtendedFile(ExtendedWkt(large))), large);
  EXPECT_EQ(*CrsOf(ExtendedFile(LasExtendedVlr("LASF_Projection", 34735,
                                               GeoKeys({{1024, 0, 1}, {3072, 0, 25832}})))),
            "EPSG:25832");
  // Only as many as the header says, and none of a file of 1.3.
  EXPECT_EQ(*CrsOf(ExtendedFile(other + ExtendedWkt(kUtm), 1)), "");
  LasFile older = ExtendedFile(ExtendedWkt(kUtm));
  older.minor = 3;
  older.format = 1;
  EXPECT_EQ(*CrsOf(older), "");
}

TEST(ExtendedLasCrsTest, HoldsOverThatBeforeThePoints) {
  LasFile file = ExtendedFile(ExtendedWkt(kLambert));
  file.vlrs = WktVlr(kUtm);
  file.vlr_count = 1;
  EXPECT_EQ(*CrsOf(file), kLambert);
  // Its units, too: degrees that are superseded do not count, and degrees that supersede do.
  file.vlrs = WktVlr("GEOGCS[\"WGS 84\"]");
  EXPECT_EQ(*CrsOf(file, false), kLambert);
  file.vlrs = WktVlr(kUtm);
  file.extended = ExtendedWkt("GEOGCS[\"WGS 84\"]");
  EXPECT_THAT(std::string(CrsOf(file, false).status().message()),
              HasSubstr("(got degrees, by its WKT)"));
  EXPECT_EQ(*CrsOf(file), "GEOGCS[\"WGS 84\"]");
  // One that says nothing replaces nothing.
  for (const std::string& nothing : {ExtendedWkt(""), LasExtendedVlr("another", 2112, kLambert),
                                     LasExtendedVlr("LASF_Projection", 2111, kLambert),
                                     LasExtendedVlr("LASF_Projection", 34735, "")}) {
    file.extended = nothing;
    EXPECT_EQ(*CrsOf(file), kUtm);
  }
}

TEST(ExtendedLasCrsTest, SupersededRecordsArePassedOver) {
  // Table "Superseded" of the specification: a record that no longer holds gets this user and id.
  LasFile file = ExtendedFile(LasExtendedVlr("LASF_Spec", 7, kLambert) + ExtendedWkt(kUtm), 2);
  file.vlrs = LasVlr("LASF_Spec", 7, "GEOGCS[\"WGS 84\"]");
  file.vlr_count = 1;
  EXPECT_EQ(*CrsOf(file, false), kUtm);
  file.extended = LasExtendedVlr("LASF_Spec", 7, kLambert);
  file.extended_count = 1;
  EXPECT_EQ(*CrsOf(file, false), "");
}

TEST(ExtendedLasCrsTest, RecordsThatAreNotInTheFileAreRefused) {
  const LasFile whole = ExtendedFile(LasExtendedVlr("x", 1, "yz") + ExtendedWkt(kUtm), 2);
  const std::string bytes = whole.ToBytes();
  const size_t end_of_points = bytes.size() - whole.extended.size();
  for (size_t size = end_of_points; size < bytes.size(); ++size) {
    const absl::Status status =
        ParseCloud(CloudFormat::kLas, bytes.substr(0, size), "a.las").status();
    ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << size;
    ASSERT_THAT(std::string(status.message()), HasSubstr("of 2 has "));
  }
  const auto error_of = [](const LasFile& file) {
    const absl::Status status = CrsOf(file).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  LasFile file = ExtendedFile("x");
  // In the points, and behind the file: the header has 375 bytes, and two points 60.
  file.extended_offset_error = -1;
  EXPECT_THAT(error_of(file),
              HasSubstr("byte 235: the offset to the 1 extended variable length records must be "
                        "435, the end of the points, to 436, the size of the file (got 434)"));
  file.extended_offset_error = 2;
  EXPECT_THAT(error_of(file), HasSubstr("(got 437)"));
  file.extended_offset_error = 0;
  EXPECT_THAT(error_of(file),
              HasSubstr("byte 435: the header of the extended variable length record 1 of 1 has 60 "
                        "bytes, but the file has 436"));
  file.extended_count = 0;
  EXPECT_TRUE(CrsOf(file).ok());
  // A length that would overflow the offset.
  std::string far = ExtendedWkt(kUtm);
  far.replace(20, 8, Bytes(~uint64_t{0} - 100));
  EXPECT_THAT(error_of(ExtendedFile(far)),
              HasSubstr("the content of the extended variable length record 1 of 1 has "
                        "18446744073709551515 bytes"));
}

TEST(ExtendedLasCrsTest, IsReadInBoundedMemory) {
  // A file of a terabyte, of which only the records' headers and the WKT are read.
  constexpr uint64_t kTerabyte = uint64_t{1} << 40;
  const std::string wkt = ExtendedWkt(kUtm);
  std::string large = LasExtendedVlr("LASF_Spec", 65535, "");
  large.replace(20, 8, Bytes(kTerabyte - 1000 - 60 - wkt.size()));
  std::vector<std::pair<uint64_t, size_t>> parts;
  const auto read = [&](uint64_t offset, size_t count, char* out) {
    parts.emplace_back(offset, count);
    const bool first = offset < 1000 + large.size();
    const std::string& from = first ? large : wkt;
    from.copy(out, count, offset - (first ? 1000 : kTerabyte - wkt.size()));
    return absl::OkStatus();
  };
  const auto crs = ReadExtendedLasCrs({1000, 2}, kTerabyte, read, "a.las");
  ASSERT_TRUE(crs.ok()) << crs.status();
  EXPECT_EQ(crs->definition, kUtm);
  EXPECT_THAT(parts,
              ::testing::ElementsAre(std::pair(uint64_t{1000}, size_t{60}),
                                     std::pair(kTerabyte - wkt.size(), size_t{60}),
                                     std::pair(kTerabyte - wkt.size() + 60, wkt.size() - 60)));
}

TEST(ExtendedLasCrsTest, LimitsAreErrors) {
  const std::string most(kMaxExtendedCrsBytes, 'w');
  EXPECT_TRUE(CrsOf(ExtendedFile(LasExtendedVlr("LASF_Projection", 2112, most))).ok());
  absl::Status status =
      CrsOf(ExtendedFile(LasExtendedVlr("LASF_Projection", 2112, most + "w"))).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("must have at most 1048576 bytes (got 1048577)"));
  std::string many;
  for (uint64_t i = 0; i < kMaxExtendedRecords; ++i) many += LasExtendedVlr("x", 1, "");
  EXPECT_TRUE(CrsOf(ExtendedFile(many, kMaxExtendedRecords)).ok());
  status = CrsOf(ExtendedFile(many + LasExtendedVlr("x", 1, ""), kMaxExtendedRecords + 1)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("must have at most 10000 extended"));
}

TEST(LasUnitsTest, EveryRecordThatIsThereIsRead) {
  const std::string feet = GeoKeysVlr({{3076, 0, 9003}});
  const std::string other = LasVlr("another", 7, "content");
  EXPECT_FALSE(StatusOfFile(other + feet, 2).ok());
  EXPECT_FALSE(StatusOfFile(feet, 4'000'000'000).ok());
  EXPECT_TRUE(StatusOfFile(other + feet, 1).ok());
  // Cut anywhere, it is passed over.
  for (size_t size = 0; size < feet.size(); ++size) {
    EXPECT_TRUE(StatusOfFile(feet.substr(0, size), 1).ok()) << size;
  }
}

}  // namespace
}  // namespace voxloc
