// SPDX-License-Identifier: Apache-2.0

#include "server/maps/map_memory.h"

#include "core/host/memory.h"
#include "server/config/host_resources.h"

namespace voxloc::server {

MapMemory MapMemoryOf(absl::string_view engine_name) {
  return engine_name == "cpu" ? MapMemory::kHost : MapMemory::kDevice;
}

uint64_t MapMemoryBytes(const Limits& limits, const EngineInfo& engine) {
  if (limits.max_map_memory_bytes != 0) return limits.max_map_memory_bytes;
  const uint64_t total =
      engine.memory_bytes_total != 0 ? engine.memory_bytes_total : UsableMemoryBytes();
  return total / kMapMemoryDenominator * kMapMemoryNumerator;
}

}  // namespace voxloc::server
