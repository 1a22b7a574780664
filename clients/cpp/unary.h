// SPDX-License-Identifier: Apache-2.0
//
// One request, one answer, and the deadline of a call. Included by this library's sources only.

#ifndef VOXLOC_CLIENTS_CPP_UNARY_H_
#define VOXLOC_CLIENTS_CPP_UNARY_H_

#include <grpcpp/client_context.h>

#include <chrono>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/cpp/channel_impl.h"
#include "clients/cpp/rpc_status.h"

namespace voxloc::client {

// `timeout_s` from now; 0 or less: none.
inline void SetDeadline(grpc::ClientContext* context, double timeout_s) {
  if (timeout_s <= 0.0) return;
  context->set_deadline(std::chrono::system_clock::now() +
                        std::chrono::microseconds(static_cast<int64_t>(timeout_s * 1e6)));
}

// Calls `method` of the stub, with a deadline `timeout_s` from now; 0 or less: none.
template <typename Response, typename Stub, typename Request>
absl::StatusOr<Response> CallUnary(const Channel& channel, absl::string_view call, Stub* stub,
                                   grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                                const Request&, Response*),
                                   const Request& request, double timeout_s) {
  grpc::ClientContext context;
  SetDeadline(&context, timeout_s);
  Response response;
  const grpc::Status status = (stub->*method)(&context, request, &response);
  if (!status.ok()) return ToAbslStatus(status, channel.server(), call);
  return response;
}

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_UNARY_H_
