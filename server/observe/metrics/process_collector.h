// SPDX-License-Identifier: Apache-2.0
//
// ProcessCollector: what the kernel says about this process, read when a scrape asks for it, and
// what the log has left out. The names are those of Prometheus' own client libraries. Thread-safe.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_PROCESS_COLLECTOR_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_PROCESS_COLLECTOR_H_

#include <prometheus/collectable.h>

#include <vector>

namespace voxloc::server {

class ProcessCollector : public prometheus::Collectable {
 public:
  ProcessCollector();
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const double started_s_;  // since the Unix epoch
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_PROCESS_COLLECTOR_H_
