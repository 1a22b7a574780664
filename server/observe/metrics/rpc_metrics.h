// SPDX-License-Identifier: Apache-2.0
//
// The RPCs of the server by their names, with the roles that they need, and the metrics of each.
// Thread-safe.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_RPC_METRICS_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_RPC_METRICS_H_

#include <array>
#include <cstddef>

#include "server/observe/metrics/instruments.h"

namespace voxloc::server {

enum class RpcMethod {
  kAlignScans,
  kAlignScan,
  kEstimateInitialPose,
  kScorePoses,
  kUpdateMapTiles,
  kGetMap,
  kListMaps,
  kDeleteMap,
  kUndeleteMap,
  kListTiles,
  kGetTiles,
  kGetCells,
  kWatchMap,
  kListRevisions,
  kActivateRevision,
  kWithdrawRevision,
  kSetCanary,
  kGetServerInfo,
  kListSessions,
  kGetConfig,
  kSetLogLevel,
  kDrain,
  kUndrain,
  kListCaptures,
  kGetCapture,
};
inline constexpr size_t kRpcMethods = 25;
inline constexpr size_t kStatusCodes = 17;  // of gRPC, from OK

struct RpcName {
  const char* service;  // "voxloc.v1.MapService"
  const char* method;   // "GetMap"
  const char* role;     // that its callers need, as the access file names it; "": none
  bool streams = false;
};
[[nodiscard]] const RpcName& NameOf(RpcMethod method);
[[nodiscard]] const char* NameOfCode(int code);  // of gRPC: "OK", "NOT_FOUND"

// Of one method.
struct RpcMetrics {
  Counter started;
  std::array<Counter, kStatusCodes> handled;
  Histogram duration_s;
  Gauge in_flight;
  Counter received_bytes;  // of messages, without gRPC's framing
  Counter sent_bytes;
  Counter received_messages;  // of streams; does nothing for other methods
  Counter sent_messages;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_RPC_METRICS_H_
