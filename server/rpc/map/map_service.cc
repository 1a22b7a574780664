// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/map/map_service.h"

#include <grpcpp/grpcpp.h>

#include "server/rpc/map/activate_revision.h"
#include "server/rpc/map/delete_map.h"
#include "server/rpc/map/get_cells.h"
#include "server/rpc/map/get_map.h"
#include "server/rpc/map/get_tiles.h"
#include "server/rpc/map/list_maps.h"
#include "server/rpc/map/list_revisions.h"
#include "server/rpc/map/list_tiles.h"
#include "server/rpc/map/set_canary.h"
#include "server/rpc/map/undelete_map.h"
#include "server/rpc/map/update_map_tiles.h"
#include "server/rpc/map/watch_map.h"
#include "server/rpc/map/withdraw_revision.h"
#include "server/rpc/support/parsed_handler.h"
#include "server/rpc/support/queued_unary.h"
#include "server/rpc/support/unary.h"
#include "voxloc/v1/map_service.grpc.pb.h"

namespace voxloc::server {
namespace {

class MapService : public v1::MapService::CallbackService {
 public:
  explicit MapService(Runtime& runtime) : runtime_(runtime) {
    const auto parsed = [this](RpcMethod method, auto member) {
      MarkMethodCallback(IndexOf(method),
                         MakeParsedHandler(*this, member, RefusalOfMalformed(runtime_, method)));
    };
    parsed(RpcMethod::kGetMap, &MapService::GetMap);
    parsed(RpcMethod::kListMaps, &MapService::ListMaps);
    parsed(RpcMethod::kDeleteMap, &MapService::DeleteMap);
    parsed(RpcMethod::kListTiles, &MapService::ListTiles);
    parsed(RpcMethod::kGetTiles, &MapService::GetTiles);
    parsed(RpcMethod::kUndeleteMap, &MapService::UndeleteMap);
    parsed(RpcMethod::kGetCells, &MapService::GetCells);
    parsed(RpcMethod::kWatchMap, &MapService::WatchMap);
    parsed(RpcMethod::kListRevisions, &MapService::ListRevisions);
    parsed(RpcMethod::kActivateRevision, &MapService::ActivateRevision);
    parsed(RpcMethod::kWithdrawRevision, &MapService::WithdrawRevision);
    parsed(RpcMethod::kSetCanary, &MapService::SetCanary);
    MarkMethodCallback(IndexOf(RpcMethod::kUpdateMapTiles),
                       MakeStreamHandler(runtime_, &StartUpdateMapTiles));
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
    return ServeOnMapping(runtime_, RpcMethod::kDeleteMap, *context, server::DeleteMap, request,
                          response);
  }

  grpc::ServerUnaryReactor* UndeleteMap(grpc::CallbackServerContext* context,
                                        const v1::UndeleteMapRequest* request,
                                        v1::UndeleteMapResponse* response) override {
    return ServeOnMapping(runtime_, RpcMethod::kUndeleteMap, *context, server::UndeleteMap, request,
                          response);
  }

  grpc::ServerUnaryReactor* ListTiles(grpc::CallbackServerContext* context,
                                      const v1::ListTilesRequest* request,
                                      v1::ListTilesResponse* response) override {
    if (request->revision() == 0) {
      return ServeUnary(runtime_, RpcMethod::kListTiles, *context, server::ListTiles, request,
                        response);
    }
    return ServeOnMapping(runtime_, RpcMethod::kListTiles, *context, server::ListTiles, request,
                          response);
  }

  grpc::ServerWriteReactor<v1::GetTilesResponse>* GetTiles(
      grpc::CallbackServerContext* context, const v1::GetTilesRequest* request) override {
    return StartGetTiles(runtime_, *context, *request);
  }

  grpc::ServerWriteReactor<v1::GetCellsResponse>* GetCells(
      grpc::CallbackServerContext* context, const v1::GetCellsRequest* request) override {
    return StartGetCells(runtime_, *context, *request);
  }

  grpc::ServerWriteReactor<v1::WatchMapResponse>* WatchMap(
      grpc::CallbackServerContext* context, const v1::WatchMapRequest* request) override {
    return StartWatchMap(runtime_, *context, *request);
  }

  grpc::ServerUnaryReactor* ListRevisions(grpc::CallbackServerContext* context,
                                          const v1::ListRevisionsRequest* request,
                                          v1::ListRevisionsResponse* response) override {
    return ServeOnMapping(runtime_, RpcMethod::kListRevisions, *context, server::ListRevisions,
                          request, response);
  }

  grpc::ServerUnaryReactor* ActivateRevision(grpc::CallbackServerContext* context,
                                             const v1::ActivateRevisionRequest* request,
                                             v1::ActivateRevisionResponse* response) override {
    return ServeOnMapping(runtime_, RpcMethod::kActivateRevision, *context,
                          server::ActivateRevision, request, response);
  }

  grpc::ServerUnaryReactor* WithdrawRevision(grpc::CallbackServerContext* context,
                                             const v1::WithdrawRevisionRequest* request,
                                             v1::WithdrawRevisionResponse* response) override {
    return ServeOnMapping(runtime_, RpcMethod::kWithdrawRevision, *context,
                          server::WithdrawRevision, request, response);
  }

  grpc::ServerUnaryReactor* SetCanary(grpc::CallbackServerContext* context,
                                      const v1::SetCanaryRequest* request,
                                      v1::SetCanaryResponse* response) override {
    return ServeOnMapping(runtime_, RpcMethod::kSetCanary, *context, server::SetCanary, request,
                          response);
  }

 private:
  Runtime& runtime_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeMapService(Runtime& runtime) {
  return std::make_unique<MapService>(runtime);
}

}  // namespace voxloc::server
