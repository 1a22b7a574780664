// SPDX-License-Identifier: Apache-2.0
//
// Compared with Snyder's series of the transverse Mercator projection and with the closed formulas
// of earth-centred coordinates, both written out here.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>
#include <utility>
#include <vector>

#include "core/geodesy/map_frame.h"

namespace voxloc {
namespace {

using ::testing::HasSubstr;

constexpr double kDegree = M_PI / 180.0;

struct Ellipsoid {
  double a_m;
  double e2;
};
constexpr double kWgs84Flattening = 1.0 / 298.257223563;
constexpr Ellipsoid kWgs84 = {6378137.0, kWgs84Flattening*(2.0 - kWgs84Flattening)};

// J. P. Snyder, Map Projections: A Working Manual (USGS PP 1395, 1987), equations 3-21, 8-9, 8-10
// and 8-12 to 8-15: easting from the meridian, northing from the equator.
Eigen::Vector2d Snyder(const Ellipsoid& ellipsoid, double scale, double meridian_deg,
                       const LatitudeLongitude& at) {
  const double e2 = ellipsoid.e2;
  const double e4 = e2 * e2;
  const double e6 = e4 * e2;
  const double phi = at.latitude_deg * kDegree;
  const double s = std::sin(phi);
  const double c = std::cos(phi);
  const double ep2 = e2 / (1.0 - e2);
  const double n = ellipsoid.a_m / std::sqrt(1.0 - e2 * s * s);
  const double t = std::tan(phi) * std::tan(phi);
  const double cc = ep2 * c * c;
  const double a = (at.longitude_deg - meridian_deg) * kDegree * c;
  const double m =
      ellipsoid.a_m * ((1.0 - e2 / 4.0 - 3.0 * e4 / 64.0 - 5.0 * e6 / 256.0) * phi -
                       (3.0 * e2 / 8.0 + 3.0 * e4 / 32.0 + 45.0 * e6 / 1024.0) * std::sin(2 * phi) +
                       (15.0 * e4 / 256.0 + 45.0 * e6 / 1024.0) * std::sin(4 * phi) -
                       (35.0 * e6 / 3072.0) * std::sin(6 * phi));
  const double x = n * (a + (1.0 - t + cc) * std::pow(a, 3) / 6.0 +
                        (5.0 - 18.0 * t + t * t + 72.0 * cc - 58.0 * ep2) * std::pow(a, 5) / 120.0);
  const double y =
      m + n * std::tan(phi) *
              (a * a / 2.0 + (5.0 - t + 9.0 * cc + 4.0 * cc * cc) * std::pow(a, 4) / 24.0 +
               (61.0 - 58.0 * t + t * t + 600.0 * cc - 330.0 * ep2) * std::pow(a, 6) / 720.0);
  return scale * Eigen::Vector2d(x, y);
}

Eigen::Vector2d SnyderUtm(int zone, bool north, const LatitudeLongitude& at) {
  return Snyder(kWgs84, 0.9996, 6.0 * zone - 183.0, at) +
         Eigen::Vector2d(500000.0, north ? 0.0 : 1e7);
}

Eigen::Vector3d EarthCentred(const LatitudeLongitude& at, double altitude_m) {
  const double phi = at.latitude_deg * kDegree;
  const double lambda = at.longitude_deg * kDegree;
  const double n = kWgs84.a_m / std::sqrt(1.0 - kWgs84.e2 * std::sin(phi) * std::sin(phi));
  return {(n + altitude_m) * std::cos(phi) * std::cos(lambda),
          (n + altitude_m) * std::cos(phi) * std::sin(lambda),
          (n * (1.0 - kWgs84.e2) + altitude_m) * std::sin(phi)};
}

// East, north and up of `at` from `origin`.
Eigen::Vector3d EastNorthUp(const GeoPoint& origin, const GeoPoint& at) {
  const double phi = origin.latitude_deg * kDegree;
  const double lambda = origin.longitude_deg * kDegree;
  const Eigen::Vector3d d =
      EarthCentred({at.latitude_deg, at.longitude_deg}, at.altitude_m) -
      EarthCentred({origin.latitude_deg, origin.longitude_deg}, origin.altitude_m);
  const Eigen::Vector3d east(-std::sin(lambda), std::cos(lambda), 0.0);
  const Eigen::Vector3d north(-std::sin(phi) * std::cos(lambda), -std::sin(phi) * std::sin(lambda),
                              std::cos(phi));
  return {east.dot(d), north.dot(d), east.cross(north).dot(d)};
}

// Both at this altitude.
Eigen::Vector2d EastNorth(const LatitudeLongitude& origin, const LatitudeLongitude& at,
                          double altitude_m) {
  return EastNorthUp({origin.latitude_deg, origin.longitude_deg, altitude_m},
                     {at.latitude_deg, at.longitude_deg, altitude_m})
      .head<2>();
}

std::unique_ptr<const MapProjection> Make(const MapFrame& given) {
  const auto frame = MakeMapFrame(given);
  EXPECT_TRUE(frame.ok()) << frame.status();
  auto projection = MakeMapProjection(*frame);
  EXPECT_TRUE(projection.ok()) << projection.status();
  return *std::move(projection);
}

std::unique_ptr<const MapProjection> OfProjector(ProjectorType type, const std::string& grid,
                                                 std::optional<GeoPoint> origin,
                                                 double scale_factor = 0.0) {
  MapFrame frame;
  MapProjector& projector = frame.projector.emplace();
  projector.type = type;
  projector.vertical_datum = "WGS84";
  projector.mgrs_grid = grid;
  projector.map_origin = origin;
  projector.scale_factor = scale_factor;
  return Make(frame);
}

std::unique_ptr<const MapProjection> OfOrigin(const GeoPoint& point, double yaw_rad) {
  MapFrame frame;
  frame.origin = Wgs84Origin{point, yaw_rad};
  return Make(frame);
}

void ExpectAt(const MapProjection& projection, const LatitudeLongitude& at,
              const Eigen::Vector2d& expected_m, double tolerance_m) {
  const auto xy_m = projection.ToMap(at);
  ASSERT_TRUE(xy_m.ok()) << xy_m.status();
  EXPECT_NEAR(xy_m->x(), expected_m.x(), tolerance_m) << at.latitude_deg << ' ' << at.longitude_deg;
  EXPECT_NEAR(xy_m->y(), expected_m.y(), tolerance_m) << at.latitude_deg << ' ' << at.longitude_deg;
}

// The series is good to a millimetre within 3.5 degrees of the meridian.
constexpr double kSeriesTolerance_m = 2e-3;

constexpr LatitudeLongitude kTokyoTower = {35.6586, 139.7454};
constexpr LatitudeLongitude kSydneyOpera = {-33.8568, 151.2153};

TEST(MapProjectionTest, TheSeriesOfThisTestGivesSnydersExample) {
  // PP 1395, page 269: Clarke 1866, latitude 40.5 N, longitude 73.5 W, meridian 75 W.
  const Eigen::Vector2d xy =
      Snyder({6378206.4, 0.00676866}, 0.9996, -75.0, LatitudeLongitude{40.5, -73.5});
  EXPECT_NEAR(xy.x(), 127106.5, 0.1);
  EXPECT_NEAR(xy.y(), 4484124.4, 0.1);
}

TEST(MapProjectionTest, FindsThePublishedUtmCoordinatesOfTheCnTower) {
  // 43 38 33.24 N, 79 23 13.7 W is 17T 630084 4833438 (Wikipedia, "Universal Transverse Mercator
  // coordinate system"). 17TPJ begins at 600 km east and 4800 km north.
  const LatitudeLongitude tower = {43.0 + 38.0 / 60.0 + 33.24 / 3600.0,
                                   -(79.0 + 23.0 / 60.0 + 13.7 / 3600.0)};
  ExpectAt(*OfProjector(ProjectorType::kMgrs, "17TPJ", std::nullopt), tower, {30084.0, 33438.0},
           1.0);
}

TEST(MapProjectionTest, MgrsCountsFromTheCornerOfTheSquare) {
  // Columns of zone 54 begin with S at 100 km, so U is 300 km; rows of even zones begin with F at 0
  // and repeat after 2000 km, so E is 3900 km. In zone 56 L is 300 km and H is 6200 km.
  ExpectAt(*OfProjector(ProjectorType::kMgrs, "54SUE", std::nullopt), kTokyoTower,
           SnyderUtm(54, true, kTokyoTower) - Eigen::Vector2d(300e3, 3900e3), kSeriesTolerance_m);
  ExpectAt(*OfProjector(ProjectorType::kMgrs, "56HLH", std::nullopt), kSydneyOpera,
           SnyderUtm(56, false, kSydneyOpera) - Eigen::Vector2d(300e3, 6200e3), kSeriesTolerance_m);
}

TEST(MapProjectionTest, UtmGoesOnBeyondTheEdgeOfItsZoneAndOfItsSquare) {
  const auto projection = OfProjector(ProjectorType::kMgrs, "54SUE", std::nullopt);
  // Longitude 138 is the edge of zones 53 and 54.
  for (const double longitude_deg : {137.99, 138.0, 138.01, 140.5}) {
    const LatitudeLongitude at = {35.5, longitude_deg};
    ExpectAt(*projection, at, SnyderUtm(54, true, at) - Eigen::Vector2d(300e3, 3900e3),
             kSeriesTolerance_m);
  }
}

TEST(MapProjectionTest, LocalCartesianUtmCountsFromTheOrigin) {
  for (const bool north : {true, false}) {
    const LatitudeLongitude origin = north ? kTokyoTower : kSydneyOpera;
    const int zone = north ? 54 : 56;
    const auto projection = OfProjector(ProjectorType::kLocalCartesianUtm, "",
                                        GeoPoint{origin.latitude_deg, origin.longitude_deg, 50.0});
    ExpectAt(*projection, origin, {0.0, 0.0}, 1e-9);
    const LatitudeLongitude at = {origin.latitude_deg + 0.03, origin.longitude_deg - 0.05};
    ExpectAt(*projection, at, SnyderUtm(zone, north, at) - SnyderUtm(zone, north, origin),
             kSeriesTolerance_m);
  }
}

TEST(MapProjectionTest, UtmGoesOnAcrossTheEquator) {
  for (const double origin_deg : {0.001, -0.001}) {
    const LatitudeLongitude origin = {origin_deg, 36.8};
    const auto projection = OfProjector(ProjectorType::kLocalCartesianUtm, "",
                                        GeoPoint{origin_deg, origin.longitude_deg, 0.0});
    for (const double latitude_deg : {-0.02, 0.0, 0.02}) {
      const LatitudeLongitude at = {latitude_deg, 36.81};
      ExpectAt(*projection, at, SnyderUtm(37, true, at) - SnyderUtm(37, true, origin),
               kSeriesTolerance_m);
      const auto back = projection->ToEarth(*projection->ToMap(at)).value();
      EXPECT_NEAR(back.latitude_deg, latitude_deg, 1e-10);
    }
  }
}

TEST(MapProjectionTest, TransverseMercatorHasItsMeridianAtTheOriginAndItsScale) {
  for (const double scale : {0.9996, 1.0, 0.9999}) {
    for (const LatitudeLongitude& origin : {kTokyoTower, kSydneyOpera}) {
      const auto projection =
          OfProjector(ProjectorType::kTransverseMercator, "",
                      GeoPoint{origin.latitude_deg, origin.longitude_deg, 50.0}, scale);
      ExpectAt(*projection, origin, {0.0, 0.0}, 1e-9);
      const LatitudeLongitude at = {origin.latitude_deg - 0.2, origin.longitude_deg + 0.3};
      ExpectAt(*projection, at,
               Snyder(kWgs84, scale, origin.longitude_deg, at) -
                   Snyder(kWgs84, scale, origin.longitude_deg, origin),
               kSeriesTolerance_m);
    }
  }
}

TEST(MapProjectionTest, LocalCartesianIsEastAndNorthOnTheEllipsoid) {
  for (const LatitudeLongitude& origin : {kTokyoTower, kSydneyOpera, {89.99, 10.0}, {0.0, 180.0}}) {
    // The altitude of a projector's origin is not used.
    const auto projection = OfProjector(ProjectorType::kLocalCartesian, "",
                                        GeoPoint{origin.latitude_deg, origin.longitude_deg, 800.0});
    const LatitudeLongitude at = {origin.latitude_deg - 0.02,
                                  std::remainder(origin.longitude_deg + 0.03, 360.0)};
    ExpectAt(*projection, at, EastNorth(origin, at, 0.0), 1e-6);
  }
}

TEST(MapProjectionTest, AWgs84OriginTurnsTheAxesAndUsesItsAltitude) {
  const double yaw_rad = 0.3;
  const auto projection = OfOrigin({48.14, 11.58, 520.0}, yaw_rad);
  const LatitudeLongitude at = {48.15, 11.57};
  const Eigen::Vector2d east_north = EastNorth({48.14, 11.58}, at, 520.0);
  const Eigen::Vector2d x_axis(std::cos(yaw_rad), std::sin(yaw_rad));
  const Eigen::Vector2d y_axis(-std::sin(yaw_rad), std::cos(yaw_rad));
  ExpectAt(*projection, at, {x_axis.dot(east_north), y_axis.dot(east_north)}, 1e-6);
}

TEST(MapProjectionTest, HeightsCountFromTheOriginOrAlongItsVertical) {
  const GeoPoint origin = {48.14, 11.58, 520.0};
  const GeoPoint at = {48.19, 11.57, 600.0};
  const LatitudeLongitude below = {at.latitude_deg, at.longitude_deg};
  for (const auto type : {ProjectorType::kLocalCartesianUtm, ProjectorType::kTransverseMercator}) {
    const auto projection = OfProjector(type, "", origin);
    const Eigen::Vector3d point = projection->PointToMap(at).value();
    EXPECT_EQ(point.z(), 80.0);
    EXPECT_EQ(Eigen::Vector2d(point.head<2>()), projection->ToMap(below).value());
  }
  EXPECT_EQ(OfProjector(ProjectorType::kMgrs, "32UPU", std::nullopt)->PointToMap(at).value().z(),
            600.0);
  const Eigen::Vector3d autoware =
      OfProjector(ProjectorType::kLocalCartesian, "", origin)->PointToMap(at).value();
  EXPECT_EQ(autoware.z(), 80.0);
  EXPECT_LE((autoware - EastNorthUp({48.14, 11.58, 0.0}, at)).head<2>().norm(), 1e-6);
  // 5.5 km away the ellipsoid is 2.4 m below the plane.
  const Eigen::Vector3d point = OfOrigin(origin, 0.0)->PointToMap(at).value();
  EXPECT_LE((point - EastNorthUp(origin, at)).norm(), 1e-6);
  EXPECT_NEAR(point.z(), 80.0 - 2.43, 0.1);
}

TEST(MapProjectionTest, ComesBackFromTheMap) {
  std::vector<std::pair<std::unique_ptr<const MapProjection>, LatitudeLongitude>> cases;
  cases.emplace_back(OfProjector(ProjectorType::kMgrs, "54SUE", std::nullopt), kTokyoTower);
  cases.emplace_back(OfProjector(ProjectorType::kMgrs, "56HLH", std::nullopt), kSydneyOpera);
  for (const auto type : {ProjectorType::kLocalCartesianUtm, ProjectorType::kTransverseMercator,
                          ProjectorType::kLocalCartesian}) {
    for (const LatitudeLongitude& at : {kTokyoTower, kSydneyOpera}) {
      cases.emplace_back(OfProjector(type, "", GeoPoint{at.latitude_deg, at.longitude_deg, 7.0}),
                         at);
    }
  }
  cases.emplace_back(OfOrigin({35.6, 139.8, 400.0}, -2.0), kTokyoTower);
  for (const auto& [projection, centre] : cases) {
    for (const double d_deg : {-0.1, -0.001, 0.0, 0.002, 0.1}) {
      const LatitudeLongitude at = {centre.latitude_deg + d_deg,
                                    centre.longitude_deg - 2.0 * d_deg};
      const auto xy_m = projection->ToMap(at).value();
      const auto back = projection->ToEarth(xy_m).value();
      EXPECT_NEAR(back.latitude_deg, at.latitude_deg, 1e-9);
      EXPECT_NEAR(back.longitude_deg, at.longitude_deg, 1e-9);
    }
  }
}

TEST(MapProjectionTest, RefusesPointsThatItDoesNotReach) {
  const LatitudeLongitude new_york = {40.6892, -74.0445};
  EXPECT_TRUE(absl::IsInvalidArgument(
      OfProjector(ProjectorType::kMgrs, "54SUE", std::nullopt)->ToMap(new_york).status()));
  const auto plane = OfOrigin({48.0, 11.0, 0.0}, 0.0);
  // The antipode is at 0, 0 of the plane.
  const auto antipode = plane->ToMap({-48.0, -169.0});
  EXPECT_TRUE(absl::IsInvalidArgument(antipode.status()));
  EXPECT_THAT(std::string(antipode.status().message()), HasSubstr("the other side of the earth"));
  EXPECT_TRUE(absl::IsInvalidArgument(plane->ToEarth({7e6, 0.0}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      OfProjector(ProjectorType::kMgrs, "54SUE", std::nullopt)->ToEarth({5e6, 0.0}).status()));
}

TEST(MapProjectionTest, ALocalMapLiesNowhereUnlessItHasAnOrigin) {
  MapFrame frame;
  frame.projector = MapProjector();
  const auto nowhere = MakeMapProjection(*MakeMapFrame(frame));
  EXPECT_TRUE(absl::IsFailedPrecondition(nowhere.status()));
  EXPECT_THAT(std::string(nowhere.status().message()), HasSubstr("WGS84 origin"));
  frame.origin = Wgs84Origin{{48.0, 11.0, 0.0}, 0.0};
  ExpectAt(*Make(frame), {48.0, 11.0}, {0.0, 0.0}, 1e-9);
}

TEST(MapProjectionTest, AProjectorComesBeforeAnOrigin) {
  MapFrame frame;
  frame.origin = Wgs84Origin{{48.0, 11.0, 0.0}, 0.0};
  frame.projector = MapProjector();
  frame.projector->type = ProjectorType::kMgrs;
  frame.projector->vertical_datum = "WGS84";
  frame.projector->mgrs_grid = "54SUE";
  ExpectAt(*Make(frame), kTokyoTower,
           SnyderUtm(54, true, kTokyoTower) - Eigen::Vector2d(300e3, 3900e3), kSeriesTolerance_m);
}

}  // namespace
}  // namespace voxloc
