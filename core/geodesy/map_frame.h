// SPDX-License-Identifier: Apache-2.0
//
// MapFrame: where a map lies on the earth, as given by the client that loaded it, a plain value;
// and MapProjection, latitude and longitude on it.

#ifndef VOXLOC_CORE_GEODESY_MAP_FRAME_H_
#define VOXLOC_CORE_GEODESY_MAP_FRAME_H_

#include <Eigen/Core>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace voxloc {

// The scale at the central meridian of UTM, which Autoware takes as the default of other transverse
// Mercator projections too.
inline constexpr double kUtmScale = 0.9996;

// WGS84.
struct GeoPoint {
  double latitude_deg = 0.0;   // -90 to 90
  double longitude_deg = 0.0;  // -180 to 180
  double altitude_m = 0.0;

  friend bool operator==(const GeoPoint& a, const GeoPoint& b) {
    return a.latitude_deg == b.latitude_deg && a.longitude_deg == b.longitude_deg &&
           a.altitude_m == b.altitude_m;
  }
};

// The names are Autoware's: NameOf and ProjectorTypeFromName have them.
enum class ProjectorType {
  kLocal,
  kMgrs,
  kLocalCartesianUtm,
  kTransverseMercator,
  kLocalCartesian,
};

[[nodiscard]] absl::string_view NameOf(ProjectorType type);
// InvalidArgument lists the names.
[[nodiscard]] absl::StatusOr<ProjectorType> ProjectorTypeFromName(absl::string_view name);

// What Autoware's map_projector_info.yaml says; see MapProjector of the contract.
struct MapProjector {
  ProjectorType type = ProjectorType::kLocal;
  std::string vertical_datum;  // WGS84 or EGM2008; empty: not said
  std::string mgrs_grid;       // kMgrs, as 54SUE
  // kLocalCartesianUtm, kTransverseMercator, kLocalCartesian.
  std::optional<GeoPoint> map_origin;
  double scale_factor = 0.0;  // 0: the type's own

  friend bool operator==(const MapProjector& a, const MapProjector& b) {
    return a.type == b.type && a.vertical_datum == b.vertical_datum && a.mgrs_grid == b.mgrs_grid &&
           a.map_origin == b.map_origin && a.scale_factor == b.scale_factor;
  }
};

// The map's origin on the earth; z is along the vertical of the ellipsoid there.
struct Wgs84Origin {
  GeoPoint point;
  double x_axis_yaw_rad = 0.0;  // from east to the map's x axis, counterclockwise from above

  friend bool operator==(const Wgs84Origin& a, const Wgs84Origin& b) {
    return a.point == b.point && a.x_axis_yaw_rad == b.x_axis_yaw_rad;
  }
};

struct MapFrame {
  std::optional<MapProjector> projector;
  std::optional<Wgs84Origin> origin;

  friend bool operator==(const MapFrame& a, const MapFrame& b) {
    return a.projector == b.projector && a.origin == b.origin;
  }
};

// Fills in all derived and default values, so that equal frames compare equal.
// InvalidArgument names the field, what is allowed, and what was given.
[[nodiscard]] absl::StatusOr<MapFrame> MakeMapFrame(MapFrame frame);

// A latitude and a longitude that a message has under this name. InvalidArgument.
[[nodiscard]] absl::Status CheckLatitudeLongitude(absl::string_view name, double latitude_deg,
                                                  double longitude_deg);

// To and from the stored JSON text. DataLoss: the text cannot be parsed.
[[nodiscard]] std::string ToText(const MapFrame& frame);
[[nodiscard]] absl::StatusOr<MapFrame> MapFrameFromText(const std::string& text);

struct LatitudeLongitude {
  double latitude_deg = 0.0;
  double longitude_deg = 0.0;
};

// MapProjection: from latitude and longitude to the x and y of a map, and back. Immutable and
// thread-safe.
//
// MGRS and LocalCartesianUTM projections extend beyond the edges of their grid square or zone, as
// one plane. Tangent-plane projections assume that points are at the height of the origin; for a
// point 100 m higher and 1 km away the error is 0.016 m.
class MapProjection {
 public:
  virtual ~MapProjection() = default;

  // x and y of the map, metres. InvalidArgument: the projection does not reach that far.
  [[nodiscard]] virtual absl::StatusOr<Eigen::Vector2d> ToMap(
      const LatitudeLongitude& at) const = 0;

  // InvalidArgument: the projection does not reach that far.
  [[nodiscard]] virtual absl::StatusOr<LatitudeLongitude> ToEarth(
      const Eigen::Vector2d& xy_map_m) const = 0;

  // x, y and z of the map, metres. z is the height above that of the frame's origin, in the datum
  // of both, as Autoware has it (MGRS: above zero), or, of a Wgs84Origin, along the vertical there.
  // InvalidArgument: the projection does not reach that far.
  [[nodiscard]] virtual absl::StatusOr<Eigen::Vector3d> PointToMap(const GeoPoint& at) const;

 protected:
  // `zero_altitude_m`: the altitude of z = 0.
  explicit MapProjection(double zero_altitude_m) : zero_altitude_m_(zero_altitude_m) {}

  const double zero_altitude_m_;
};

// The projection of a frame that MakeMapFrame has returned. FailedPrecondition: it does not say
// where the map is.
[[nodiscard]] absl::StatusOr<std::unique_ptr<const MapProjection>> MakeMapProjection(
    const MapFrame& frame);

}  // namespace voxloc

#endif  // VOXLOC_CORE_GEODESY_MAP_FRAME_H_
