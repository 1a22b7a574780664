// SPDX-License-Identifier: Apache-2.0

#include "server/geodesy/map_projection.h"

#include <Eigen/Geometry>
#include <GeographicLib/Constants.hpp>
#include <GeographicLib/LocalCartesian.hpp>
#include <GeographicLib/MGRS.hpp>
#include <GeographicLib/TransverseMercator.hpp>
#include <GeographicLib/UTMUPS.hpp>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace voxloc::server {
namespace {

absl::Status TooFar(const LatitudeLongitude& at, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("latitude ", at.latitude_deg, " and longitude ",
                                                 at.longitude_deg,
                                                 " are too far from the map: ", why));
}

absl::Status TooFar(const Eigen::Vector2d& xy_map_m, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("x ", xy_map_m.x(), " and y ", xy_map_m.y(),
                                                 " are too far from the map's origin: ", why));
}

// UTM of one zone and hemisphere, from a corner.
class UtmProjection : public MapProjection {
 public:
  UtmProjection(int zone, bool north, const Eigen::Vector2d& corner_m)
      : zone_(zone), north_(north), corner_m_(corner_m) {}

  absl::StatusOr<Eigen::Vector2d> ToMap(const LatitudeLongitude& at) const override {
    int zone = 0;
    bool north = true;
    double easting_m = 0.0;
    double northing_m = 0.0;
    try {
      GeographicLib::UTMUPS::Forward(at.latitude_deg, at.longitude_deg, zone, north, easting_m,
                                     northing_m, zone_);
    } catch (const GeographicLib::GeographicErr& error) {
      return TooFar(at, error.what());
    }
    // Northings of the southern hemisphere count from 10,000 km.
    if (north != north_) {
      northing_m += (north ? 1.0 : -1.0) * GeographicLib::UTMUPS::UTMShift();
    }
    return Eigen::Vector2d(easting_m, northing_m) - corner_m_;
  }

  absl::StatusOr<LatitudeLongitude> ToEarth(const Eigen::Vector2d& xy_map_m) const override {
    const Eigen::Vector2d utm_m = xy_map_m + corner_m_;
    LatitudeLongitude at;
    try {
      GeographicLib::UTMUPS::Reverse(zone_, north_, utm_m.x(), utm_m.y(), at.latitude_deg,
                                     at.longitude_deg);
    } catch (const GeographicLib::GeographicErr& error) {
      return TooFar(xy_map_m, error.what());
    }
    return at;
  }

 private:
  const int zone_;
  const bool north_;
  const Eigen::Vector2d corner_m_;  // easting and northing of the map's origin
};

class TransverseMercatorProjection : public MapProjection {
 public:
  TransverseMercatorProjection(const GeoPoint& origin, double scale_factor)
      : projection_(GeographicLib::Constants::WGS84_a(), GeographicLib::Constants::WGS84_f(),
                    scale_factor),
        meridian_deg_(origin.longitude_deg),
        origin_y_m_(Forward({origin.latitude_deg, origin.longitude_deg}).y()) {}

  absl::StatusOr<Eigen::Vector2d> ToMap(const LatitudeLongitude& at) const override {
    const Eigen::Vector2d xy_m = Forward(at);
    if (!xy_m.allFinite()) return TooFar(at, "the projection has no such point");
    return Eigen::Vector2d(xy_m.x(), xy_m.y() - origin_y_m_);
  }

  absl::StatusOr<LatitudeLongitude> ToEarth(const Eigen::Vector2d& xy_map_m) const override {
    LatitudeLongitude at;
    projection_.Reverse(meridian_deg_, xy_map_m.x(), xy_map_m.y() + origin_y_m_, at.latitude_deg,
                        at.longitude_deg);
    if (!std::isfinite(at.latitude_deg) || !std::isfinite(at.longitude_deg)) {
      return TooFar(xy_map_m, "the projection has no such point");
    }
    return at;
  }

 private:
  [[nodiscard]] Eigen::Vector2d Forward(const LatitudeLongitude& at) const {
    Eigen::Vector2d xy_m;
    projection_.Forward(meridian_deg_, at.latitude_deg, at.longitude_deg, xy_m.x(), xy_m.y());
    return xy_m;
  }

  const GeographicLib::TransverseMercator projection_;
  const double meridian_deg_;
  const double origin_y_m_;
};

// The plane that touches the ellipsoid's parallel surface at the origin's height.
class TangentPlane : public MapProjection {
 public:
  TangentPlane(const GeoPoint& origin, double x_axis_yaw_rad)
      : cartesian_(origin.latitude_deg, origin.longitude_deg, origin.altitude_m),
        altitude_m_(origin.altitude_m),
        enu_R_map_(x_axis_yaw_rad) {}

  absl::StatusOr<Eigen::Vector2d> ToMap(const LatitudeLongitude& at) const override {
    Eigen::Vector2d enu_m;
    double up_m = 0.0;
    cartesian_.Forward(at.latitude_deg, at.longitude_deg, altitude_m_, enu_m.x(), enu_m.y(), up_m);
    // A quarter of the way around the earth; beyond it points come back towards the origin.
    if (up_m < -GeographicLib::Constants::WGS84_a()) {
      return TooFar(at, "they are on the other side of the earth");
    }
    return Eigen::Vector2d(enu_R_map_.inverse() * enu_m);
  }

  absl::StatusOr<LatitudeLongitude> ToEarth(const Eigen::Vector2d& xy_map_m) const override {
    const Eigen::Vector2d enu_m = enu_R_map_ * xy_map_m;
    LatitudeLongitude at;
    // The surface falls below the plane; each step finds the height with an error that is the last
    // one times the squared angle at the earth's centre.
    constexpr double kToleranceM = 1e-6;
    constexpr int kMaxSteps = 50;
    double up_m = 0.0;
    for (int step = 0; step < kMaxSteps; ++step) {
      double altitude_m = 0.0;
      cartesian_.Reverse(enu_m.x(), enu_m.y(), up_m, at.latitude_deg, at.longitude_deg, altitude_m);
      if (std::abs(altitude_m - altitude_m_) < kToleranceM) return at;
      up_m -= altitude_m - altitude_m_;
    }
    return TooFar(xy_map_m, "the earth's surface does not reach there");
  }

 private:
  const GeographicLib::LocalCartesian cartesian_;
  const double altitude_m_;
  const Eigen::Rotation2Dd enu_R_map_;
};

// Throws GeographicErr; MakeMapProjection catches it.
std::unique_ptr<const MapProjection> Make(const MapProjector& projector) {
  int zone = 0;
  bool north = true;
  Eigen::Vector2d corner_m = Eigen::Vector2d::Zero();
  switch (projector.type) {
    case ProjectorType::kLocal:
      return nullptr;
    case ProjectorType::kMgrs: {
      int precision = 0;
      GeographicLib::MGRS::Reverse(projector.mgrs_grid, zone, north, corner_m.x(), corner_m.y(),
                                   precision, /*centerp=*/false);
      return std::make_unique<UtmProjection>(zone, north, corner_m);
    }
    case ProjectorType::kLocalCartesianUtm:
      GeographicLib::UTMUPS::Forward(projector.map_origin->latitude_deg,
                                     projector.map_origin->longitude_deg, zone, north, corner_m.x(),
                                     corner_m.y());
      return std::make_unique<UtmProjection>(zone, north, corner_m);
    case ProjectorType::kTransverseMercator:
      return std::make_unique<TransverseMercatorProjection>(*projector.map_origin,
                                                            projector.scale_factor);
    case ProjectorType::kLocalCartesian: {
      GeoPoint origin = *projector.map_origin;
      origin.altitude_m = 0.0;  // as in Autoware
      return std::make_unique<TangentPlane>(origin, 0.0);
    }
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<std::unique_ptr<const MapProjection>> MakeMapProjection(const MapFrame& frame) {
  std::unique_ptr<const MapProjection> projection;
  if (frame.projector.has_value()) {
    try {
      projection = Make(*frame.projector);
    } catch (const GeographicLib::GeographicErr& error) {
      return absl::FailedPreconditionError(
          absl::StrCat("the map's projector cannot be used: ", error.what()));
    }
  }
  if (projection == nullptr && frame.origin.has_value()) {
    projection = std::make_unique<TangentPlane>(frame.origin->point, frame.origin->x_axis_yaw_rad);
  }
  if (projection == nullptr) {
    return absl::FailedPreconditionError(
        "the map's frame has a projector of type Local and no WGS84 origin, so latitude and "
        "longitude cannot be found on it");
  }
  return projection;
}

}  // namespace voxloc::server
