// SPDX-License-Identifier: Apache-2.0

#include "server/observe/metrics/engine_metrics.h"

#include "server/observe/metrics/buckets.h"

namespace voxloc::server {
namespace {

constexpr MetricName kFallback = {"voxloc_engine_fallback",
                                  "1: the engine is not the one that was requested."};
constexpr MetricName kTakeovers = {
    "voxloc_engine_takeovers_total",
    "Times that an engine which stood by took over from one that failed permanently."};
constexpr MetricName kFailures = {
    "voxloc_engine_failures_total",
    "Requests that failed in a call of the engine: while it still computes (fault), after it has "
    "failed permanently (lost), for lack of memory (memory).",
    "kind"};
constexpr MetricName kDeviceStage = {
    "voxloc_device_stage_duration_seconds",
    "Time in one stage of a launch of alignments on a GPU, by its own clock: upload with the "
    "packing for it, kernel, download of what the kernel does not write to the host's memory by "
    "itself. Of every 16th batch, and of batches with a scan of a sampled trace; absent for the "
    "CPU engine."};

}  // namespace

EngineGroup::EngineGroup(const Registrar& make, const std::vector<std::string>& devices)
    : engine_fallback(make.MakeGauge(kFallback)),
      engine_takeovers(make.MakeCounter(kTakeovers)),
      engine_faults(make.CounterOf(kFailures, "fault")),
      engine_lost(make.CounterOf(kFailures, "lost")),
      engine_no_memory(make.CounterOf(kFailures, "memory")) {
  for (const std::string& device : devices) {
    const auto stage = [&](const char* name) {
      return make.MakeHistogram(kDeviceStage, DeviceBuckets(),
                                {{"device", device}, {"stage", name}});
    };
    device_stages.push_back({stage("upload"), stage("kernel"), stage("download")});
  }
}

}  // namespace voxloc::server
