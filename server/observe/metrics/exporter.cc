// SPDX-License-Identifier: Apache-2.0

#include "server/observe/metrics/exporter.h"

#include <prometheus/collectable.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <iterator>
#include <utility>

#include "server/observe/metrics/engine_collector.h"
#include "server/observe/metrics/map_collector.h"
#include "server/observe/metrics/process_collector.h"
#include "server/observe/metrics/server_collector.h"

namespace voxloc::server {

MetricsExporter::MetricsExporter(const Metrics& metrics, const Engine& engine,
                                 const std::vector<uint32_t>& ordinals, ListServedMaps maps,
                                 SampleServer server)
    : collectables_({metrics.registry(), std::make_shared<ServerCollector>(std::move(server)),
                     std::make_shared<EngineCollector>(engine, ordinals),
                     std::make_shared<MapCollector>(std::move(maps), metrics.map_results()),
                     std::make_shared<ProcessCollector>()}) {}

MetricsExporter::~MetricsExporter() = default;

std::string MetricsExporter::Text() const {
  std::vector<prometheus::MetricFamily> families;
  for (const std::shared_ptr<prometheus::Collectable>& collectable : collectables_) {
    std::vector<prometheus::MetricFamily> collected = collectable->Collect();
    families.insert(families.end(), std::make_move_iterator(collected.begin()),
                    std::make_move_iterator(collected.end()));
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace voxloc::server
