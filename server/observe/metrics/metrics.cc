// SPDX-License-Identifier: Apache-2.0

#include "server/observe/metrics/metrics.h"

#include <prometheus/registry.h>

#include <cstring>
#include <utility>

namespace voxloc::server {
namespace {

const char* MemoryOf(const char* engine) {
  return std::strcmp(engine, "cpu") == 0 ? "host" : "device";
}

}  // namespace

Metrics::Metrics(const char* engine)
    : Metrics(std::make_shared<prometheus::Registry>(), MemoryOf(engine)) {}

Metrics::Metrics(const std::shared_ptr<prometheus::Registry>& registry, const char* memory)
    : Metrics(registry, Registrar(*registry), memory) {}

Metrics::Metrics(std::shared_ptr<prometheus::Registry> registry, const Registrar& make,
                 const char* memory)
    : RpcGroup(make),
      SessionGroup(make),
      QueueGroup(make),
      ScanGroup(make),
      SearchGroup(make),
      MapGroup(make, memory),
      EngineGroup(make),
      SpanGroup(make),
      SecurityGroup(make),
      registry_(std::move(registry)) {}

Metrics::~Metrics() = default;

}  // namespace voxloc::server
