// SPDX-License-Identifier: Apache-2.0
//
// MetricsExporter: Metrics, and what server, engine, maps and process report about themselves when
// a scrape comes, as text for Prometheus. What it is given must outlive it, and so must what the
// functions refer to. Thread-safe.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_EXPORTER_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_EXPORTER_H_

#include <cstdint>
#include <functional>
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

// The server now.
struct ServerSample {
  ServerState state = ServerState::kStarting;
  bool ready = false;
  uint64_t sessions_notified = 0;  // to leave, since the start
  double drain_remaining_s = 0.0;  // until the remaining streams are ended; 0: no drain, or over
};

class MetricsExporter {
 public:
  // Called from any thread. The series of a map end with it; there are at most as many as there may
  // be maps.
  using ListServedMaps = std::function<std::vector<ServedMap>()>;
  using SampleServer = std::function<ServerSample()>;

  // `ordinals`: see DevicesOf.
  MetricsExporter(const Metrics& metrics, const Engine& engine, std::vector<uint32_t> ordinals,
                  ListServedMaps list_maps, SampleServer sample_server);

  // In Prometheus's text format 0.0.4, as things are now.
  [[nodiscard]] std::string Text() const;
  static constexpr const char* kContentType = "text/plain; version=0.0.4; charset=utf-8";

 private:
  const Metrics& metrics_;
  const Engine& engine_;
  const std::vector<uint32_t> ordinals_;
  const ListServedMaps list_maps_;
  const SampleServer sample_server_;
  const double started_unix_s_;
};

// The devices of an engine, each under the name that clients and metrics know it by. Thread-safe:
// no shared state.

// The engine, or what it spreads its work over. `ordinals` are those of its GPUs, in its order:
// they are named "cuda:0" and so on. Without one a device has its engine's name.
[[nodiscard]] std::vector<EngineInfo> DevicesOf(const Engine& engine,
                                                const std::vector<uint32_t>& ordinals);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_EXPORTER_H_
