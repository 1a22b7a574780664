// SPDX-License-Identifier: Apache-2.0

#include "server/observe/metrics/metrics.h"

namespace voxloc::server {
namespace {

constexpr std::array<const char*, kAlignmentStatuses> kStatusNames = {
    "UNSPECIFIED", "OK",         "LOW_SCORE",  "NOT_CONVERGED", "DEGENERATE",     "AMBIGUOUS",
    "LOW_OVERLAP", "OUT_OF_MAP", "NO_MAP",     "NO_PRIOR",      "NOT_ACTIVE",     "STALE",
    "DEADLINE",    "SUPERSEDED", "OVERLOADED", "INVALID_INPUT", "LOW_CONFIDENCE", "ENGINE_FAULT"};

}  // namespace

Metrics::Metrics(const std::vector<std::string>& gpus) {
  for (size_t i = 0; i < kRpcMethods; ++i) {
    rpcs_[i] = AddRpc(NameOf(static_cast<RpcMethod>(i)));
  }
  for (size_t i = 0; i < kAlignmentStatuses; ++i) {
    results[i] =
        AddCounter({"voxloc_align_result_total", "Replies to scans, by AlignmentStatus.", "status"},
                   kStatusNames[i]);
  }
  for (const std::string& gpu : gpus) {
    const auto stage = [&](const char* name) {
      return AddHistogram(
          {"voxloc_device_stage_duration_seconds",
           "Time in one stage of a launch of alignments on a GPU, by its own clock: upload with "
           "the packing for it, kernel, download of what the kernel does not write to the host's "
           "memory by itself. Of every 16th batch, and of batches with a scan of a sampled trace; "
           "absent for the CPU engine.",
           "device", "stage"},
          DeviceBuckets(), gpu, name);
    };
    device_stages.push_back({stage("upload"), stage("kernel"), stage("download")});
  }
}

RpcMetrics Metrics::AddRpc(const RpcName& rpc) {
  RpcMetrics metrics;
  metrics.started =
      AddCounter({"voxloc_rpc_started_total", "RPCs that began.", "method"}, rpc.method);
  for (size_t code = 0; code < kStatusCodes; ++code) {
    metrics.handled[code] = AddCounter(
        {"voxloc_rpc_handled_total", "RPCs that ended, by status code.", "method", "code"},
        rpc.method, NameOfCode(static_cast<int>(code)));
  }
  metrics.in_flight =
      AddGauge({"voxloc_rpc_in_flight", "RPCs that have not ended.", "method"}, rpc.method);
  metrics.duration_s = AddHistogram(
      {"voxloc_rpc_duration_seconds", "Time from the beginning of an RPC to its end.", "method"},
      CallBuckets(), rpc.method);
  metrics.received_bytes =
      AddCounter({"voxloc_rpc_received_bytes_total",
                  "Bytes of the messages received, without framing.", "method"},
                 rpc.method);
  metrics.sent_bytes =
      AddCounter({"voxloc_rpc_sent_bytes_total",
                  "Bytes of the messages handed over for sending, without framing.", "method"},
                 rpc.method);
  if (!rpc.streams) return metrics;
  metrics.received_messages = AddCounter(
      {"voxloc_stream_messages_received_total", "Messages received on streams.", "method"},
      rpc.method);
  metrics.sent_messages = AddCounter({"voxloc_stream_messages_sent_total",
                                      "Messages handed over for sending on streams.", "method"},
                                     rpc.method);
  return metrics;
}

}  // namespace voxloc::server
