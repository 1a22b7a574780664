// SPDX-License-Identifier: Apache-2.0
//
// Where a map lies on the earth, as people read it. Pure functions.

#ifndef VOXLOC_CLIENTS_CLI_MAP_FRAME_TEXT_H_
#define VOXLOC_CLIENTS_CLI_MAP_FRAME_TEXT_H_

#include <string>

#include "voxloc/v1/map.pb.h"

namespace voxloc::cli {

// "MGRS, grid 54SUE, heights WGS84"
[[nodiscard]] std::string ProjectorText(const v1::MapProjector& projector);

// "48.1374, 11.5755, 519 m; x axis 0 deg from east"
[[nodiscard]] std::string OriginText(const v1::Wgs84Origin& origin);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_MAP_FRAME_TEXT_H_
