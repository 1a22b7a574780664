// SPDX-License-Identifier: Apache-2.0
//
// MapService.GetMap: describes a map.

#ifndef VOXLOC_SERVER_RPC_MAP_GET_MAP_H_
#define VOXLOC_SERVER_RPC_MAP_GET_MAP_H_

#include "absl/status/status.h"
#include "server/runtime/runtime.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::server {

[[nodiscard]] absl::Status GetMap(const Runtime& runtime, const v1::GetMapRequest& request,
                                  v1::GetMapResponse& response);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_MAP_GET_MAP_H_
