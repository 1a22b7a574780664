// SPDX-License-Identifier: Apache-2.0
//
// From a projected coordinate reference system, such as a survey's, to the frame of a map, through
// PROJ (https://proj.org), which is loaded on first use (dlopen): it takes 27 MB with its data,
// besides curl and TIFF, and few maps need it.
//
// x and y go to latitude and longitude in WGS84 by PROJ, then by MapProjection to the map, in
// double. Which transformation leads from one datum to another, and how accurate it is, PROJ
// decides by the grids that are installed; it downloads none. Heights keep their datum and become
// metres, and the altitude of the frame's origin counts as one of the same datum.

#ifndef VOXLOC_CLIENTS_DATASET_CRS_H_
#define VOXLOC_CLIENTS_DATASET_CRS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/cloud/point_cloud.h"
#include "core/geodesy/map_frame.h"
#include "voxloc/v1/map.pb.h"

namespace voxloc {

// For one thread at a time.
class CrsToMap {
 public:
  // `definition`: as PROJ reads it: EPSG:25832, with a system of heights EPSG:25832+7837, WKT, or a
  // PROJ string. InvalidArgument: PROJ does not know it, it is not projected, its heights may not
  // be metres, or the frame does not say where the map lies. FailedPrecondition: PROJ is not
  // installed, or the frame's type is Local.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<const CrsToMap>> Create(
      const std::string& definition, const v1::MapFrame& frame);
  virtual ~CrsToMap() = default;

  // The name of the system.
  [[nodiscard]] virtual std::string name() const = 0;

  // Points that are not finite stay so. InvalidArgument: a point is not in the system's area, or
  // the map's projection does not reach it.
  [[nodiscard]] virtual absl::StatusOr<PointCloud> Convert(const PointCloud& cloud) const = 0;
};

}  // namespace voxloc

#endif  // VOXLOC_CLIENTS_DATASET_CRS_H_
