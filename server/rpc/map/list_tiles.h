// SPDX-License-Identifier: Apache-2.0
//
// MapService.ListTiles: the tiles of a map by id, page by page.

#ifndef VOXLOC_SERVER_RPC_MAP_LIST_TILES_H_
#define VOXLOC_SERVER_RPC_MAP_LIST_TILES_H_

#include "absl/status/status.h"
#include "server/runtime/runtime.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::server {

// On the mapping queue, except for the active revision, which takes no look into the store.
[[nodiscard]] absl::Status ListTiles(Runtime& runtime, const v1::ListTilesRequest& request,
                                     v1::ListTilesResponse& response);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_MAP_LIST_TILES_H_
