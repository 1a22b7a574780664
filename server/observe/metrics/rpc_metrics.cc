// SPDX-License-Identifier: Apache-2.0

#include "server/observe/metrics/rpc_metrics.h"

namespace voxloc::server {
namespace {

constexpr const char* kLocalization = "voxloc.v1.LocalizationService";
constexpr const char* kMap = "voxloc.v1.MapService";
constexpr const char* kAdmin = "voxloc.v1.AdminService";

// In the order of RpcMethod.
constexpr std::array<RpcName, kRpcMethods> kRpcNames = {{
    {kLocalization, "AlignScans", "track", true},
    {kLocalization, "AlignScan", "track"},
    {kLocalization, "EstimateInitialPose", "track", true},
    {kLocalization, "ScorePoses", "score", true},
    {kMap, "UpdateMapTiles", "map-write", true},
    {kMap, "GetMap", "map-read"},
    {kMap, "ListMaps", "map-read"},
    {kMap, "DeleteMap", "map-write"},
    {kMap, "UndeleteMap", "map-write"},
    {kMap, "ListTiles", "map-read"},
    {kMap, "GetTiles", "map-read", true},
    {kMap, "GetCells", "map-read", true},
    {kMap, "WatchMap", "map-read", true},
    {kMap, "ListRevisions", "map-read"},
    {kMap, "ActivateRevision", "map-write"},
    {kMap, "WithdrawRevision", "map-write"},
    {kMap, "SetCanary", "map-write"},
    {kAdmin, "GetServerInfo", ""},
    {kAdmin, "ListSessions", "admin"},
    {kAdmin, "GetConfig", "admin"},
    {kAdmin, "SetLogLevel", "admin"},
    {kAdmin, "Drain", "admin"},
    {kAdmin, "Undrain", "admin"},
    {kAdmin, "ListCaptures", "admin"},
    {kAdmin, "GetCapture", "admin"},
}};
static_assert(kRpcNames.back().role != nullptr, "each RpcMethod must have a row");

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
