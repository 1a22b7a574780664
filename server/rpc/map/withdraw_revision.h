// SPDX-License-Identifier: Apache-2.0
//
// MapService.WithdrawRevision.

#ifndef VOXLOC_SERVER_RPC_MAP_WITHDRAW_REVISION_H_
#define VOXLOC_SERVER_RPC_MAP_WITHDRAW_REVISION_H_

#include "absl/status/status.h"
#include "server/runtime/runtime.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::server {

// On the mapping queue.
[[nodiscard]] absl::Status WithdrawRevision(Runtime& runtime,
                                            const v1::WithdrawRevisionRequest& request,
                                            v1::WithdrawRevisionResponse& response);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_MAP_WITHDRAW_REVISION_H_
