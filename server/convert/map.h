// SPDX-License-Identifier: Apache-2.0
//
// Maps on the wire. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_CONVERT_MAP_H_
#define VOXLOC_SERVER_CONVERT_MAP_H_

#include "server/maps/map_build.h"
#include "server/maps/resident_maps.h"
#include "voxloc/v1/map.pb.h"

namespace voxloc::server {

[[nodiscard]] MapBuildRequest MapBuildRequestFromProto(const v1::MapOptions& options);
void MapOptionsToProto(const MapBuild& build, v1::MapOptions& proto);

void MapInfoToProto(const MapView& view, v1::MapInfo& proto);

void TileInfoToProto(const MapView& view, const std::string& tile_id, const MapTile& tile,
                     v1::TileInfo& proto);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_MAP_H_
