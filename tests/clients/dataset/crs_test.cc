// SPDX-License-Identifier: Apache-2.0
//
// What PROJ's inverse and the map's projection make of coordinates of the map's own projection,
// which must come out as they went in, less the map's origin; and origins where the formulas are
// plain: easting and northing of UTM are 500 km and 0 where the central meridian meets the equator.

#include "clients/dataset/crs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

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
                               const Eigen::Vector3d& point) {
    const auto crs = CrsToMap::Create(definition, frame);
    EXPECT_TRUE(crs.ok()) << crs.status();
    if (!crs.ok()) return Eigen::Vector3d::Zero();
    PointCloud cloud;
    cloud.origin = point;
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
  // ETRS89 counts as WGS84, whose ellipsoid differs by 0.1 mm, and a system of heights changes
  // none.
  for (const char* etrs89 : {"EPSG:25832", "EPSG:25832+7837"}) {
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
  const Eigen::Vector3d here = InMap("EPSG:2263+6360", frame, point);
  EXPECT_NEAR(here.z(), 100.0 * kSurveyFoot_m, kTolerance_m);
  const Eigen::Vector3d there =
      InMap("EPSG:2263+6360", frame, point + Eigen::Vector3d(3000.0, 4000.0, 0.0));
  // Both projections have scales from 0.9995 to 1.0005 here.
  EXPECT_NEAR((there - here).norm(), 5000.0 * kSurveyFoot_m, 1.5);
  EXPECT_NEAR(InMap("EPSG:2263+5703", frame, point).z(), 100.0, kTolerance_m);
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
              HasSubstr("must be a projected one that PROJ knows, such as EPSG:25832 (got "
                        "'EPSG:99999'"));
  EXPECT_THAT(Refusal("EPSG:4326", frame), HasSubstr("WGS 84, which is not projected"));
  EXPECT_THAT(Refusal("EPSG:4326+5773", frame), HasSubstr("which is not projected"));
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
