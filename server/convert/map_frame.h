// SPDX-License-Identifier: Apache-2.0
//
// Frames of maps on the wire. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_CONVERT_MAP_FRAME_H_
#define VOXLOC_SERVER_CONVERT_MAP_FRAME_H_

#include "absl/status/statusor.h"
#include "server/geodesy/map_frame.h"
#include "voxloc/v1/map.pb.h"

namespace voxloc::server {

// InvalidArgument names the field, what is allowed, and what was given.
[[nodiscard]] absl::StatusOr<MapFrame> MapFrameFromProto(const v1::MapFrame& proto);

void MapFrameToProto(const MapFrame& frame, v1::MapFrame& proto);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_MAP_FRAME_H_
