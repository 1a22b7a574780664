// SPDX-License-Identifier: Apache-2.0
//
// From a coordinate reference system, such as a survey's, to the frame of a map, through PROJ
// (https://proj.org), which is loaded on first use (dlopen): it takes 27 MB with its data, besides
// curl and TIFF, and few maps need it.
//
// x and y go to latitude and longitude in WGS84 by PROJ, then by MapProjection to the map, in
// double. Which transformation leads from one datum to another, and how accurate it is, PROJ
// decides by the grids that are installed; it downloads none.
//
// Heights become metres. A map's heights are above the ellipsoid of WGS84, or above the geoid
// EGM2008 where its projector says so. Where the system says what its heights are above, they are
// transformed to the map's, and the altitude of the frame's origin is one of the map's; without the
// grid that this needs there is no transformation, rather than one that leaves heights wrong by
// tens of metres. Where it says nothing, or the caller wants it, heights are taken as they are, and
// the altitude of the frame's origin counts as one of theirs.

#ifndef VOXLOC_CLIENTS_DATASET_CRS_H_
#define VOXLOC_CLIENTS_DATASET_CRS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/cloud/point_cloud.h"
#include "core/geodesy/map_frame.h"
#include "voxloc/v1/map.pb.h"

namespace voxloc {

enum class CrsHeights {
  kTransform,  // to the map's, where the system says what they are above
  kKeep,       // taken as they are, in metres
};

// For one thread at a time.
class CrsToMap {
 public:
  // `definition`: as PROJ reads it: EPSG:25832, with a system of heights EPSG:25832+7837, WKT, or a
  // PROJ string; or EPSG:25832+ellipsoidal (kEllipsoidalHeights), heights above the ellipsoid of
  // its datum. Projected, or of latitude and longitude. InvalidArgument: PROJ does not know it, it
  // is of another kind, its heights may not be metres, or the frame does not say where the map
  // lies. FailedPrecondition: PROJ is not installed or has no grid for the heights, or the frame's
  // type is Local.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<const CrsToMap>> Create(
      const std::string& definition, const v1::MapFrame& frame,
      CrsHeights heights = CrsHeights::kTransform);
  virtual ~CrsToMap() = default;

  // The name of the system.
  [[nodiscard]] virtual std::string name() const = 0;

  // What becomes of heights: "heights are taken as they are".
  [[nodiscard]] virtual std::string heights() const = 0;

  // Whether they are taken as they are although the system says what they are above.
  [[nodiscard]] virtual bool keeps_stated_heights() const = 0;

  // By what x and y of the points of Convert are multiplied: 1, or, where the system has degrees,
  // of which float32 would be too coarse, 1e5 (CloudReadOptions::xy_scale).
  [[nodiscard]] virtual double xy_scale() const = 0;

  // x east or longitude, y north or latitude, whatever their order in the system. Points that are
  // not finite stay so. InvalidArgument: a point is not in the system's area or in that of the grid
  // of its heights, or the map's projection does not reach it.
  [[nodiscard]] virtual absl::StatusOr<PointCloud> Convert(const PointCloud& cloud) const = 0;
};

}  // namespace voxloc

#endif  // VOXLOC_CLIENTS_DATASET_CRS_H_
