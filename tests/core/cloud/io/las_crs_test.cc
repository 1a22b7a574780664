// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/las_crs.h"

#include <cstdint>
#include <string>
#include <vector>

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
