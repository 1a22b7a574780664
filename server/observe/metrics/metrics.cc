// SPDX-License-Identifier: Apache-2.0

#include "server/observe/metrics/metrics.h"

#include <prometheus/registry.h>

#include <utility>

namespace voxloc::server {
Metrics::Metrics(const std::vector<std::string>& gpus)
    : Metrics(std::make_shared<prometheus::Registry>(), gpus) {}

Metrics::Metrics(const std::shared_ptr<prometheus::Registry>& registry,
                 const std::vector<std::string>& gpus)
    : Metrics(registry, Registrar(*registry), gpus) {}

Metrics::Metrics(std::shared_ptr<prometheus::Registry> registry, const Registrar& make,
                 const std::vector<std::string>& gpus)
    : RpcGroup(make),
      SessionGroup(make),
      QueueGroup(make),
      ScanGroup(make),
      SearchGroup(make),
      MapGroup(make),
      EngineGroup(make, gpus),
      SpanGroup(make),
      SecurityGroup(make),
      CaptureGroup(make),
      registry_(std::move(registry)) {}

Metrics::~Metrics() = default;

}  // namespace voxloc::server
