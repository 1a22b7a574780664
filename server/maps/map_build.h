// SPDX-License-Identifier: Apache-2.0
//
// MapBuild: how a map is built, fixed when it is created: the profiles that it serves, at which
// cell size, and so the cell statistics that it carries. A plain value.

#ifndef VOXLOC_SERVER_MAPS_MAP_BUILD_H_
#define VOXLOC_SERVER_MAPS_MAP_BUILD_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/engine/profile.h"
#include "core/engine/profile_set.h"
#include "core/map/cells.h"

namespace voxloc::server {

struct MapBuildRequest {
  std::vector<std::string> profiles;  // empty: all that the server has
  double cell_size_m = 0.0;           // of each profile's first stage; 0: the profile's own
};

struct MapBuild {
  MapBuildRequest request;  // profiles filled in
  std::vector<CellStatistics> statistics;
};

// To and from the stored JSON text. DataLoss: the text cannot be parsed.
[[nodiscard]] std::string ToText(const MapBuildRequest& request);
[[nodiscard]] absl::StatusOr<MapBuildRequest> MapBuildRequestFromText(const std::string& text);

// InvalidArgument: a profile that is not in `profiles`, a cell size that is not within 0.1 to 100
// m.
[[nodiscard]] absl::StatusOr<MapBuild> MakeMapBuild(const MapBuildRequest& request,
                                                    const ProfileSet& profiles);

// The profile with its cell sizes as the map has them. FailedPrecondition: the map was built
// without the profile.
[[nodiscard]] absl::StatusOr<Profile> ProfileOnMap(Profile profile, const MapBuild& build,
                                                   absl::string_view map);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_MAP_BUILD_H_
