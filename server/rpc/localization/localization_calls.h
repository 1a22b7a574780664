// SPDX-License-Identifier: Apache-2.0
//
// The methods of LocalizationService, each in a file of its name: one scan without a session, a
// session, a search for one vehicle that reports its progress, and scores of many poses of a scan.
// The runtime must outlive their calls.

#ifndef VOXLOC_SERVER_RPC_LOCALIZATION_LOCALIZATION_CALLS_H_
#define VOXLOC_SERVER_RPC_LOCALIZATION_LOCALIZATION_CALLS_H_

#include <grpcpp/grpcpp.h>

#include "server/localization/scan_parts.h"
#include "server/rpc/support/read_message.h"
#include "server/runtime.h"
#include "voxloc/v1/localization_service.pb.h"

namespace voxloc::server {

// The dependencies of work on scans.
[[nodiscard]] WorkParts WorkPartsOf(Runtime& runtime);
[[nodiscard]] ScanParts ScanPartsOf(Runtime& runtime);

// Request and response must live until the call is done, as gRPC's do.
[[nodiscard]] grpc::ServerUnaryReactor* StartAlignScan(Runtime& runtime,
                                                       grpc::CallbackServerContext& context,
                                                       const v1::AlignScanRequest& request,
                                                       v1::AlignScanResponse& response);

[[nodiscard]] grpc::ServerBidiReactor<ReadMessage<v1::AlignScansRequest>, v1::AlignScansResponse>*
StartAlignScans(Runtime& runtime, grpc::CallbackServerContext& context);

// The request need only live until it returns.
[[nodiscard]] grpc::ServerWriteReactor<v1::EstimateInitialPoseResponse>* StartEstimateInitialPose(
    Runtime& runtime, grpc::CallbackServerContext& context,
    const v1::EstimateInitialPoseRequest& request);

[[nodiscard]] grpc::ServerBidiReactor<ReadMessage<v1::ScorePosesRequest>, v1::ScorePosesResponse>*
StartScorePoses(Runtime& runtime, grpc::CallbackServerContext& context);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_LOCALIZATION_LOCALIZATION_CALLS_H_
