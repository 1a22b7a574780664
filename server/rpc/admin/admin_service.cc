// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/admin/admin_service.h"

#include <grpcpp/grpcpp.h>

#include "server/rpc/admin/captures.h"
#include "server/rpc/admin/drain.h"
#include "server/rpc/admin/get_config.h"
#include "server/rpc/admin/get_server_info.h"
#include "server/rpc/admin/list_sessions.h"
#include "server/rpc/admin/set_log_level.h"
#include "server/rpc/support/parsed_handler.h"
#include "server/rpc/support/queued_unary.h"
#include "server/rpc/support/unary.h"
#include "voxloc/v1/admin_service.grpc.pb.h"

namespace voxloc::server {
namespace {

class AdminService : public v1::AdminService::CallbackService {
 public:
  explicit AdminService(Runtime& runtime) : runtime_(runtime) {
    const auto parsed = [this](RpcMethod method, auto member) {
      MarkMethodCallback(IndexOf(method),
                         MakeParsedHandler(*this, member, RefusalOfMalformed(runtime_, method)));
    };
    parsed(RpcMethod::kGetServerInfo, &AdminService::GetServerInfo);
    parsed(RpcMethod::kListSessions, &AdminService::ListSessions);
    parsed(RpcMethod::kGetConfig, &AdminService::GetConfig);
    parsed(RpcMethod::kSetLogLevel, &AdminService::SetLogLevel);
    parsed(RpcMethod::kDrain, &AdminService::Drain);
    parsed(RpcMethod::kUndrain, &AdminService::Undrain);
    parsed(RpcMethod::kListCaptures, &AdminService::ListCaptures);
    parsed(RpcMethod::kGetCapture, &AdminService::GetCapture);
  }

  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* context,
                                          const v1::GetServerInfoRequest* request,
                                          v1::GetServerInfoResponse* response) override {
    return ServeUnary(runtime_, RpcMethod::kGetServerInfo, *context, server::GetServerInfo, request,
                      response);
  }

  grpc::ServerUnaryReactor* ListSessions(grpc::CallbackServerContext* context,
                                         const v1::ListSessionsRequest* request,
                                         v1::ListSessionsResponse* response) override {
    return ServeUnary(runtime_, RpcMethod::kListSessions, *context, server::ListSessions, request,
                      response);
  }

  grpc::ServerUnaryReactor* GetConfig(grpc::CallbackServerContext* context,
                                      const v1::GetConfigRequest* request,
                                      v1::GetConfigResponse* response) override {
    return ServeUnary(runtime_, RpcMethod::kGetConfig, *context, server::GetConfig, request,
                      response);
  }

  grpc::ServerUnaryReactor* SetLogLevel(grpc::CallbackServerContext* context,
                                        const v1::SetLogLevelRequest* request,
                                        v1::SetLogLevelResponse* response) override {
    const auto serve = [](Runtime& runtime, const v1::SetLogLevelRequest& asked,
                          v1::SetLogLevelResponse& answer) {
      return server::SetLogLevel(runtime, asked, answer);
    };
    return ServeUnary(runtime_, RpcMethod::kSetLogLevel, *context, serve, request, response);
  }

  grpc::ServerUnaryReactor* Drain(grpc::CallbackServerContext* context,
                                  const v1::DrainRequest* request,
                                  v1::DrainResponse* response) override {
    return ServeUnary(runtime_, RpcMethod::kDrain, *context, server::BeginDrain, request, response);
  }

  grpc::ServerUnaryReactor* Undrain(grpc::CallbackServerContext* context,
                                    const v1::UndrainRequest* request,
                                    v1::UndrainResponse* response) override {
    return ServeUnary(runtime_, RpcMethod::kUndrain, *context, server::EndDrain, request, response);
  }

  grpc::ServerUnaryReactor* ListCaptures(grpc::CallbackServerContext* context,
                                         const v1::ListCapturesRequest* request,
                                         v1::ListCapturesResponse* response) override {
    return ServeUnary(runtime_, RpcMethod::kListCaptures, *context, server::ListCaptures, request,
                      response);
  }

  grpc::ServerUnaryReactor* GetCapture(grpc::CallbackServerContext* context,
                                       const v1::GetCaptureRequest* request,
                                       v1::GetCaptureResponse* response) override {
    return ServeOnMapping(runtime_, RpcMethod::kGetCapture, *context, server::GetCapture, request,
                          response);
  }

 private:
  Runtime& runtime_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAdminService(Runtime& runtime) {
  return std::make_unique<AdminService>(runtime);
}

}  // namespace voxloc::server
