// SPDX-License-Identifier: Apache-2.0
//
// The services of gRPC. Thread-safe. The runtime must outlive them and their calls.

#ifndef VOXLOC_SERVER_RPC_SERVICES_H_
#define VOXLOC_SERVER_RPC_SERVICES_H_

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/service_type.h>

#include <memory>

#include "server/localization/scan_inputs.h"
#include "server/rpc/support/method_handler.h"
#include "server/runtime.h"

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

// The dependencies of work on scans.
[[nodiscard]] WorkParts WorkPartsOf(Runtime& runtime);
[[nodiscard]] ScanParts ScanPartsOf(Runtime& runtime);

// Handlers of the methods with streams, each in a file of its method's name. The runtime must
// outlive their calls.
[[nodiscard]] MethodHandler* MakeAlignScansHandler(Runtime& runtime, RpcMethod method);
[[nodiscard]] MethodHandler* MakeEstimateInitialPoseHandler(Runtime& runtime, RpcMethod method);
[[nodiscard]] MethodHandler* MakeScorePosesHandler(Runtime& runtime, RpcMethod method);
[[nodiscard]] MethodHandler* MakeGetTilesHandler(Runtime& runtime, RpcMethod method);
[[nodiscard]] MethodHandler* MakeGetCellsHandler(Runtime& runtime, RpcMethod method);
[[nodiscard]] MethodHandler* MakeWatchMapHandler(Runtime& runtime, RpcMethod method);
[[nodiscard]] MethodHandler* MakeUpdateMapTilesHandler(Runtime& runtime, RpcMethod method);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_SERVICES_H_
