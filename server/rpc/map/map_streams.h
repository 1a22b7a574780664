// SPDX-License-Identifier: Apache-2.0
//
// The methods of MapService with streams, each in a file of its name. The runtime must outlive
// their calls; `request` need only live until they return.

#ifndef VOXLOC_SERVER_RPC_MAP_MAP_STREAMS_H_
#define VOXLOC_SERVER_RPC_MAP_MAP_STREAMS_H_

#include <grpcpp/grpcpp.h>

#include "server/rpc/support/read_message.h"
#include "server/runtime.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::server {

[[nodiscard]] grpc::ServerWriteReactor<v1::GetTilesResponse>* StartGetTiles(
    Runtime& runtime, grpc::CallbackServerContext& context, const v1::GetTilesRequest& request);

[[nodiscard]] grpc::ServerWriteReactor<v1::GetCellsResponse>* StartGetCells(
    Runtime& runtime, grpc::CallbackServerContext& context, const v1::GetCellsRequest& request);

[[nodiscard]] grpc::ServerWriteReactor<v1::WatchMapResponse>* StartWatchMap(
    Runtime& runtime, grpc::CallbackServerContext& context, const v1::WatchMapRequest& request);

// One transaction on a map.
[[nodiscard]] grpc::ServerBidiReactor<ReadMessage<v1::UpdateMapTilesRequest>,
                                      v1::UpdateMapTilesResponse>*
StartUpdateMapTiles(Runtime& runtime, grpc::CallbackServerContext& context);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_MAP_MAP_STREAMS_H_
