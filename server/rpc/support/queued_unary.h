// SPDX-License-Identifier: Apache-2.0
//
// RPCs with one answer whose work does not belong on gRPC's threads: it is done on the mapping
// queue, where all work on maps is done in turn.

#ifndef VOXLOC_SERVER_RPC_SUPPORT_QUEUED_UNARY_H_
#define VOXLOC_SERVER_RPC_SUPPORT_QUEUED_UNARY_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "server/convert/status.h"
#include "server/observe/logging.h"
#include "server/rpc/support/call_scope.h"
#include "server/rpc/support/serve.h"
#include "server/runtime/runtime.h"

namespace voxloc::server {

// Finishes the call when it is destroyed, whether or not its work was done.
class QueuedUnary {
 public:
  QueuedUnary(Runtime& runtime, RpcMethod method, grpc::CallbackServerContext& context)
      : call_(runtime, method, context), reactor_(context.DefaultReactor()) {}
  QueuedUnary(const QueuedUnary&) = delete;
  QueuedUnary& operator=(const QueuedUnary&) = delete;
  ~QueuedUnary() {
    call_.Ending(status_);
    reactor_->Finish(status_);
    call_.Ended(status_);
  }

  [[nodiscard]] const CallScope& call() const { return call_; }
  void SetStatus(const absl::Status& status) { status_ = ToGrpcStatus(status); }
  [[nodiscard]] CallScope& call() { return call_; }
  [[nodiscard]] grpc::ServerUnaryReactor* reactor() const { return reactor_; }

 private:
  CallScope call_;
  grpc::ServerUnaryReactor* const reactor_;
  grpc::Status status_ = grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server is stopping");
};

// Serves on the mapping queue as ServeAdmitted does, and finishes with the status. gRPC's messages
// live that long. A caller who may not be served takes no place in the queue.
template <typename Serve, typename Request, typename Response>
grpc::ServerUnaryReactor* ServeOnMapping(Runtime& runtime, RpcMethod method,
                                         grpc::CallbackServerContext& context, Serve* serve,
                                         const Request* request, Response* response) {
  auto call = std::make_shared<QueuedUnary>(runtime, method, context);
  grpc::ServerUnaryReactor* const reactor = call->reactor();
  call->call().Received(*request);
  if (const absl::Status status = Admit(call->call(), *request); !status.ok()) {
    call->SetStatus(status);
    return reactor;
  }
  const bool posted = runtime.mapping.Post([&runtime, call, serve, request, response] {
    const LogTrace log_trace(call->call().trace());
    const absl::Status status = ServeAdmitted(runtime, call->call(), serve, *request, *response);
    if (status.ok()) call->call().Sent(response->ByteSizeLong());
    call->SetStatus(status);
  });
  if (!posted) call->SetStatus(absl::ResourceExhaustedError("too much map work waits"));
  return reactor;
}

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_SUPPORT_QUEUED_UNARY_H_
