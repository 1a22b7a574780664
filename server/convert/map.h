// SPDX-License-Identifier: Apache-2.0
//
// Maps on the wire. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_CONVERT_MAP_H_
#define VOXLOC_SERVER_CONVERT_MAP_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/convert/pose.h"
#include "server/maps/fit/tile_fits.h"
#include "server/maps/map_build.h"
#include "server/maps/resident_maps.h"
#include "server/maps/store/map_store.h"
#include "voxloc/v1/map.pb.h"
#include "voxloc/v1/map_service.pb.h"
#include "voxloc/v1/session.pb.h"

namespace voxloc::server {

[[nodiscard]] MapBuildRequest MapBuildRequestFromProto(const v1::MapOptions& options);
void MapOptionsToProto(const MapBuild& build, v1::MapOptions& proto);

void MapInfoToProto(const MapView& view, v1::MapInfo& proto);

// Without `fit`.
void TileInfoToProto(const std::string& tile_id, const MapTile& tile, v1::TileInfo& proto);
void TileFitToProto(const TileFitRecord& record, v1::TileFit& proto);

// Names of the vehicles that try a revision, in the request's field `name`. InvalidArgument: too
// many, empty, or too long.
[[nodiscard]] absl::StatusOr<std::vector<std::string>> CanaryFromProto(
    const google::protobuf::RepeatedPtrField<std::string>& vehicles, absl::string_view name);

// The region of a request that may have one.
template <typename Request>
absl::StatusOr<std::optional<FilterOptions::Box>> RegionFromProto(const Request& request) {
  if (!request.has_region()) return std::nullopt;
  auto box = BoxFromProto(request.region(), "region");
  if (!box.ok()) return box.status();
  return *box;
}

// Whether bounds with a point in them and a box have a point in common.
[[nodiscard]] bool Touches(const Bounds& bounds, const FilterOptions::Box& box);

void LastPoseToProto(const LastPose& pose, int64_t now_unix_ns, v1::LastPose& proto);

// `active`: the map's active revision.
void RevisionToProto(const StoredRevision& revision, uint64_t active, v1::MapRevision& proto);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_MAP_H_
