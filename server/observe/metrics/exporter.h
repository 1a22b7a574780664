// SPDX-License-Identifier: Apache-2.0
//
// MetricsExporter: serves Metrics, and what engine, maps and process say about themselves, to
// Prometheus at /metrics, from its own thread. The engine must outlive it.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_EXPORTER_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_EXPORTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/engine/engine.h"
#include "server/observe/metrics/metrics.h"
#include "server/observe/metrics/served_map.h"

namespace prometheus {
class Exposer;
}  // namespace prometheus

namespace voxloc::server {

class EngineCollector;
class MapCollector;
class ProcessCollector;

class MetricsExporter {
 public:
  // `address` is ADDR:PORT, port 0 for a free one. AlreadyExists: the address is taken or cannot be
  // listened on. `ordinals`: see DevicesOf.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<MetricsExporter>> Start(
      const std::string& address, const Metrics& metrics, const Engine& engine,
      const std::vector<uint32_t>& ordinals, ListServedMaps maps);
  ~MetricsExporter();

  [[nodiscard]] int port() const;

 private:
  MetricsExporter();

  std::shared_ptr<prometheus::Registry> registry_;
  std::shared_ptr<EngineCollector> engine_;
  std::shared_ptr<MapCollector> maps_;
  std::shared_ptr<ProcessCollector> process_;
  std::unique_ptr<prometheus::Exposer> exposer_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_EXPORTER_H_
