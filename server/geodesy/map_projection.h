// SPDX-License-Identifier: Apache-2.0
//
// MapProjection: from latitude and longitude to the x and y of a map, and back. Immutable and
// thread-safe.
//
// MGRS and LocalCartesianUTM projections extend beyond the edges of their grid square or zone, as
// one plane. Tangent-plane projections assume that points are at the height of the origin; for a
// point 100 m higher and 1 km away the error is 0.016 m.

#ifndef VOXLOC_SERVER_GEODESY_MAP_PROJECTION_H_
#define VOXLOC_SERVER_GEODESY_MAP_PROJECTION_H_

#include <Eigen/Core>
#include <memory>

#include "absl/status/statusor.h"
#include "server/geodesy/map_frame.h"

namespace voxloc::server {

struct LatitudeLongitude {
  double latitude_deg = 0.0;
  double longitude_deg = 0.0;
};

class MapProjection {
 public:
  virtual ~MapProjection() = default;

  // x and y of the map, metres. InvalidArgument: the projection does not reach that far.
  [[nodiscard]] virtual absl::StatusOr<Eigen::Vector2d> ToMap(
      const LatitudeLongitude& at) const = 0;

  // InvalidArgument: the projection does not reach that far.
  [[nodiscard]] virtual absl::StatusOr<LatitudeLongitude> ToEarth(
      const Eigen::Vector2d& xy_map_m) const = 0;
};

// Of a frame that MakeMapFrame has returned. FailedPrecondition: it does not say where the map is.
[[nodiscard]] absl::StatusOr<std::unique_ptr<const MapProjection>> MakeMapProjection(
    const MapFrame& frame);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_GEODESY_MAP_PROJECTION_H_
