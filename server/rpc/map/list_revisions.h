// SPDX-License-Identifier: Apache-2.0
//
// MapService.ListRevisions.

#ifndef VOXLOC_SERVER_RPC_MAP_LIST_REVISIONS_H_
#define VOXLOC_SERVER_RPC_MAP_LIST_REVISIONS_H_

#include "absl/status/status.h"
#include "server/runtime/runtime.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::server {

// On the mapping queue.
[[nodiscard]] absl::Status ListRevisions(Runtime& runtime, const v1::ListRevisionsRequest& request,
                                         v1::ListRevisionsResponse& response);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_MAP_LIST_REVISIONS_H_
