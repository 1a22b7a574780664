// SPDX-License-Identifier: Apache-2.0
//
// EngineCollector: what an engine says about itself, asked when a scrape comes. The engine must
// outlive it. Thread-safe.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_ENGINE_COLLECTOR_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_ENGINE_COLLECTOR_H_

#include <prometheus/collectable.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "core/engine/engine.h"

namespace voxloc::server {

class EngineCollector : public prometheus::Collectable {
 public:
  // `ordinals`: see DevicesOf.
  EngineCollector(const Engine& engine, std::vector<uint32_t> ordinals)
      : engine_(engine), ordinals_(std::move(ordinals)) {}
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const Engine& engine_;
  const std::vector<uint32_t> ordinals_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_ENGINE_COLLECTOR_H_
