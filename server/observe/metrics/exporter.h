// SPDX-License-Identifier: Apache-2.0
//
// MetricsExporter: Metrics, and what server, engine, maps and process say about themselves, as text
// for Prometheus. The engine and what the functions refer to must outlive it. Thread-safe.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_EXPORTER_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_EXPORTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "server/observe/metrics/metrics.h"
#include "server/observe/metrics/served_map.h"
#include "server/observe/metrics/server_sample.h"

namespace prometheus {
class Collectable;
}  // namespace prometheus

namespace voxloc::server {

class MetricsExporter {
 public:
  // `ordinals`: see DevicesOf.
  MetricsExporter(const Metrics& metrics, const Engine& engine,
                  const std::vector<uint32_t>& ordinals, ListServedMaps maps, SampleServer server);
  ~MetricsExporter();

  // In Prometheus's text format 0.0.4, as things are now.
  [[nodiscard]] std::string Text() const;
  static constexpr const char* kContentType = "text/plain; version=0.0.4; charset=utf-8";

 private:
  std::vector<std::shared_ptr<prometheus::Collectable>> collectables_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_EXPORTER_H_
