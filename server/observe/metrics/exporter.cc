// SPDX-License-Identifier: Apache-2.0

#include "server/observe/metrics/exporter.h"

#include <prometheus/exposer.h>
#include <prometheus/registry.h>

#include <exception>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "server/observe/metrics/engine_collector.h"
#include "server/observe/metrics/map_collector.h"
#include "server/observe/metrics/process_collector.h"

namespace voxloc::server {

MetricsExporter::MetricsExporter() = default;
MetricsExporter::~MetricsExporter() = default;

absl::StatusOr<std::unique_ptr<MetricsExporter>> MetricsExporter::Start(
    const std::string& address, const Metrics& metrics, const Engine& engine,
    const std::vector<uint32_t>& ordinals, ListServedMaps maps) {
  auto exporter = absl::WrapUnique(new MetricsExporter());
  exporter->registry_ = metrics.registry();
  exporter->engine_ = std::make_shared<EngineCollector>(engine, ordinals);
  exporter->maps_ = std::make_shared<MapCollector>(std::move(maps));
  exporter->process_ = std::make_shared<ProcessCollector>();
  try {
    exporter->exposer_ = std::make_unique<prometheus::Exposer>(address, 1);
    exporter->exposer_->RegisterCollectable(exporter->registry_);
    exporter->exposer_->RegisterCollectable(exporter->engine_);
    exporter->exposer_->RegisterCollectable(exporter->maps_);
    exporter->exposer_->RegisterCollectable(exporter->process_);
  } catch (const std::exception&) {  // how the library says that it cannot listen
    return absl::AlreadyExistsError(absl::StrCat("cannot serve metrics on ", address,
                                                 ": the address is taken or not this machine's"));
  }
  return exporter;
}

int MetricsExporter::port() const {
  const std::vector<int> ports = exposer_->GetListeningPorts();
  return ports.empty() ? 0 : ports.front();
}

}  // namespace voxloc::server
