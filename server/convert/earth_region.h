// SPDX-License-Identifier: Apache-2.0
//
// Regions of a search that are given by latitude and longitude. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_CONVERT_EARTH_REGION_H_
#define VOXLOC_SERVER_CONVERT_EARTH_REGION_H_

#include "absl/status/statusor.h"
#include "core/estimate/global_search/global_search.h"
#include "server/maps/resident_maps.h"
#include "voxloc/v1/initial_pose.pb.h"

namespace voxloc::server {

// The box around the circle along the map's axes, at all heights. FailedPrecondition: the map's
// frame does not say where it lies; InvalidArgument: a malformed circle, or one that does not touch
// the map's bounds.
[[nodiscard]] absl::StatusOr<PoseRegion::Box> BoxAroundCircle(const v1::Wgs84Circle& circle,
                                                              const MapView& map);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_EARTH_REGION_H_
