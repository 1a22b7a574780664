// SPDX-License-Identifier: Apache-2.0
//
// How much memory maps take and may take, and whose it is. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_MAPS_MAP_MEMORY_H_
#define VOXLOC_SERVER_MAPS_MAP_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "core/engine/engine.h"
#include "core/map/map_snapshot.h"
#include "server/config/config.h"

namespace voxloc::server {

enum class MapMemory { kHost, kDevice };

// Where an engine of this name keeps maps.
[[nodiscard]] MapMemory MapMemoryOf(absl::string_view engine_name);

// Limits::max_map_memory_bytes or, where that is 0, three quarters of the engine's memory, and of
// what the process may use of the machine's for an engine without memory of its own: the rest is
// for scans, searches, and a map that is composed while its predecessor is in use.
[[nodiscard]] uint64_t MapMemoryBytes(const Limits& limits, const EngineInfo& engine);

// Bytes of a composed map for each byte of its tiles, as this one has it. Where it has no tiles, or
// is null: 5, above what towns have with both profiles: 0.5 on a CPU, and 3.5 to 4.9 on an H200, by
// the distance of their points (`voxloc_bench build --exchange`).
[[nodiscard]] double ComposedShare(const MapSnapshot* snapshot);

// Of a resident tile, with its part of a map.
[[nodiscard]] size_t BytesInMap(const ResidentTile& tile, double composed_share);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_MAP_MEMORY_H_
