// SPDX-License-Identifier: Apache-2.0

#include "core/geodesy/map_frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <utility>

namespace voxloc {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

MapFrame FrameOf(MapProjector projector) {
  MapFrame frame;
  frame.projector = std::move(projector);
  return frame;
}

MapProjector Mgrs(const std::string& grid) {
  MapProjector projector;
  projector.type = ProjectorType::kMgrs;
  projector.vertical_datum = "WGS84";
  projector.mgrs_grid = grid;
  return projector;
}

MapProjector WithOrigin(ProjectorType type, double latitude_deg = 35.6762,
                        double longitude_deg = 139.6503) {
  MapProjector projector;
  projector.type = type;
  projector.vertical_datum = "WGS84";
  projector.map_origin = GeoPoint{latitude_deg, longitude_deg, 12.5};
  return projector;
}

std::string ErrorOf(const MapFrame& frame) {
  const auto made = MakeMapFrame(frame);
  EXPECT_TRUE(absl::IsInvalidArgument(made.status())) << made.status();
  return std::string(made.status().message());
}

TEST(MapFrameTest, NamesOfProjectorTypesAreThoseOfAutoware) {
  for (const char* name :
       {"Local", "MGRS", "LocalCartesianUTM", "TransverseMercator", "LocalCartesian"}) {
    const auto type = ProjectorTypeFromName(name).value();
    EXPECT_EQ(NameOf(type), name);
  }
}

TEST(MapFrameTest, AnUnknownProjectorTypeIsRefusedWithTheKnownOnes) {
  const auto type = ProjectorTypeFromName("UTM");
  EXPECT_TRUE(absl::IsInvalidArgument(type.status()));
  EXPECT_THAT(std::string(type.status().message()),
              AllOf(HasSubstr("projector_type"), HasSubstr("'UTM'"),
                    HasSubstr("Local, MGRS, LocalCartesianUTM, TransverseMercator, "
                              "LocalCartesian")));
}

TEST(MapFrameTest, ScaleFactorsAreFilledInAsAutowareDoes) {
  const auto scale_of = [](MapProjector projector, double given) {
    projector.scale_factor = given;
    const auto frame = MakeMapFrame(FrameOf(projector));
    EXPECT_TRUE(frame.ok()) << frame.status();
    return frame.ok() ? frame->projector->scale_factor : 0.0;
  };
  EXPECT_EQ(scale_of(WithOrigin(ProjectorType::kTransverseMercator), 0.0), 0.9996);
  EXPECT_EQ(scale_of(WithOrigin(ProjectorType::kTransverseMercator), 0.9999), 0.9999);
  EXPECT_EQ(scale_of(WithOrigin(ProjectorType::kLocalCartesianUtm), 0.5), 0.9996);
  EXPECT_EQ(scale_of(Mgrs("54SUE"), 0.5), 0.9996);
  EXPECT_EQ(scale_of(WithOrigin(ProjectorType::kLocalCartesian), 0.5), 1.0);
  EXPECT_EQ(scale_of(MapProjector(), 0.5), 1.0);
}

TEST(MapFrameTest, AGridIsWrittenInOneWay) {
  for (const char* grid : {"4QFJ", "04QFJ", "4qfj"}) {
    const auto frame = MakeMapFrame(FrameOf(Mgrs(grid))).value();
    EXPECT_EQ(frame.projector->mgrs_grid, "04QFJ");
  }
}

TEST(MapFrameTest, RefusesAMalformedGrid) {
  // Missing; no square; a longer coordinate; zone 61; a band and a letter that there are not; a
  // polar one.
  for (const char* grid : {"", "54S", "54SUE8151", "61SUE", "54IUE", "54SUI", "BAN", "hello"}) {
    EXPECT_THAT(ErrorOf(FrameOf(Mgrs(grid))), AllOf(HasSubstr("mgrs_grid"), HasSubstr("54SUE"),
                                                    HasSubstr(std::string("got '") + grid + "'")));
  }
}

TEST(MapFrameTest, RefusesWhatDoesNotBelongToTheTypeOrIsNotOnTheEarth) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto changed = [](MapProjector projector, const auto& change) {
    change(projector);
    return FrameOf(std::move(projector));
  };
  const auto of_origin = [](double altitude_m, double yaw_rad) {
    MapFrame frame;
    frame.origin = Wgs84Origin{{48.0, 11.0, altitude_m}, yaw_rad};
    return frame;
  };
  const auto type = ProjectorType::kLocalCartesian;
  std::vector<std::pair<MapFrame, std::string>> cases = {
      {MapFrame(), "a projector or an origin"},
      {changed(Mgrs("54SUE"),
               [](auto& p) {
                 p.map_origin = GeoPoint{35.0, 139.0, 0.0};
               }),
       "map_origin must be unset"},
      {changed(WithOrigin(type), [](auto& p) { p.mgrs_grid = "54SUE"; }),
       "mgrs_grid must be empty"},
      {FrameOf(WithOrigin(type, 90.5)),
       "map_origin.latitude_deg must be from -90 to 90 (got 90.5)"},
      {FrameOf(WithOrigin(type, nan)), "latitude_deg"},
      {FrameOf(WithOrigin(type, 0.0, -181.0)), "longitude_deg must be from -180 to 180 (got -181)"},
      {of_origin(nan, 0.0), "frame.origin.point.altitude_m"},
      {of_origin(500.0, nan), "frame.origin.x_axis_yaw_rad must be finite"},
      {changed(Mgrs("54SUE"), [](auto& p) { p.vertical_datum = "NAVD88"; }),
       "vertical_datum must be WGS84 or EGM2008 (got 'NAVD88')"},
      {changed(Mgrs("54SUE"), [](auto& p) { p.vertical_datum = ""; }), "vertical_datum"},
      {changed(WithOrigin(ProjectorType::kTransverseMercator),
               [](auto& p) { p.scale_factor = -1.0; }),
       "scale_factor must be over 0"}};
  for (const auto needs_one :
       {ProjectorType::kLocalCartesianUtm, ProjectorType::kTransverseMercator, type}) {
    cases.emplace_back(
        changed(WithOrigin(needs_one), [](auto& p) { p.map_origin.reset(); }),
        "map_origin must be set where projector_type is " + std::string(NameOf(needs_one)));
  }
  for (const auto& [frame, says] : cases) EXPECT_THAT(ErrorOf(frame), HasSubstr(says));
}

TEST(MapFrameTest, ComesBackFromText) {
  std::vector<MapFrame> frames = {FrameOf(MapProjector()), FrameOf(Mgrs("54SUE")),
                                  FrameOf(WithOrigin(ProjectorType::kTransverseMercator))};
  frames[0].origin = Wgs84Origin{{-33.8567844, 151.213108, 4.25}, 0.1};
  frames.emplace_back().origin = Wgs84Origin{{48.1, 1.0 / 3.0, 0.0}, -2.5};
  for (const MapFrame& given : frames) {
    const auto frame = MakeMapFrame(given).value();
    const auto back = MapFrameFromText(ToText(frame)).value();
    EXPECT_EQ(back, frame);
  }
}

TEST(MapFrameTest, TextThatIsNoFrameIsDataLoss) {
  for (const char* text :
       {"", "{", "[]", "{}", "{\"projector\": 3}", "{\"projector\": {\"projector_type\": \"UTM\"}}",
        "{\"origin\": {\"point\": {}}}"}) {
    EXPECT_TRUE(absl::IsDataLoss(MapFrameFromText(text).status())) << text;
  }
}

}  // namespace
}  // namespace voxloc
