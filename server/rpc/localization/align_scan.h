// SPDX-License-Identifier: Apache-2.0
//
// LocalizationService.AlignScan: one scan, without a session.

#ifndef VOXLOC_SERVER_RPC_LOCALIZATION_ALIGN_SCAN_H_
#define VOXLOC_SERVER_RPC_LOCALIZATION_ALIGN_SCAN_H_

#include <grpcpp/grpcpp.h>

#include "server/runtime/runtime.h"
#include "server/scan/scan_parts.h"
#include "voxloc/v1/localization_service.pb.h"

namespace voxloc::server {

// What scans use of the server.
[[nodiscard]] WorkParts WorkPartsOf(Runtime& runtime);
[[nodiscard]] ScanParts ScanPartsOf(Runtime& runtime);

// Request and response must live until the call is done, as gRPC's do.
[[nodiscard]] grpc::ServerUnaryReactor* StartAlignScan(Runtime& runtime,
                                                       grpc::CallbackServerContext& context,
                                                       const v1::AlignScanRequest& request,
                                                       v1::AlignScanResponse& response);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_LOCALIZATION_ALIGN_SCAN_H_
