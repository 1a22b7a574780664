// SPDX-License-Identifier: Apache-2.0
//
// The RPCs ListCaptures and GetCapture: what the server has captured of scans that went badly.
// Thread-safe.

#ifndef VOXLOC_SERVER_RPC_ADMIN_CAPTURES_H_
#define VOXLOC_SERVER_RPC_ADMIN_CAPTURES_H_

#include "absl/status/status.h"
#include "server/runtime/runtime.h"
#include "server/security/call_access.h"
#include "voxloc/v1/admin_service.pb.h"

namespace voxloc::server {

// Of the maps that the caller may use.
[[nodiscard]] absl::Status ListCaptures(const Runtime& runtime, const CallAccess& access,
                                        const v1::ListCapturesRequest& request,
                                        v1::ListCapturesResponse& response);

// Reads a file. A capture of a map that the caller may not use is NotFound, as one that there is
// not.
[[nodiscard]] absl::Status GetCapture(const Runtime& runtime, const CallAccess& access,
                                      const v1::GetCaptureRequest& request,
                                      v1::GetCaptureResponse& response);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_ADMIN_CAPTURES_H_
