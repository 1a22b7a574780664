// SPDX-License-Identifier: Apache-2.0
//
// Unary methods: access check, work and audit. Short look-ups are served on gRPC's own thread,
// longer ones on the mapping queue, which serializes all work on maps.

#ifndef VOXLOC_SERVER_RPC_SUPPORT_UNARY_H_
#define VOXLOC_SERVER_RPC_SUPPORT_UNARY_H_

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/status/try.h"
#include "core/text/number_range.h"
#include "server/errors/error_details.h"
#include "server/observe/logging.h"
#include "server/rpc/support/call_scope.h"
#include "server/rpc/support/method_handler.h"
#include "server/runtime.h"
#include "voxloc/v1/admin_service.pb.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::server {

// The audit record of unary requests: the revision, and what they change. Empty for requests that
// change nothing.
struct AuditedChange {
  uint64_t revision = 0;  // 0: none
  std::string detail;
  std::string map{};  // where the request does not name it
};

template <typename Request, typename Response>
AuditedChange ChangeOf([[maybe_unused]] const Request& request,
                       [[maybe_unused]] const Response& response) {
  if constexpr (std::is_same_v<Request, v1::DeleteMapRequest>) {
    return {response.revision(), "deleted"};
  } else if constexpr (std::is_same_v<Request, v1::UndeleteMapRequest>) {
    return {response.map().revision(), "undeleted"};
  } else if constexpr (std::is_same_v<Request, v1::ActivateRevisionRequest>) {
    return {request.revision(), "activated"};
  } else if constexpr (std::is_same_v<Request, v1::WithdrawRevisionRequest>) {
    return {request.revision(), "withdrawn"};
  } else if constexpr (std::is_same_v<Request, v1::SetCanaryRequest>) {
    return {request.revision(), absl::StrCat("canary vehicles: ", request.vehicles_size())};
  } else if constexpr (std::is_same_v<Request, v1::SetLogLevelRequest>) {
    return {0, absl::StrCat("log level: ", static_cast<int>(request.level()))};
  } else if constexpr (std::is_same_v<Request, v1::DrainRequest>) {
    return {0, absl::StrCat("drain in ", response.remaining_s(), " s: ", request.reason())};
  } else if constexpr (std::is_same_v<Request, v1::UndrainRequest>) {
    return {0, "drain taken back"};
  } else if constexpr (std::is_same_v<Request, v1::GetCaptureRequest>) {
    constexpr size_t kMaxIdBytes = 64;
    const v1::CaptureInfo& info = response.capture().info();
    return {info.map_revision(), absl::StrCat("capture: ", request.id().substr(0, kMaxIdBytes)),
            info.map()};
  } else {
    return {};
  }
}

// What serves a method.
template <typename Request, typename Response>
using UnaryFunction = absl::Status (*)(Runtime&, const CallAccess&, const Request&, Response&);

// Finishes the call when it is destroyed, whether or not its work was done.
struct UnaryCall {
  UnaryCall(Runtime& runtime, RpcMethod method, grpc::CallbackServerContext& context)
      : scope(runtime, method, context), reactor(context.DefaultReactor()) {}
  UnaryCall(const UnaryCall&) = delete;
  UnaryCall& operator=(const UnaryCall&) = delete;
  ~UnaryCall() {
    const grpc::Status end = ToGrpcStatus(status);
    scope.AuditEnd(end);
    reactor->Finish(end);
    scope.RecordEnd(end);
  }

  CallScope scope;
  grpc::ServerUnaryReactor* const reactor;
  absl::Status status = absl::UnavailableError("the server is stopping");
};

// The status of `serve`, or of CallAccess if the caller may not; and a note for the audit log.
template <typename Request, typename Response>
[[nodiscard]] absl::Status ServeAdmitted(Runtime& runtime, CallScope& call,
                                         UnaryFunction<Request, Response> serve,
                                         const Request& request, Response& response) {
  const ScopedLogTrace log_trace(call.trace());
  absl::Status status = Admit(call, request);
  if (status.ok()) status = serve(runtime, call.access(), request, response);
  AuditedChange change = ChangeOf(request, response);
  if (status.ok()) {
    call.AuditSuccess(change.map, change.revision, std::move(change.detail));
    call.Sent(response.ByteSizeLong());
  } else {
    call.SetAudit(change.map, change.revision, std::move(change.detail));
  }
  return status;
}

// `on_mapping`: whether a request is served on the mapping queue; gRPC's messages live until then.
// Access is checked before a request is queued.
template <typename Request, typename Response, typename OnMapping>
[[nodiscard]] MethodHandler* MakeUnaryHandler(Runtime& runtime, RpcMethod method,
                                              UnaryFunction<Request, Response> serve,
                                              const OnMapping& on_mapping) {
  const auto start = [&runtime, method, serve, on_mapping](grpc::CallbackServerContext* context,
                                                           const Request* request,
                                                           Response* response) {
    const auto call = std::make_shared<UnaryCall>(runtime, method, *context);
    call->scope.Received(*request);
    const auto work = [&runtime, call, serve, request, response] {
      call->status = ServeAdmitted(runtime, call->scope, serve, *request, *response);
    };
    if (!on_mapping(*request)) {
      work();
    } else if (absl::Status status = Admit(call->scope, *request); !status.ok()) {
      call->status = std::move(status);
    } else if (!runtime.mapping.Post(work)) {
      call->status = absl::ResourceExhaustedError("too much map work waits");
    }
    return call->reactor;
  };
  return MakeUnaryHandler<Request, Response>(start, RejectMalformed(runtime, method));
}

// What the `page_size` of a list asks for; 0 is the default. InvalidArgument: more than `most`.
[[nodiscard]] inline absl::StatusOr<size_t> PageSize(uint32_t requested, size_t by_default,
                                                     size_t most) {
  VOXLOC_TRY(
      CheckRanges({{"page_size", requested, NumberRange().AtMost(static_cast<double>(most))}}));
  return requested == 0 ? by_default : requested;
}

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_SUPPORT_UNARY_H_
