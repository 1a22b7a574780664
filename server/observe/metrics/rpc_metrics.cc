// SPDX-License-Identifier: Apache-2.0

#include "server/observe/metrics/rpc_metrics.h"

#include "server/observe/metrics/buckets.h"

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

constexpr MetricName kStarted = {"voxloc_rpc_started_total", "RPCs that began.", "method"};
constexpr MetricName kHandled = {"voxloc_rpc_handled_total", "RPCs that ended, by status code."};
constexpr MetricName kInFlight = {"voxloc_rpc_in_flight", "RPCs that have not ended.", "method"};
constexpr MetricName kRpcDuration = {"voxloc_rpc_duration_seconds",
                                     "Time from the beginning of an RPC to its end.", "method"};
constexpr MetricName kReceivedBytes = {"voxloc_rpc_received_bytes_total",
                                       "Bytes of the messages received, without framing.",
                                       "method"};
constexpr MetricName kSentBytes = {"voxloc_rpc_sent_bytes_total",
                                   "Bytes of the messages handed over for sending, without "
                                   "framing.",
                                   "method"};
constexpr MetricName kReceivedMessages = {"voxloc_stream_messages_received_total",
                                          "Messages received on streams.", "method"};
constexpr MetricName kSentMessages = {"voxloc_stream_messages_sent_total",
                                      "Messages handed over for sending on streams.", "method"};

RpcMetrics MakeRpc(const Registrar& make, const RpcName& rpc) {
  RpcMetrics metrics;
  metrics.started = make.CounterOf(kStarted, rpc.method);
  metrics.in_flight = make.GaugeOf(kInFlight, rpc.method);
  metrics.duration_s = make.HistogramOf(kRpcDuration, CallBuckets(), rpc.method);
  metrics.received_bytes = make.CounterOf(kReceivedBytes, rpc.method);
  metrics.sent_bytes = make.CounterOf(kSentBytes, rpc.method);
  for (size_t code = 0; code < kStatusCodes; ++code) {
    metrics.handled[code] =
        make.MakeCounter(kHandled, {{"method", rpc.method}, {"code", kCodeNames[code]}});
  }
  if (rpc.streams) {
    metrics.received_messages = make.CounterOf(kReceivedMessages, rpc.method);
    metrics.sent_messages = make.CounterOf(kSentMessages, rpc.method);
  }
  return metrics;
}

}  // namespace

const RpcName& NameOf(RpcMethod method) { return kRpcNames[static_cast<size_t>(method)]; }

const char* NameOfCode(int code) {
  return code >= 0 && code < static_cast<int>(kStatusCodes) ? kCodeNames[static_cast<size_t>(code)]
                                                            : "UNKNOWN";
}

RpcGroup::RpcGroup(const Registrar& make) {
  for (size_t i = 0; i < kRpcMethods; ++i) rpcs[i] = MakeRpc(make, kRpcNames[i]);
}

}  // namespace voxloc::server
