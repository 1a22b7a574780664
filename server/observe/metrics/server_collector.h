// SPDX-License-Identifier: Apache-2.0
//
// ServerCollector: what the server is doing, asked for when a scrape comes. Thread-safe.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_SERVER_COLLECTOR_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_SERVER_COLLECTOR_H_

#include <prometheus/collectable.h>

#include <utility>
#include <vector>

#include "server/observe/metrics/server_sample.h"

namespace voxloc::server {

class ServerCollector : public prometheus::Collectable {
 public:
  explicit ServerCollector(SampleServer sample) : sample_(std::move(sample)) {}
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const SampleServer sample_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_SERVER_COLLECTOR_H_
