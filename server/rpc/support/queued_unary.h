// SPDX-License-Identifier: Apache-2.0
//
// RPCs with one answer whose work does not belong on gRPC's threads: it is done on the mapping
// queue, where all work on maps is done in turn.

#ifndef VOXLOC_SERVER_RPC_SUPPORT_QUEUED_UNARY_H_
#define VOXLOC_SERVER_RPC_SUPPORT_QUEUED_UNARY_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "server/convert/status.h"
#include "server/rpc/support/call_scope.h"
#include "server/runtime/runtime.h"

namespace voxloc::server {

// Finishes the call when it is destroyed, whether or not its work was done.
class QueuedUnary {
 public:
  QueuedUnary(Runtime& runtime, RpcMethod method, grpc::CallbackServerContext& context)
      : call_(runtime, method), reactor_(context.DefaultReactor()) {}
  QueuedUnary(const QueuedUnary&) = delete;
  QueuedUnary& operator=(const QueuedUnary&) = delete;
  ~QueuedUnary() {
    reactor_->Finish(status_);
    call_.Ended(status_);
  }

  void SetStatus(const absl::Status& status) { status_ = ToGrpcStatus(status); }
  [[nodiscard]] grpc::ServerUnaryReactor* reactor() const { return reactor_; }

 private:
  const CallScope call_;
  grpc::ServerUnaryReactor* const reactor_;
  grpc::Status status_ = grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server is stopping");
};

// Calls `serve(runtime, *request, *response)` on the mapping queue and finishes with the status
// that it returns. gRPC's messages live that long.
template <typename Serve, typename Request, typename Response>
grpc::ServerUnaryReactor* ServeOnMapping(Runtime& runtime, RpcMethod method,
                                         grpc::CallbackServerContext& context, Serve* serve,
                                         const Request* request, Response* response) {
  auto call = std::make_shared<QueuedUnary>(runtime, method, context);
  grpc::ServerUnaryReactor* const reactor = call->reactor();
  const bool posted = runtime.mapping.Post([&runtime, call, serve, request, response] {
    call->SetStatus(serve(runtime, *request, *response));
  });
  if (!posted) call->SetStatus(absl::ResourceExhaustedError("too much map work waits"));
  return reactor;
}

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_SUPPORT_QUEUED_UNARY_H_
