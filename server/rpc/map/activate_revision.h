// SPDX-License-Identifier: Apache-2.0
//
// MapService.ActivateRevision.

#ifndef VOXLOC_SERVER_RPC_MAP_ACTIVATE_REVISION_H_
#define VOXLOC_SERVER_RPC_MAP_ACTIVATE_REVISION_H_

#include "absl/status/status.h"
#include "server/runtime/runtime.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::server {

// On the mapping queue.
[[nodiscard]] absl::Status ActivateRevision(Runtime& runtime,
                                            const v1::ActivateRevisionRequest& request,
                                            v1::ActivateRevisionResponse& response);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_MAP_ACTIVATE_REVISION_H_
