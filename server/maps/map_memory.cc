// SPDX-License-Identifier: Apache-2.0

#include "server/maps/map_memory.h"

#include "core/host/process_limits.h"
#include "server/config/host_resources.h"

namespace voxloc::server {
namespace {

constexpr double kDefaultComposedRatio = 5.0;

}  // namespace

MapMemory MapMemoryOf(absl::string_view engine_name) {
  return engine_name == "cpu" ? MapMemory::kHost : MapMemory::kDevice;
}

uint64_t MapMemoryBytes(const Limits& limits, const EngineInfo& engine) {
  if (limits.max_map_memory_bytes != 0) return limits.max_map_memory_bytes;
  const uint64_t total =
      engine.memory_bytes_total != 0 ? engine.memory_bytes_total : UsableMemoryBytes();
  return total / kMapMemoryDenominator * kMapMemoryNumerator;
}

double ComposedRatio(const MapSnapshot* snapshot) {
  const size_t tiles = snapshot == nullptr ? 0 : snapshot->tiles.MemoryBytes();
  if (tiles == 0) return kDefaultComposedRatio;
  return static_cast<double>(snapshot->resident->MemoryBytes()) / static_cast<double>(tiles);
}

size_t BytesInMap(const ResidentTile& tile, double composed_ratio) {
  return static_cast<size_t>((1.0 + composed_ratio) * static_cast<double>(tile.MemoryBytes()));
}

}  // namespace voxloc::server
