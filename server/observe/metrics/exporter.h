// SPDX-License-Identifier: Apache-2.0
//
// Metrics, and what server, engine, maps and process report about themselves when a scrape comes,
// as text for Prometheus. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_EXPORTER_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_EXPORTER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "server/observe/metrics/metrics.h"
#include "server/observe/server_lifecycle.h"

namespace voxloc::server {

// A map that has an active revision.
struct ServedMap {
  std::string name;
  uint64_t revision = 0;  // the active one
  int64_t committed_unix_ns = 0;
};

// What the server reports when a scrape comes.
struct MetricsSample {
  const Metrics& metrics;
  const Engine& engine;
  const std::vector<uint32_t>& ordinals;  // see DevicesOf
  int64_t started_unix_ns;                // of the process
  std::vector<ServedMap> maps;            // the series of a map end with it
  ServerState state;
  bool ready;
  uint64_t sessions_notified;  // to leave, since the start
  double drain_remaining_s;    // until the remaining streams are ended; 0: no drain, or over
};

// In Prometheus's text format 0.0.4.
inline constexpr char kMetricsContentType[] = "text/plain; version=0.0.4; charset=utf-8";
[[nodiscard]] std::string MetricsText(const MetricsSample& sample);

// The engine, or the devices that it spreads its work over, each under the name that clients and
// metrics know it by. `ordinals` are those of its GPUs, in its order:
// they are named "cuda:0" and so on. Without one a device has its engine's name.
[[nodiscard]] std::vector<EngineInfo> DevicesOf(const Engine& engine,
                                                const std::vector<uint32_t>& ordinals);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_EXPORTER_H_
