// SPDX-License-Identifier: Apache-2.0
//
// EngineCollector: what an engine says about itself, asked when a scrape comes. The engine must
// outlive it. Thread-safe.

#ifndef VOXLOC_SERVER_METRICS_ENGINE_H_
#define VOXLOC_SERVER_METRICS_ENGINE_H_

#include <prometheus/collectable.h>

#include <vector>

#include "core/engine/engine.h"

namespace voxloc::server {

class EngineCollector : public prometheus::Collectable {
 public:
  explicit EngineCollector(const Engine& engine) : engine_(engine) {}
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const Engine& engine_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_METRICS_ENGINE_H_
