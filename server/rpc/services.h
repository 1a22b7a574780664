// SPDX-License-Identifier: Apache-2.0
//
// The services of gRPC. Thread-safe. The runtime must outlive them and their calls.

#ifndef VOXLOC_SERVER_RPC_SERVICES_H_
#define VOXLOC_SERVER_RPC_SERVICES_H_

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/service_type.h>

#include <memory>

#include "server/localization/scan_parts.h"
#include "server/rpc/support/call_scope.h"
#include "server/runtime.h"
#include "voxloc/v1/localization_service.pb.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::server {

[[nodiscard]] std::unique_ptr<grpc::Service> MakeAdminService(Runtime& runtime);
[[nodiscard]] std::unique_ptr<grpc::Service> MakeLocalizationService(Runtime& runtime);
[[nodiscard]] std::unique_ptr<grpc::Service> MakeMapService(Runtime& runtime);

// grpc.health.v1.Health: the server's health, by service name.
//   ""                                   SERVING while the process answers, whatever else happens
//   "voxloc.v1.AdminService"             the same
//   "voxloc.v1.LocalizationService",
//   "voxloc.v1.MapService"               the server's readiness
//   "voxloc.v1.LocalizationService/MAP"  the readiness of one map; to callers who may not see the
//                                        map, there is no such service
// gRPC's own health service would keep deleted maps, and does not know the caller.
[[nodiscard]] std::unique_ptr<grpc::Service> MakeHealthService(Runtime& runtime);

// The methods of LocalizationService, each in a file of its name: one scan without a session, a
// session, a search for one vehicle that reports its progress, and scores of many poses of a scan.
// The runtime must outlive their calls.

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

// The methods of MapService with streams, each in a file of its name. The runtime must outlive
// their calls; `request` need only live until they return.

[[nodiscard]] grpc::ServerWriteReactor<v1::GetTilesResponse>* StartGetTiles(
    Runtime& runtime, grpc::CallbackServerContext& context, const v1::GetTilesRequest& request);

[[nodiscard]] grpc::ServerWriteReactor<v1::GetCellsResponse>* StartGetCells(
    Runtime& runtime, grpc::CallbackServerContext& context, const v1::GetCellsRequest& request);

[[nodiscard]] grpc::ServerWriteReactor<v1::WatchMapResponse>* StartWatchMap(
    Runtime& runtime, grpc::CallbackServerContext& context, const v1::WatchMapRequest& request);

// One transaction on a map.
[[nodiscard]] grpc::ServerBidiReactor<ReadMessage<v1::UpdateMapTilesRequest>,
                                      v1::UpdateMapTilesResponse>*
StartUpdateMapTiles(Runtime& runtime, grpc::CallbackServerContext& context);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_SERVICES_H_
