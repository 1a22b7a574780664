// SPDX-License-Identifier: Apache-2.0

#include <string>
#include <utility>
#include <vector>

#include "clients/dataset/cloud_sources.h"
#include "clients/dataset/map_yaml.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

absl::StatusOr<v1::MapProjector> ReadText(const std::string& text) {
  const ScratchDir scratch;
  return ReadProjectorYaml(scratch.Write("map_projector_info.yaml", text));
}

TEST(MapProjectorYamlTest, ReadsWhatAutowareDescribes) {
  const auto mgrs = ReadText(
      "# map_projector_info.yaml\nprojector_type: MGRS\nvertical_datum: WGS84\nmgrs_grid: 54SUE\n");
  ASSERT_TRUE(mgrs.ok()) << mgrs.status();
  EXPECT_EQ(mgrs->projector_type(), "MGRS");
  EXPECT_EQ(mgrs->vertical_datum(), "WGS84");
  EXPECT_EQ(mgrs->mgrs_grid(), "54SUE");
  EXPECT_FALSE(mgrs->has_map_origin());

  const auto mercator = ReadText(
      "projector_type: TransverseMercator\nvertical_datum: EGM2008\nmap_origin:\n"
      "  latitude: 35.6762 # [deg]\n  longitude: -139.6503 # [deg]\n  altitude: 1.5 # [m]\n"
      "scale_factor: 0.9999\n");
  ASSERT_TRUE(mercator.ok()) << mercator.status();
  EXPECT_EQ(mercator->vertical_datum(), "EGM2008");
  EXPECT_EQ(mercator->map_origin().latitude_deg(), 35.6762);
  EXPECT_EQ(mercator->map_origin().longitude_deg(), -139.6503);
  EXPECT_EQ(mercator->map_origin().altitude_m(), 1.5);
  EXPECT_EQ(mercator->scale_factor(), 0.9999);
}

TEST(MapProjectorYamlTest, PassesOverWhatTheTypeDoesNotUse) {
  const auto utm = ReadText(
      "projector_type: LocalCartesianUTM\nvertical_datum: WGS84\nmgrs_grid: 54SUE\n"
      "map_origin: {latitude: 1, longitude: 2}\nscale_factor: 3\nauthor: somebody\n");
  ASSERT_TRUE(utm.ok()) << utm.status();
  EXPECT_EQ(utm->mgrs_grid(), "");
  EXPECT_EQ(utm->scale_factor(), 0.0);
  EXPECT_TRUE(utm->has_map_origin());
}

TEST(MapProjectorYamlTest, ReadsTheLocalOfEarlyVersions) {
  for (const char* text : {"projector_type: Local\n", "projector_type: local\n"}) {
    const auto local = ReadText(text);
    ASSERT_TRUE(local.ok()) << local.status();
    EXPECT_EQ(local->projector_type(), "Local");
  }
}

TEST(MapProjectorYamlTest, SaysWhatIsWrongAndWhere) {
  const std::string start = "projector_type: LocalCartesian\nvertical_datum: WGS84\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "must be a map that has a projector_type"},
      {"- MGRS\n", "must be a map"},
      {"type: MGRS\n",
       "projector_type must be a word, and is missing; the keys here are 'type'; is 'type' meant "
       "to "
       "be projector_type?"},
      {"projection_type: MGRS\ndatum: x\n", "is 'projection_type' meant to be projector_type?"},
      {"projector_type: [MGRS]\n", "projector_type must be a word"},
      {"projector_type: \"a\\tb\"\n", "projector_type must be a word of printable UTF-8"},
      {"projector_type: MGRS\nmgrs_grid: 54SUE\n", "vertical_datum must be a word"},
      {"projector_type: MGRS\nvertical_datum: WGS84\n", "mgrs_grid must be a word"},
      {start, "map_origin must have a latitude and a longitude"},
      {start + "map_origin: here\n", "line 3"},
      {start + "map_origin:\n  latitude: 1\n",
       "map_origin.longitude must be a number of degrees, and is missing"},
      {start + "map_origin: {latitude: 1, lon: 2}\n", "the keys here are 'latitude, lon'"},
      {start + "map_origin:\n  latitude: north\n  longitude: 2\n", "line 4"},
      {start + "map_origin:\n  latitude: .nan\n  longitude: 2\n", "map_origin.latitude"},
      {start + "map_origin: {latitude: 1, longitude: 2, altitude: high}\n", "map_origin.altitude"},
      {"projector_type: TransverseMercator\nvertical_datum: WGS84\n"
       "map_origin: {latitude: 1, longitude: 2}\nscale_factor: 0\n",
       "scale_factor must be a number over 0"},
      {"projector_type: [\n", "is not YAML"},
  };
  for (const auto& [text, says] : cases) {
    const auto read = ReadText(text);
    EXPECT_TRUE(absl::IsInvalidArgument(read.status())) << text << read.status();
    EXPECT_THAT(std::string(read.status().message()),
                AllOf(HasSubstr("map_projector_info.yaml"), HasSubstr(says)));
  }
  EXPECT_TRUE(absl::IsNotFound(ReadProjectorYaml("/nowhere/p.yaml").status()));
}

TEST(MapProjectorYamlTest, ReadsWhatItWrites) {
  v1::MapProjector projector;
  projector.set_projector_type("TransverseMercator");
  projector.set_vertical_datum("WGS84");
  projector.mutable_map_origin()->set_latitude_deg(-33.8567844);
  projector.mutable_map_origin()->set_longitude_deg(1.0 / 3.0);
  projector.mutable_map_origin()->set_altitude_m(-4.25);
  projector.set_scale_factor(0.99985);
  auto back = ReadText(ProjectorYamlText(projector));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->SerializeAsString(), projector.SerializeAsString());
  EXPECT_THAT(ProjectorYamlText(projector), HasSubstr("\n  latitude: -33.8567844\n"));

  v1::MapProjector grid;
  grid.set_projector_type("MGRS");
  grid.set_vertical_datum("EGM2008");
  grid.set_mgrs_grid("04QFJ");
  EXPECT_EQ(ProjectorYamlText(grid),
            "projector_type: MGRS\nvertical_datum: EGM2008\nmgrs_grid: 04QFJ\n");
}

TEST(MapProjectorYamlTest, IsFoundInADirectory) {
  const ScratchDir scratch;
  const std::string file = scratch.Write("map/map_projector_info.yaml", "projector_type: Local\n");
  EXPECT_EQ(FindProjectorYaml(scratch.Path("map")), file);
  EXPECT_EQ(FindProjectorYaml(scratch.Path("")), std::nullopt);
  EXPECT_EQ(FindProjectorYaml(file), std::nullopt);
}

}  // namespace
}  // namespace voxloc
