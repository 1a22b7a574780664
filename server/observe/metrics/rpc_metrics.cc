// SPDX-License-Identifier: Apache-2.0

#include "server/observe/metrics/rpc_metrics.h"

namespace voxloc::server {
namespace {

constexpr const char* kLocalization = "voxloc.v1.LocalizationService";
constexpr const char* kMap = "voxloc.v1.MapService";
constexpr const char* kAdmin = "voxloc.v1.AdminService";

// In the order of RpcMethod.
constexpr std::array<RpcName, kRpcMethods> kRpcNames = {{
    {kLocalization, "AlignScans", true},
    {kLocalization, "AlignScan"},
    {kLocalization, "EstimateInitialPose", true},
    {kLocalization, "ScorePoses", true},
    {kMap, "UpdateMapTiles", true},
    {kMap, "GetMap"},
    {kMap, "ListMaps"},
    {kMap, "DeleteMap"},
    {kMap, "UndeleteMap"},
    {kMap, "ListTiles"},
    {kMap, "GetTiles", true},
    {kMap, "GetCells", true},
    {kMap, "WatchMap", true},
    {kMap, "ListRevisions"},
    {kMap, "ActivateRevision"},
    {kMap, "WithdrawRevision"},
    {kMap, "SetCanary"},
    {kAdmin, "GetServerInfo"},
    {kAdmin, "ListSessions"},
    {kAdmin, "GetConfig"},
    {kAdmin, "SetLogLevel"},
    {kAdmin, "Drain"},
    {kAdmin, "Undrain"},
    {kAdmin, "ListCaptures"},
    {kAdmin, "GetCapture"},
}};

constexpr std::array<const char*, kStatusCodes> kCodeNames = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

}  // namespace

const RpcName& NameOf(RpcMethod method) { return kRpcNames[static_cast<size_t>(method)]; }

const char* NameOfCode(int code) {
  return code >= 0 && code < static_cast<int>(kStatusCodes) ? kCodeNames[static_cast<size_t>(code)]
                                                            : "UNKNOWN";
}

}  // namespace voxloc::server
