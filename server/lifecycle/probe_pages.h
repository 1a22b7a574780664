// SPDX-License-Identifier: Apache-2.0
//
// The pages that kubelet, load balancers and Prometheus request. Thread-safe.

#ifndef VOXLOC_SERVER_LIFECYCLE_PROBE_PAGES_H_
#define VOXLOC_SERVER_LIFECYCLE_PROBE_PAGES_H_

#include "server/lifecycle/readiness.h"
#include "server/network/http_listener.h"
#include "server/observe/metrics/exporter.h"

namespace voxloc::server {

// Quick ones: /livez, /readyz, /readyz/maps/NAME: 200, or 503 with the reason. 404: no such page,
// no such map. A slow one: /metrics, since the engine may take its time to report its state. Both
// arguments must outlive the pages.
[[nodiscard]] HttpPages MakeProbePages(Readiness& readiness, const MetricsExporter& metrics);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LIFECYCLE_PROBE_PAGES_H_
