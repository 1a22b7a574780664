// SPDX-License-Identifier: Apache-2.0
//
// ProbePages: the pages that kubelet, load balancers and Prometheus ask for. Thread-safe.

#ifndef VOXLOC_SERVER_LIFECYCLE_PROBE_PAGES_H_
#define VOXLOC_SERVER_LIFECYCLE_PROBE_PAGES_H_

#include <optional>
#include <string>

#include "server/http/http_message.h"
#include "server/lifecycle/readiness.h"
#include "server/observe/metrics/exporter.h"

namespace voxloc::server {

class ProbePages {
 public:
  // Both must outlive it.
  ProbePages(Readiness& readiness, const MetricsExporter& metrics)
      : readiness_(readiness), metrics_(metrics) {}

  // /livez, /readyz, /readyz/maps/NAME: 200, or 503 with the reason. 404: no such page, no such
  // map. Waits for nothing. nullopt: it is /metrics.
  [[nodiscard]] std::optional<HttpResponse> Get(const std::string& path) const;
  // /metrics. The engine may take its time to say how it is.
  [[nodiscard]] HttpResponse Metrics() const;

 private:
  Readiness& readiness_;
  const MetricsExporter& metrics_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LIFECYCLE_PROBE_PAGES_H_
