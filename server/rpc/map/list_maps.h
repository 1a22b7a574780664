// SPDX-License-Identifier: Apache-2.0
//
// MapService.ListMaps: the maps by name, page by page.

#ifndef VOXLOC_SERVER_RPC_MAP_LIST_MAPS_H_
#define VOXLOC_SERVER_RPC_MAP_LIST_MAPS_H_

#include "absl/status/status.h"
#include "server/runtime/runtime.h"
#include "server/security/call_access.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::server {

[[nodiscard]] absl::Status ListMaps(const Runtime& runtime, const CallAccess& access,
                                    const v1::ListMapsRequest& request,
                                    v1::ListMapsResponse& response);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_MAP_LIST_MAPS_H_
