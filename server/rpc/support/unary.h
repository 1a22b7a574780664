// SPDX-License-Identifier: Apache-2.0
//
// The answers to RPCs that need no work: short look-ups, served on gRPC's own thread.

#ifndef VOXLOC_SERVER_RPC_SUPPORT_UNARY_H_
#define VOXLOC_SERVER_RPC_SUPPORT_UNARY_H_

#include <grpcpp/grpcpp.h>

#include "server/convert/status.h"
#include "server/observe/logging.h"
#include "server/rpc/support/call_scope.h"
#include "server/rpc/support/serve.h"
#include "server/runtime/runtime.h"

namespace voxloc::server {

// Serves as ServeAdmitted does, and finishes with the status.
template <typename Serve, typename Request, typename Response>
grpc::ServerUnaryReactor* ServeUnary(Runtime& runtime, RpcMethod method,
                                     grpc::CallbackServerContext& context, const Serve& serve,
                                     const Request* request, Response* response) {
  CallScope call(runtime, method, context);
  const LogTrace log_trace(call.trace());
  call.Received(*request);
  const grpc::Status status =
      ToGrpcStatus(ServeAdmitted(runtime, call, serve, *request, *response));
  if (status.ok()) call.Sent(response->ByteSizeLong());
  call.Ending(status);
  grpc::ServerUnaryReactor* const reactor = context.DefaultReactor();
  reactor->Finish(status);
  call.Ended(status);
  return reactor;
}

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_SUPPORT_UNARY_H_
