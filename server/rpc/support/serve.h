// SPDX-License-Identifier: Apache-2.0
//
// One request to its answer, wherever the work is done: the caller's rights, the work, and what the
// audit log tells of it.

#ifndef VOXLOC_SERVER_RPC_SUPPORT_SERVE_H_
#define VOXLOC_SERVER_RPC_SUPPORT_SERVE_H_

#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "server/rpc/support/admit.h"
#include "server/rpc/support/audited_change.h"
#include "server/rpc/support/call_scope.h"

namespace voxloc::server {

// The status of `serve(runtime, request, response)`, or of `serve(runtime, access, request,
// response)` where it asks who calls; of CallAccess, if the caller may not.
template <typename Serve, typename Request, typename Response>
[[nodiscard]] absl::Status ServeAdmitted(Runtime& runtime, CallScope& call, const Serve& serve,
                                         const Request& request, Response& response) {
  absl::Status status = Admit(call, request);
  if (status.ok()) {
    if constexpr (std::is_invocable_v<Serve, Runtime&, const CallAccess&, const Request&,
                                      Response&>) {
      status = serve(runtime, call.access(), request, response);
    } else {
      status = serve(runtime, request, response);
    }
  }
  AuditedChange change = ChangeOf(request, response);
  if (status.ok()) {
    call.Done(change.map, change.revision, std::move(change.detail));
  } else {
    call.Note(change.map, change.revision, std::move(change.detail));
  }
  return status;
}

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_SUPPORT_SERVE_H_
