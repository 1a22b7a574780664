// SPDX-License-Identifier: Apache-2.0
//
// gRPC's handler of a method that answers a malformed request with InvalidArgument; gRPC itself
// would answer UNIMPLEMENTED, which clients take for an old server. Made of the classes of
// gRPC's generated code; gRPC owns each handler.

#ifndef VOXLOC_SERVER_RPC_SUPPORT_METHOD_HANDLER_H_
#define VOXLOC_SERVER_RPC_SUPPORT_METHOD_HANDLER_H_

#include <google/protobuf/descriptor.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/errors/error_details.h"
#include "server/rpc/support/call_scope.h"
#include "server/runtime.h"

namespace voxloc::server {

using grpc::internal::MethodHandler;

class ParsedHandler : public MethodHandler {
 public:
  // `refuse` serves the method as `serve` does, but without its request.
  ParsedHandler(std::unique_ptr<MethodHandler> serve, std::unique_ptr<MethodHandler> refuse)
      : serve_(std::move(serve)), refuse_(std::move(refuse)) {}

  void* Deserialize(grpc_call* call, grpc_byte_buffer* request, grpc::Status* status,
                    void** handler_data) override {
    return serve_->Deserialize(call, request, status, handler_data);
  }

  void RunHandler(const HandlerParameter& parameter) override {
    if (parameter.status.ok()) {
      serve_->RunHandler(parameter);
      return;
    }
    refuse_->RunHandler({parameter.call, parameter.server_context, parameter.request,
                         grpc::Status::OK, parameter.internal_data, parameter.call_requester});
  }

 private:
  const std::unique_ptr<MethodHandler> serve_;
  const std::unique_ptr<MethodHandler> refuse_;
};

// What a call is refused with.
using Refusal = std::function<grpc::Status(grpc::CallbackServerContext& context)>;

// Rejects a malformed request, with the usual access check, metrics and audit.
[[nodiscard]] inline Refusal RejectMalformed(Runtime& runtime, RpcMethod method) {
  return [&runtime, method](grpc::CallbackServerContext& context) {
    CallScope call(runtime, method, context);
    absl::Status why = call.access().Check();
    if (why.ok()) why = MalformedMessage();
    const grpc::Status status = ToGrpcStatus(why);
    call.AuditEnd(status);
    call.RecordEnd(status);
    return status;
  };
}

// Of a method with one answer. `serve`: (grpc::CallbackServerContext*, const Request*, Response*).
template <typename Request, typename Response, typename Serve>
[[nodiscard]] MethodHandler* MakeUnaryHandler(const Serve& serve, const Refusal& refusal) {
  using Handler = grpc::internal::CallbackUnaryHandler<Request, Response>;
  const auto refuse = [refusal](grpc::CallbackServerContext* context, const Request* /*request*/,
                                Response* /*response*/) {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(refusal(*context));
    return reactor;
  };
  return new ParsedHandler(std::make_unique<Handler>(serve), std::make_unique<Handler>(refuse));
}

template <typename Response>
class RefusedStream : public grpc::ServerWriteReactor<Response> {
 public:
  explicit RefusedStream(const grpc::Status& status) { this->Finish(status); }
  void OnDone() override { delete this; }
};

// Of a method with a stream of answers. `serve`: (grpc::CallbackServerContext*, const Request*).
template <typename Request, typename Response, typename Serve>
[[nodiscard]] MethodHandler* MakeWriteHandler(const Serve& serve, const Refusal& refusal) {
  using Handler = grpc::internal::CallbackServerStreamingHandler<Request, Response>;
  const auto refuse = [refusal](grpc::CallbackServerContext* context, const Request* /*request*/) {
    return new RefusedStream<Response>(refusal(*context));
  };
  return new ParsedHandler(std::make_unique<Handler>(serve), std::make_unique<Handler>(refuse));
}

// Its place in its service.
[[nodiscard]] inline int IndexOf(RpcMethod method) {
  const RpcName& name = NameOf(method);
  return google::protobuf::DescriptorPool::generated_pool()
      ->FindMethodByName(absl::StrCat(name.service, ".", name.method))
      ->index();
}

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_SUPPORT_METHOD_HANDLER_H_
