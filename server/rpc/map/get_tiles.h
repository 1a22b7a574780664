// SPDX-License-Identifier: Apache-2.0
//
// MapService.GetTiles.

#ifndef VOXLOC_SERVER_RPC_MAP_GET_TILES_H_
#define VOXLOC_SERVER_RPC_MAP_GET_TILES_H_

#include <grpcpp/grpcpp.h>

#include "server/runtime/runtime.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::server {

[[nodiscard]] grpc::ServerWriteReactor<v1::GetTilesResponse>* StartGetTiles(
    Runtime& runtime, grpc::CallbackServerContext& context, const v1::GetTilesRequest& request);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_MAP_GET_TILES_H_
