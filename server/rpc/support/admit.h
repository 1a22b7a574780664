// SPDX-License-Identifier: Apache-2.0
//
// Whether a call with one request may go on: its caller, its role, and the map that it names.

#ifndef VOXLOC_SERVER_RPC_SUPPORT_ADMIT_H_
#define VOXLOC_SERVER_RPC_SUPPORT_ADMIT_H_

#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "server/rpc/support/call_scope.h"
#include "voxloc/v1/scan.pb.h"

namespace voxloc::server {

template <typename Request, typename = void>
inline constexpr bool kNamesMap = false;
template <typename Request>
inline constexpr bool kNamesMap<Request, std::void_t<decltype(std::declval<Request>().map())>> =
    true;

// The errors of CallAccess. A request that names no map, or may leave its name out and does, is
// held to what the caller sees by the RPC itself.
template <typename Request>
[[nodiscard]] absl::Status Admit(CallScope& call, const Request& request) {
  if constexpr (kNamesMap<Request>) {
    call.Note(request.map(), 0, "");
    if (!request.map().empty()) return call.access().UseMap(request.map());
  }
  return call.access().Check();
}

// For calls with scans.
[[nodiscard]] inline absl::Status AdmitSetup(CallAccess& access, const v1::ScanSetup& setup) {
  return access.UseMapAs(setup.map(), setup.vehicle());
}

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_SUPPORT_ADMIT_H_
