// SPDX-License-Identifier: Apache-2.0

#include "server/convert/earth_region.h"

#include <Eigen/Core>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/errors/error_details.h"
#include "server/geodesy/map_projection.h"

namespace voxloc::server {
namespace {

// Wider than any map, and higher.
constexpr double kMaxRadiusM = 1e5;

constexpr char kName[] = "region.wgs84_circle";

absl::Status NoFrame(const MapView& map, absl::string_view why) {
  const std::string& name = map.snapshot->name;
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          kName, " cannot be found on map ", name, ": ", why,
          "; give the region as a box, or commit a transaction on the map with a frame that has a "
          "WGS84 origin or a projector other than Local")),
      "MAP_FRAME_UNKNOWN", {{"map", name}});
}

absl::Status Outside(const v1::Wgs84Circle& circle, const Eigen::Vector2d& centre_m,
                     const Bounds& bounds, const MapProjection& projection) {
  const Eigen::Vector2d middle_m = (0.5 * (bounds.min + bounds.max)).head<2>();
  std::string where;
  if (const auto middle = projection.ToEarth(middle_m); middle.ok()) {
    where = absl::StrFormat(", around latitude %.6f and longitude %.6f", middle->latitude_deg,
                            middle->longitude_deg);
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "%s does not touch the map: latitude %.6f and longitude %.6f are at x %.1f, y %.1f m and the "
      "radius is %g m; the map is at x %.1f to %.1f, y %.1f to %.1f m%s",
      kName, circle.latitude_deg(), circle.longitude_deg(), centre_m.x(), centre_m.y(),
      circle.radius_m(), bounds.min.x(), bounds.max.x(), bounds.min.y(), bounds.max.y(), where));
}

}  // namespace

absl::StatusOr<PoseRegion::Box> BoxAroundCircle(const v1::Wgs84Circle& circle, const MapView& map) {
  absl::Status status =
      CheckLatitudeLongitude(kName, circle.latitude_deg(), circle.longitude_deg());
  if (!status.ok()) return status;
  if (!(circle.radius_m() > 0.0 && circle.radius_m() <= kMaxRadiusM)) {
    return absl::InvalidArgumentError(absl::StrCat(kName, ".radius_m must be over 0 and at most ",
                                                   kMaxRadiusM, " m (got ", circle.radius_m(),
                                                   ")"));
  }
  if (!map.facts->frame.has_value()) return NoFrame(map, "the map has no frame");
  const auto projection = MakeMapProjection(*map.facts->frame);
  if (!projection.ok()) return NoFrame(map, projection.status().message());
  const auto centre_m = (*projection)->ToMap({circle.latitude_deg(), circle.longitude_deg()});
  if (!centre_m.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(kName, ": ", centre_m.status().message()));
  }
  const Bounds& bounds = map.snapshot->tiles.bounds();
  PoseRegion::Box box;
  box.min << centre_m->array() - circle.radius_m(), bounds.min.z() - kMaxRadiusM;
  box.max << centre_m->array() + circle.radius_m(), bounds.max.z() + kMaxRadiusM;
  const bool touches = (box.min.array() <= bounds.max.array()).all() &&
                       (box.max.array() >= bounds.min.array()).all();
  if (bounds.finite_points > 0 && !touches) return Outside(circle, *centre_m, bounds, **projection);
  return box;
}

}  // namespace voxloc::server
