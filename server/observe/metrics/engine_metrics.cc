// SPDX-License-Identifier: Apache-2.0

#include "server/observe/metrics/engine_metrics.h"

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

}  // namespace

EngineGroup::EngineGroup(const Registrar& make)
    : engine_fallback(make.MakeGauge(kFallback)),
      engine_takeovers(make.MakeCounter(kTakeovers)),
      engine_faults(make.CounterOf(kFailures, "fault")),
      engine_lost(make.CounterOf(kFailures, "lost")),
      engine_no_memory(make.CounterOf(kFailures, "memory")) {}

}  // namespace voxloc::server
