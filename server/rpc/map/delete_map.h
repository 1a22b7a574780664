// SPDX-License-Identifier: Apache-2.0
//
// MapService.DeleteMap: withdraws a map. Sessions on it stay open.

#ifndef VOXLOC_SERVER_RPC_MAP_DELETE_MAP_H_
#define VOXLOC_SERVER_RPC_MAP_DELETE_MAP_H_

#include "absl/status/status.h"
#include "server/runtime/runtime.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::server {

// On the mapping queue.
[[nodiscard]] absl::Status DeleteMap(Runtime& runtime, const v1::DeleteMapRequest& request,
                                     v1::DeleteMapResponse& response);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_MAP_DELETE_MAP_H_
