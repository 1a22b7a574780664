// SPDX-License-Identifier: Apache-2.0
//
// MapService.WatchMap.

#ifndef VOXLOC_SERVER_RPC_MAP_WATCH_MAP_H_
#define VOXLOC_SERVER_RPC_MAP_WATCH_MAP_H_

#include <grpcpp/grpcpp.h>

#include "server/runtime/runtime.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::server {

[[nodiscard]] grpc::ServerWriteReactor<v1::WatchMapResponse>* StartWatchMap(
    Runtime& runtime, grpc::CallbackServerContext& context, const v1::WatchMapRequest& request);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_MAP_WATCH_MAP_H_
