// SPDX-License-Identifier: Apache-2.0
//
// Memory use and memory limit of maps, on the host or the device. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_MAPS_MAP_MEMORY_H_
#define VOXLOC_SERVER_MAPS_MAP_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "core/engine/engine.h"
#include "core/map/tile_residency.h"
#include "server/config/config.h"

namespace voxloc::server {

enum class MapMemory { kHost, kDevice };

// Where an engine of this name keeps maps.
[[nodiscard]] MapMemory MapMemoryOf(absl::string_view engine_name);

// Limits::max_map_memory_bytes or, if that is 0, three quarters of the engine's memory (for an
// engine on the host: of the memory that the process may use). The rest is for scans, searches, and
// maps that are composed while their predecessors are in use.
[[nodiscard]] uint64_t MapMemoryBytes(const Limits& limits, const EngineInfo& engine);

// bytes(composed map) / bytes(its tiles) of this snapshot. Without tiles, or if null: 5, an upper
// bound for towns with both profiles (CPU: 0.5; H200: 3.5 to 4.9, depending on the point distance;
// `voxloc_bench build --exchange`).
[[nodiscard]] double ComposedRatio(const MapSnapshot* snapshot);

// Bytes of a resident tile, including its part of the composed map.
[[nodiscard]] size_t BytesInMap(const ResidentTile& tile, double composed_ratio);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_MAP_MEMORY_H_
