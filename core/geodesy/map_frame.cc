// SPDX-License-Identifier: Apache-2.0

#include "core/geodesy/map_frame.h"

#include <Eigen/Geometry>
#include <GeographicLib/Constants.hpp>
#include <GeographicLib/LocalCartesian.hpp>
#include <GeographicLib/MGRS.hpp>
#include <GeographicLib/TransverseMercator.hpp>
#include <GeographicLib/UTMUPS.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status/try.h"

namespace voxloc {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GeoPoint, latitude_deg, longitude_deg, altitude_m)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Wgs84Origin, point, x_axis_yaw_rad)

namespace {

// In the order of ProjectorType.
constexpr std::array<absl::string_view, 5> kNames = {"Local", "MGRS", "LocalCartesianUTM",
                                                     "TransverseMercator", "LocalCartesian"};

// Wider than any height on the earth.
constexpr double kMaxAltitudeM = 1e5;

std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::CEscape(text.substr(0, 64)), "'");
}

absl::Status CheckPoint(absl::string_view name, const GeoPoint& point) {
  VOXLOC_TRY(CheckLatitudeLongitude(name, point.latitude_deg, point.longitude_deg));
  if (std::abs(point.altitude_m) <= kMaxAltitudeM) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, ".altitude_m must be from ", -kMaxAltitudeM,
                                                 " to ", kMaxAltitudeM, " m (got ",
                                                 point.altitude_m, ")"));
}

absl::Status CheckDatum(const MapProjector& projector) {
  if (projector.vertical_datum == "WGS84" || projector.vertical_datum == "EGM2008") {
    return absl::OkStatus();
  }
  if (projector.vertical_datum.empty() && projector.type == ProjectorType::kLocal) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("frame.projector.vertical_datum must be WGS84 or EGM2008 (got ",
                   Quoted(projector.vertical_datum), ")"));
}

// "4qfj" becomes "04QFJ", which is how the library and Autoware write it.
absl::StatusOr<std::string> ParseMgrsGrid(absl::string_view given) {
  std::string grid = absl::AsciiStrToUpper(given);
  if (grid.size() == 4 && absl::ascii_isdigit(static_cast<unsigned char>(grid[0]))) {
    grid.insert(0, "0");
  }
  bool valid = grid.size() == 5 && absl::ascii_isdigit(static_cast<unsigned char>(grid[0]));
  if (valid) {
    try {
      int zone = 0;
      int precision = 0;
      bool north = false;
      double x_m = 0.0;
      double y_m = 0.0;
      GeographicLib::MGRS::Reverse(grid, zone, north, x_m, y_m, precision, false);
      valid = zone >= 1 && precision == 0;
    } catch (const GeographicLib::GeographicErr&) {
      valid = false;
    }
  }
  if (valid) return grid;
  return absl::InvalidArgumentError(
      absl::StrCat("frame.projector.mgrs_grid must be a square of 100 km: the number of the UTM "
                   "zone, the letter of its band and the two letters of the square, such as 54SUE "
                   "(got ",
                   Quoted(given), ")"));
}

absl::Status FillDefaults(MapProjector& projector) {
  VOXLOC_TRY(CheckDatum(projector));
  const absl::string_view type = NameOf(projector.type);
  const bool has_grid = projector.type == ProjectorType::kMgrs;
  const bool has_origin = !has_grid && projector.type != ProjectorType::kLocal;
  if (has_grid) {
    VOXLOC_ASSIGN_OR_RETURN(projector.mgrs_grid, ParseMgrsGrid(projector.mgrs_grid));
  } else if (!projector.mgrs_grid.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("frame.projector.mgrs_grid must be empty where projector_type is ", type,
                     " (got ", Quoted(projector.mgrs_grid), ")"));
  }
  if (has_origin != projector.map_origin.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("frame.projector.map_origin must be ",
                                                   has_origin ? "set" : "unset",
                                                   " where projector_type is ", type));
  }
  if (has_origin) {
    VOXLOC_TRY(CheckPoint("frame.projector.map_origin", *projector.map_origin));
  }
  switch (projector.type) {
    case ProjectorType::kLocal:
    case ProjectorType::kLocalCartesian:
      projector.scale_factor = 1.0;
      break;
    case ProjectorType::kMgrs:
    case ProjectorType::kLocalCartesianUtm:
      projector.scale_factor = kUtmScale;
      break;
    case ProjectorType::kTransverseMercator:
      if (projector.scale_factor == 0.0) projector.scale_factor = kUtmScale;
      if (!(projector.scale_factor > 0.0 && std::isfinite(projector.scale_factor))) {
        return absl::InvalidArgumentError(
            absl::StrCat("frame.projector.scale_factor must be over 0 and finite (got ",
                         projector.scale_factor, ")"));
      }
      break;
  }
  return absl::OkStatus();
}

// Throws on missing values or wrong types; MapFrameFromText catches this.
absl::StatusOr<MapFrame> FrameFrom(const nlohmann::json& json) {
  MapFrame frame;
  if (const auto found = json.find("projector"); found != json.end()) {
    VOXLOC_ASSIGN_OR_RETURN(auto type,
                            ProjectorTypeFromName(found->at("projector_type").get<std::string>()));
    MapProjector& projector = frame.projector.emplace();
    projector.type = type;
    projector.vertical_datum = found->at("vertical_datum").get<std::string>();
    projector.mgrs_grid = found->at("mgrs_grid").get<std::string>();
    if (found->contains("map_origin")) {
      projector.map_origin = found->at("map_origin").get<GeoPoint>();
    }
    projector.scale_factor = found->at("scale_factor").get<double>();
  }
  if (const auto found = json.find("origin"); found != json.end()) {
    frame.origin = found->get<Wgs84Origin>();
  }
  return MakeMapFrame(std::move(frame));
}

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
  UtmProjection(int zone, bool north, const Eigen::Vector2d& corner_m, double zero_altitude_m)
      : MapProjection(zero_altitude_m), zone_(zone), north_(north), corner_m_(corner_m) {}

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
      : MapProjection(origin.altitude_m),
        projection_(GeographicLib::Constants::WGS84_a(), GeographicLib::Constants::WGS84_f(),
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

// The plane that touches the ellipsoid's parallel surface at an altitude.
class TangentPlane : public MapProjection {
 public:
  // `autoware`: the plane touches at altitude zero, and z is the height above the origin's.
  TangentPlane(const GeoPoint& origin, double x_axis_yaw_rad, bool autoware)
      : MapProjection(origin.altitude_m),
        autoware_(autoware),
        altitude_m_(autoware ? 0.0 : origin.altitude_m),
        cartesian_(origin.latitude_deg, origin.longitude_deg, altitude_m_),
        enu_R_map_(x_axis_yaw_rad) {}

  absl::StatusOr<Eigen::Vector2d> ToMap(const LatitudeLongitude& at) const override {
    VOXLOC_ASSIGN_OR_RETURN(const Eigen::Vector3d point,
                            PointToMap({at.latitude_deg, at.longitude_deg, altitude_m_}));
    return Eigen::Vector2d(point.head<2>());
  }

  absl::StatusOr<Eigen::Vector3d> PointToMap(const GeoPoint& at) const override {
    Eigen::Vector3d enu_m;
    cartesian_.Forward(at.latitude_deg, at.longitude_deg, at.altitude_m, enu_m.x(), enu_m.y(),
                       enu_m.z());
    // A quarter of the way around the earth; beyond it points come back towards the origin.
    if (enu_m.z() < -GeographicLib::Constants::WGS84_a()) {
      return TooFar(LatitudeLongitude{at.latitude_deg, at.longitude_deg},
                    "they are on the other side of the earth");
    }
    const Eigen::Vector2d xy_m = enu_R_map_.inverse() * enu_m.head<2>();
    return Eigen::Vector3d(xy_m.x(), xy_m.y(),
                           autoware_ ? at.altitude_m - zero_altitude_m_ : enu_m.z());
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
  const bool autoware_;
  const double altitude_m_;
  const GeographicLib::LocalCartesian cartesian_;
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
      return std::make_unique<UtmProjection>(zone, north, corner_m, 0.0);
    }
    case ProjectorType::kLocalCartesianUtm:
      GeographicLib::UTMUPS::Forward(projector.map_origin->latitude_deg,
                                     projector.map_origin->longitude_deg, zone, north, corner_m.x(),
                                     corner_m.y());
      return std::make_unique<UtmProjection>(zone, north, corner_m,
                                             projector.map_origin->altitude_m);
    case ProjectorType::kTransverseMercator:
      return std::make_unique<TransverseMercatorProjection>(*projector.map_origin,
                                                            projector.scale_factor);
    case ProjectorType::kLocalCartesian:
      return std::make_unique<TangentPlane>(*projector.map_origin, 0.0, /*autoware=*/true);
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<Eigen::Vector3d> MapProjection::PointToMap(const GeoPoint& at) const {
  VOXLOC_ASSIGN_OR_RETURN(const Eigen::Vector2d xy_m, ToMap({at.latitude_deg, at.longitude_deg}));
  return Eigen::Vector3d(xy_m.x(), xy_m.y(), at.altitude_m - zero_altitude_m_);
}

absl::string_view NameOf(ProjectorType type) { return kNames[static_cast<size_t>(type)]; }

absl::StatusOr<ProjectorType> ProjectorTypeFromName(absl::string_view name) {
  const auto* const found = std::find(kNames.begin(), kNames.end(), name);
  if (found != kNames.end()) return static_cast<ProjectorType>(found - kNames.begin());
  return absl::InvalidArgumentError(absl::StrCat("frame.projector.projector_type must be one of ",
                                                 absl::StrJoin(kNames, ", "), " (got ",
                                                 Quoted(name), ")"));
}

absl::StatusOr<MapFrame> MakeMapFrame(MapFrame frame) {
  if (!frame.projector.has_value() && !frame.origin.has_value()) {
    return absl::InvalidArgumentError("frame must have a projector or an origin (got neither)");
  }
  if (frame.projector.has_value()) {
    VOXLOC_TRY(FillDefaults(*frame.projector));
  }
  if (frame.origin.has_value()) {
    VOXLOC_TRY(CheckPoint("frame.origin.point", frame.origin->point));
    if (!std::isfinite(frame.origin->x_axis_yaw_rad)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "frame.origin.x_axis_yaw_rad must be finite (got ", frame.origin->x_axis_yaw_rad, ")"));
    }
  }
  return frame;
}

absl::Status CheckLatitudeLongitude(absl::string_view name, double latitude_deg,
                                    double longitude_deg) {
  if (!(std::abs(latitude_deg) <= 90.0)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ".latitude_deg must be from -90 to 90 (got ", latitude_deg, ")"));
  }
  if (!(std::abs(longitude_deg) <= 180.0)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ".longitude_deg must be from -180 to 180 (got ", longitude_deg, ")"));
  }
  return absl::OkStatus();
}

std::string ToText(const MapFrame& frame) {
  nlohmann::json json = nlohmann::json::object();
  if (frame.projector.has_value()) {
    nlohmann::json projector = {{"projector_type", std::string(NameOf(frame.projector->type))},
                                {"vertical_datum", frame.projector->vertical_datum},
                                {"mgrs_grid", frame.projector->mgrs_grid},
                                {"scale_factor", frame.projector->scale_factor}};
    if (frame.projector->map_origin.has_value()) {
      projector["map_origin"] = *frame.projector->map_origin;
    }
    json["projector"] = std::move(projector);
  }
  if (frame.origin.has_value()) json["origin"] = *frame.origin;
  return json.dump();
}

absl::StatusOr<MapFrame> MapFrameFromText(const std::string& text) {
  std::string problem;
  try {
    auto frame = FrameFrom(nlohmann::json::parse(text));
    if (frame.ok()) return frame;
    problem = std::string(frame.status().message());
  } catch (const nlohmann::json::exception& error) {
    problem = error.what();
  }
  return absl::DataLossError(absl::StrCat(
      "the frame of a map is not readable: ", absl::CEscape(text.substr(0, 256)), ": ", problem));
}

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
    projection = std::make_unique<TangentPlane>(frame.origin->point, frame.origin->x_axis_yaw_rad,
                                                /*autoware=*/false);
  }
  if (projection == nullptr) {
    return absl::FailedPreconditionError(
        "the map's frame has a projector of type Local and no WGS84 origin, so latitude and "
        "longitude cannot be found on it");
  }
  return projection;
}

}  // namespace voxloc
