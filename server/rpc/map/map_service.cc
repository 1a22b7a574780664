// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/map/map_service.h"

#include <grpcpp/grpcpp.h>

#include "server/rpc/map/delete_map.h"
#include "server/rpc/map/get_map.h"
#include "server/rpc/map/list_maps.h"
#include "server/rpc/map/list_tiles.h"
#include "server/rpc/map/update_map_tiles.h"
#include "server/rpc/support/unary.h"
#include "voxloc/v1/map_service.grpc.pb.h"

namespace voxloc::server {
namespace {

class MapService : public v1::MapService::CallbackService {
 public:
  explicit MapService(Runtime& runtime) : runtime_(runtime) {}

  grpc::ServerBidiReactor<v1::UpdateMapTilesRequest, v1::UpdateMapTilesResponse>* UpdateMapTiles(
      grpc::CallbackServerContext* context) override {
    return StartUpdateMapTiles(runtime_, *context);
  }

  grpc::ServerUnaryReactor* GetMap(grpc::CallbackServerContext* context,
                                   const v1::GetMapRequest* request,
                                   v1::GetMapResponse* response) override {
    return ServeUnary(runtime_, RpcMethod::kGetMap, *context, server::GetMap, request, response);
  }

  grpc::ServerUnaryReactor* ListMaps(grpc::CallbackServerContext* context,
                                     const v1::ListMapsRequest* request,
                                     v1::ListMapsResponse* response) override {
    return ServeUnary(runtime_, RpcMethod::kListMaps, *context, server::ListMaps, request,
                      response);
  }

  grpc::ServerUnaryReactor* DeleteMap(grpc::CallbackServerContext* context,
                                      const v1::DeleteMapRequest* request,
                                      v1::DeleteMapResponse* response) override {
    return ServeUnary(runtime_, RpcMethod::kDeleteMap, *context, server::DeleteMap, request,
                      response);
  }

  grpc::ServerUnaryReactor* ListTiles(grpc::CallbackServerContext* context,
                                      const v1::ListTilesRequest* request,
                                      v1::ListTilesResponse* response) override {
    return ServeUnary(runtime_, RpcMethod::kListTiles, *context, server::ListTiles, request,
                      response);
  }

  grpc::ServerWriteReactor<v1::GetTilesResponse>* GetTiles(
      grpc::CallbackServerContext* /*context*/, const v1::GetTilesRequest* /*request*/) override {
    return RefuseStream<v1::GetTilesResponse>(runtime_, RpcMethod::kGetTiles, "GetTiles");
  }

  grpc::ServerWriteReactor<v1::GetCellsResponse>* GetCells(
      grpc::CallbackServerContext* /*context*/, const v1::GetCellsRequest* /*request*/) override {
    return RefuseStream<v1::GetCellsResponse>(runtime_, RpcMethod::kGetCells, "GetCells");
  }

  grpc::ServerWriteReactor<v1::WatchMapResponse>* WatchMap(
      grpc::CallbackServerContext* /*context*/, const v1::WatchMapRequest* /*request*/) override {
    return RefuseStream<v1::WatchMapResponse>(runtime_, RpcMethod::kWatchMap, "WatchMap");
  }

 private:
  Runtime& runtime_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeMapService(Runtime& runtime) {
  return std::make_unique<MapService>(runtime);
}

}  // namespace voxloc::server
