// SPDX-License-Identifier: Apache-2.0
//
// MapService.SetCanary.

#ifndef VOXLOC_SERVER_RPC_MAP_SET_CANARY_H_
#define VOXLOC_SERVER_RPC_MAP_SET_CANARY_H_

#include "absl/status/status.h"
#include "server/runtime/runtime.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::server {

// On the mapping queue.
[[nodiscard]] absl::Status SetCanary(Runtime& runtime, const v1::SetCanaryRequest& request,
                                     v1::SetCanaryResponse& response);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_MAP_SET_CANARY_H_
