// SPDX-License-Identifier: Apache-2.0
//
// MapService.UndeleteMap: takes the deletion of a map back.

#ifndef VOXLOC_SERVER_RPC_MAP_UNDELETE_MAP_H_
#define VOXLOC_SERVER_RPC_MAP_UNDELETE_MAP_H_

#include "absl/status/status.h"
#include "server/runtime/runtime.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::server {

// On the mapping queue.
[[nodiscard]] absl::Status UndeleteMap(Runtime& runtime, const v1::UndeleteMapRequest& request,
                                       v1::UndeleteMapResponse& response);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_MAP_UNDELETE_MAP_H_
