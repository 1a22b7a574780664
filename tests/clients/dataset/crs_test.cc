// SPDX-License-Identifier: Apache-2.0
//
// What PROJ's inverse and the map's projection make of coordinates of the map's own projection,
// which must come out as they went in, less the map's origin; and origins where the formulas are
// plain: easting and northing of UTM are 500 km and 0 where the central meridian meets the equator.
// Heights above the geoid EGM96 are compared with the undulations that NGA publishes with it
// (the test points of its program F477), and all with PROJ's own program: the values of
// `cs2cs -d 9 SYSTEM EPSG:4979`.

#include "clients/dataset/crs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace voxloc {
namespace {

using ::testing::HasSubstr;

v1::MapFrame ProjectorFrame(const std::string& type, const std::string& grid, double latitude_deg,
                            double longitude_deg, double altitude_m = 0.0, double scale = 0.0) {
  v1::MapFrame frame;
  v1::MapProjector& projector = *frame.mutable_projector();
  projector.set_projector_type(type);
  projector.set_vertical_datum("WGS84");
  projector.set_mgrs_grid(grid);
  projector.set_scale_factor(scale);
  if (grid.empty()) {
    projector.mutable_map_origin()->set_latitude_deg(latitude_deg);
    projector.mutable_map_origin()->set_longitude_deg(longitude_deg);
    projector.mutable_map_origin()->set_altitude_m(altitude_m);
  }
  return frame;
}

v1::MapFrame OriginFrame(double latitude_deg, double longitude_deg, double altitude_m,
                         double yaw_rad) {
  v1::MapFrame frame;
  v1::GeoPoint& point = *frame.mutable_origin()->mutable_point();
  point.set_latitude_deg(latitude_deg);
  point.set_longitude_deg(longitude_deg);
  point.set_altitude_m(altitude_m);
  frame.mutable_origin()->set_x_axis_yaw_rad(yaw_rad);
  return frame;
}

class CrsToMapTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto crs = CrsToMap::Create("EPSG:32632", ProjectorFrame("LocalCartesianUTM", "", 0, 9));
    if (crs.status().code() == absl::StatusCode::kFailedPrecondition) {
      GTEST_SKIP() << "without PROJ (package proj-bin): " << crs.status();
    }
    ASSERT_TRUE(crs.ok()) << crs.status();
  }

  // A point of the system, in the map.
  static Eigen::Vector3d InMap(const std::string& definition, const v1::MapFrame& frame,
                               const Eigen::Vector3d& point,
                               CrsHeights heights = CrsHeights::kTransform) {
    const auto crs = CrsToMap::Create(definition, frame, heights);
    EXPECT_TRUE(crs.ok()) << crs.status();
    if (!crs.ok()) return Eigen::Vector3d::Zero();
    PointCloud cloud;
    cloud.origin = point;
    cloud.origin.head<2>() *= (*crs)->xy_scale();
    cloud.PushBack(0.0F, 0.0F, 0.0F);
    const auto converted = (*crs)->Convert(cloud);
    EXPECT_TRUE(converted.ok()) << converted.status();
    return converted.ok() ? converted->Point(0) : Eigen::Vector3d::Zero();
  }

  static std::string Refusal(const std::string& definition, const v1::MapFrame& frame) {
    const absl::Status status = CrsToMap::Create(definition, frame).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  }
};

// Float32 around an origin in whole metres.
constexpr double kTolerance_m = 1e-4;

TEST_F(CrsToMapTest, OfTheMapsOwnProjectionOnlyTheOriginIsSubtracted) {
  const Eigen::Vector3d munich(691'234.125, 5'334'567.25, 530.5);
  const v1::MapFrame utm = ProjectorFrame("LocalCartesianUTM", "", 0.0, 9.0, 500.0);
  EXPECT_LE((InMap("EPSG:32632", utm, munich) - (munich - Eigen::Vector3d(5e5, 0, 500))).norm(),
            kTolerance_m);
  // ETRS89 counts as WGS84, whose ellipsoid differs by 0.1 mm.
  for (const char* etrs89 : {"EPSG:25832", "EPSG:25832+ellipsoidal"}) {
    EXPECT_LE((InMap(etrs89, utm, munich) - (munich - Eigen::Vector3d(5e5, 0, 500))).norm(), 5e-4);
  }
  // The corner of 54SUE is 300 km east and 3900 km north.
  const Eigen::Vector3d tokyo(386'000.5, 3'946'000.25, 40.0);
  EXPECT_LE((InMap("EPSG:32654", ProjectorFrame("MGRS", "54SUE", 0, 0), tokyo) -
             (tokyo - Eigen::Vector3d(300e3, 3900e3, 0)))
                .norm(),
            kTolerance_m);
}

TEST_F(CrsToMapTest, AxesAreEastAndNorthWhateverTheirOrderInTheSystem) {
  // Zone 9 of Japan's plane coordinates counts X to the north and Y to the east, from 36 N and
  // 139 50 E with the scale 0.9999.
  const v1::MapFrame frame =
      ProjectorFrame("TransverseMercator", "", 36.0, 139.0 + 50.0 / 60.0, 0.0, 0.9999);
  const Eigen::Vector3d point(-7'654.5, -35'123.25, 12.0);
  EXPECT_LE((InMap("EPSG:6677", frame, point) - point).norm(), kTolerance_m);
}

TEST_F(CrsToMapTest, FeetBecomeMetres) {
  const v1::MapFrame frame = ProjectorFrame("LocalCartesianUTM", "", 40.7, -74.0);
  const Eigen::Vector3d point(987'000.0, 200'000.0, 100.0);
  constexpr double kSurveyFoot_m = 1200.0 / 3937.0;
  const Eigen::Vector3d here = InMap("EPSG:2263+6360", frame, point, CrsHeights::kKeep);
  EXPECT_NEAR(here.z(), 100.0 * kSurveyFoot_m, kTolerance_m);
  const Eigen::Vector3d there = InMap(
      "EPSG:2263+6360", frame, point + Eigen::Vector3d(3000.0, 4000.0, 0.0), CrsHeights::kKeep);
  // Both projections have scales from 0.9995 to 1.0005 here.
  EXPECT_NEAR((there - here).norm(), 5000.0 * kSurveyFoot_m, 1.5);
  EXPECT_NEAR(InMap("EPSG:2263+5703", frame, point, CrsHeights::kKeep).z(), 100.0, kTolerance_m);
  EXPECT_NEAR(InMap("EPSG:2263+ellipsoidal", frame, point).z(), 100.0, kTolerance_m);
}

// Where PROJ has the grid of EGM96, which Debian's package proj-data installs.
class CrsHeightsTest : public CrsToMapTest {
 protected:
  void SetUp() override {
    CrsToMapTest::SetUp();
    if (IsSkipped()) return;
    const auto crs = CrsToMap::Create("EPSG:4326+5773", ProjectorFrame("MGRS", "32UPU", 0, 0));
    if (!crs.ok()) GTEST_SKIP() << "without the grid of EGM96: " << crs.status();
  }
};

TEST_F(CrsHeightsTest, BecomeThoseOfTheEllipsoidByThePublishedGeoid) {
  const struct {
    double latitude_deg, longitude_deg, undulation_m;
  } published[] = {
      {38.6281550, -90.2208450, -31.628}, {-14.6212170, -54.9788860, -2.969},
      {46.8743190, 102.4487290, -43.575}, {-23.6174460, 133.8747120, 15.871},
      {38.6254730, -0.0005000, 50.066},   {-0.4667440, 0.0023000, 17.329},
  };
  for (const auto& [latitude_deg, longitude_deg, undulation_m] : published) {
    const v1::MapFrame frame =
        ProjectorFrame("TransverseMercator", "", latitude_deg, longitude_deg, 5.0);
    const Eigen::Vector3d point =
        InMap("EPSG:4326+5773", frame, {longitude_deg, latitude_deg, 100.0});
    // F477 sums harmonics, of which the grid has a value each 15 minutes of arc.
    EXPECT_NEAR(point.z(), 100.0 + undulation_m - 5.0, 0.06) << latitude_deg;
    EXPECT_LE(point.head<2>().norm(), kTolerance_m);
  }
}

TEST_F(CrsHeightsTest, AreThoseOfProjsOwnProgram) {
  const struct {
    const char* definition;
    Eigen::Vector3d point;
    double latitude_deg, longitude_deg, height_m;
  } of_cs2cs[] = {
      {"EPSG:32632+5773",
       {691'234.125, 5'334'567.25, 530.5},
       48.135598513,
       11.570450861,
       576.036511419},
      {"EPSG:32632+5773",
       {400'000.0, 5'700'000.0, 100.0},
       51.442352316,
       7.561123206,
       146.446730066},
      {"EPSG:6677+5773", {-7'654.5, -35'123.25, 12.0}, 35.683387685, 139.748765993, 48.506987583},
      {"EPSG:2263+5773", {987'000.0, 200'000.0, 100.0}, 40.715630071, -73.990079931, 67.272128053},
  };
  for (const auto& [definition, point, latitude_deg, longitude_deg, height_m] : of_cs2cs) {
    const v1::MapFrame frame =
        ProjectorFrame("TransverseMercator", "", latitude_deg, longitude_deg);
    EXPECT_LE((InMap(definition, frame, point) - Eigen::Vector3d(0, 0, height_m)).norm(), 5e-4)
        << definition;
    // Of a point that is its origin, a tangent plane has the height alone.
    EXPECT_LE(
        (InMap(definition, OriginFrame(latitude_deg, longitude_deg, height_m, 0), point)).norm(),
        5e-4);
  }
}

TEST_F(CrsHeightsTest, AreKeptWhereThatIsWantedOrNothingIsStated) {
  const v1::MapFrame frame = ProjectorFrame("LocalCartesianUTM", "", 0.0, 9.0, 500.0);
  const Eigen::Vector3d munich(691'234.125, 5'334'567.25, 530.5);
  EXPECT_NEAR(InMap("EPSG:32632+5773", frame, munich).z(), 76.0365, 1e-3);
  EXPECT_NEAR(InMap("EPSG:32632+5773", frame, munich, CrsHeights::kKeep).z(), 30.5, kTolerance_m);
  EXPECT_NEAR(InMap("EPSG:32632", frame, munich).z(), 30.5, kTolerance_m);
  const auto about = [&](const char* definition, CrsHeights heights) {
    const auto crs = CrsToMap::Create(definition, frame, heights);
    EXPECT_TRUE(crs.ok()) << crs.status();
    return std::pair((*crs)->heights(), (*crs)->keeps_stated_heights());
  };
  EXPECT_EQ(about("EPSG:32632+5773", CrsHeights::kTransform),
            std::pair(std::string("heights of EGM96 height become heights above the ellipsoid of "
                                  "WGS84"),
                      false));
  EXPECT_EQ(about("EPSG:32632+5773", CrsHeights::kKeep),
            std::pair(std::string("heights of EGM96 height are taken as they are"), true));
  EXPECT_EQ(about("EPSG:32632", CrsHeights::kTransform),
            std::pair(std::string("heights are taken as they are"), false));
}

TEST_F(CrsToMapTest, HeightsOfTheMapsOwnReferenceNeedNoGrid) {
  v1::MapFrame geoid = ProjectorFrame("LocalCartesianUTM", "", 0.0, 9.0, 500.0);
  geoid.mutable_projector()->set_vertical_datum("EGM2008");
  const v1::MapFrame ellipsoid = ProjectorFrame("LocalCartesianUTM", "", 0.0, 9.0, 500.0);
  const Eigen::Vector3d munich(691'234.125, 5'334'567.25, 530.5);
  const Eigen::Vector3d there = munich - Eigen::Vector3d(5e5, 0, 500);
  EXPECT_LE((InMap("EPSG:32632+3855", geoid, munich) - there).norm(), kTolerance_m);
  EXPECT_LE((InMap("EPSG:25832+3855", geoid, munich) - there).norm(), 5e-4);
  EXPECT_LE((InMap("EPSG:32632+ellipsoidal", ellipsoid, munich) - there).norm(), kTolerance_m);
}

TEST_F(CrsToMapTest, HeightsWithoutAGridAreRefusedWithTheRemedy) {
  // Debian has the grids of EGM96 and of a few countries.
  v1::MapFrame geoid = ProjectorFrame("LocalCartesianUTM", "", 0.0, 9.0, 500.0);
  geoid.mutable_projector()->set_vertical_datum("EGM2008");
  const v1::MapFrame ellipsoid = ProjectorFrame("LocalCartesianUTM", "", 0.0, 9.0, 500.0);
  const Eigen::Vector3d munich(691'234.125, 5'334'567.25, 530.5);
  for (const auto& [definition, frame] :
       {std::pair("EPSG:25832+7837", ellipsoid), std::pair("EPSG:25832+7837", geoid),
        std::pair("EPSG:32632+3855", ellipsoid), std::pair("EPSG:32632+ellipsoidal", geoid)}) {
    const absl::Status status = CrsToMap::Create(definition, frame).status();
    // A machine that has the grid.
    if (status.ok()) continue;
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(std::string("`projinfo -s ") + definition + " -t "));
    EXPECT_THAT(std::string(status.message()), HasSubstr("--keep-heights"));
    EXPECT_NEAR(InMap(definition, frame, munich, CrsHeights::kKeep).z(), 30.5, kTolerance_m);
  }
}

TEST_F(CrsToMapTest, DegreesAreTakenInTheOrderLongitudeLatitude) {
  // The values of cs2cs EPSG:4326 EPSG:32632; and of EPSG:4807 EPSG:4326 for 45 degrees, which are
  // 50 grads, the unit of that system, on the meridian of Paris.
  const v1::MapFrame utm = ProjectorFrame("LocalCartesianUTM", "", 0.0, 9.0, 500.0);
  const Eigen::Vector3d munich(691'234.125 - 5e5, 5'334'567.25, 30.5);
  for (const char* degrees :
       {"EPSG:4326", "EPSG:4979", "EPSG:4258", "EPSG:4326+ellipsoidal", "EPSG:4937"}) {
    EXPECT_LE((InMap(degrees, utm, {11.570450861377793, 48.13559851303464, 530.5}) - munich).norm(),
              5e-4)
        << degrees;
  }
  const v1::MapFrame paris =
      ProjectorFrame("TransverseMercator", "", 44.999974683522, 2.336555728255);
  EXPECT_LE(InMap("EPSG:4807", paris, {0.0, 50.0, 0.0}).norm(), 0.01);
  // Coordinates in metres are no degrees.
  const auto crs = CrsToMap::Create("EPSG:4326", utm);
  PointCloud cloud;
  cloud.origin = {691'234.0 * 1e5, 5'334'567.0 * 1e5, 0.0};
  cloud.PushBack(0.0F, 0.0F, 0.0F);
  EXPECT_FALSE((*crs)->Convert(cloud).ok());
}

TEST_F(CrsToMapTest, OnATangentPlaneAxesAreTurned) {
  // 100 m on the ellipsoid, at the scale 0.9996, and more 520 m above it.
  const Eigen::Vector3d east(5e5 + 99.96, 0.0, 520.0);
  EXPECT_LE((InMap("EPSG:32632", OriginFrame(0.0, 9.0, 500.0, M_PI / 2.0), east) -
             Eigen::Vector3d(0.0, -100.0 * (1.0 + 520.0 / 6'378'137.0), 20.0))
                .norm(),
            1e-3);
}

TEST_F(CrsToMapTest, KeepsIntensityAndPointsThatAreNotFinite) {
  const auto crs = CrsToMap::Create("EPSG:32632", ProjectorFrame("LocalCartesianUTM", "", 0, 9));
  PointCloud cloud;
  cloud.origin = {5e5, 1000.0, 0.0};
  cloud.PushBack(std::numeric_limits<float>::quiet_NaN(), 0.0F, 0.0F);
  cloud.PushBack(1.0F, 2.0F, 3.0F);
  cloud.intensity = {7.0F, 8.0F};
  const auto converted = (*crs)->Convert(cloud);
  ASSERT_TRUE(converted.ok()) << converted.status();
  EXPECT_FALSE(converted->IsFinite(0));
  EXPECT_LE((converted->Point(1) - Eigen::Vector3d(1.0, 1002.0, 3.0)).norm(), kTolerance_m);
  EXPECT_EQ(converted->intensity, cloud.intensity);
  cloud.origin.x() = 1e12;
  EXPECT_THAT(std::string((*crs)->Convert(cloud).status().message()),
              HasSubstr("must be in the area of WGS 84 / UTM zone 32N (got x 1e+12"));
}

TEST_F(CrsToMapTest, WhatCannotBeTransformedIsRefused) {
  const v1::MapFrame frame = ProjectorFrame("LocalCartesianUTM", "", 0, 9);
  EXPECT_THAT(Refusal("EPSG:99999", frame),
              HasSubstr("must be a projected one that PROJ knows, such as EPSG:25832, or one of "
                        "latitude and longitude (got 'EPSG:99999'"));
  EXPECT_THAT(Refusal("EPSG:4978", frame), HasSubstr("WGS 84, which is neither"));
  EXPECT_THAT(Refusal("EPSG:5773", frame), HasSubstr("EGM96 height, which is neither"));
  EXPECT_THAT(Refusal("EPSG:32632+5773+ellipsoidal", frame), HasSubstr("which has other heights"));
  EXPECT_THAT(Refusal("EPSG:2263", frame), HasSubstr("add a system of heights"));
  EXPECT_THAT(Refusal("nonsense", frame), HasSubstr("'nonsense'"));
  EXPECT_THAT(Refusal("EPSG:32632", v1::MapFrame()), HasSubstr("a projector or an origin"));
  v1::MapFrame local;
  local.mutable_projector()->set_projector_type("Local");
  EXPECT_THAT(std::string(CrsToMap::Create("EPSG:32632", local).status().message()),
              HasSubstr("type Local"));
}

}  // namespace
}  // namespace voxloc
