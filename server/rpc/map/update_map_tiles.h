// SPDX-License-Identifier: Apache-2.0
//
// MapService.UpdateMapTiles: one transaction on a map.

#ifndef VOXLOC_SERVER_RPC_MAP_UPDATE_MAP_TILES_H_
#define VOXLOC_SERVER_RPC_MAP_UPDATE_MAP_TILES_H_

#include <grpcpp/grpcpp.h>

#include "server/rpc/support/read_message.h"
#include "server/runtime/runtime.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::server {

[[nodiscard]] grpc::ServerBidiReactor<ReadMessage<v1::UpdateMapTilesRequest>,
                                      v1::UpdateMapTilesResponse>*
StartUpdateMapTiles(Runtime& runtime, grpc::CallbackServerContext& context);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_MAP_UPDATE_MAP_TILES_H_
