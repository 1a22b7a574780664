// SPDX-License-Identifier: Apache-2.0
//
// How much memory maps may take, and whose it is.

#ifndef VOXLOC_SERVER_MAPS_MAP_MEMORY_H_
#define VOXLOC_SERVER_MAPS_MAP_MEMORY_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "core/engine/engine.h"
#include "server/config/config.h"

namespace voxloc::server {

enum class MapMemory { kHost, kDevice };

// Where an engine of this name keeps maps.
[[nodiscard]] MapMemory MapMemoryOf(absl::string_view engine_name);

// Limits::max_map_memory_bytes or, where that is 0, three quarters of the engine's memory, and of
// what the process may use of the machine's for an engine without memory of its own: the rest is
// for scans, searches, and a map that is composed while its predecessor is in use.
[[nodiscard]] uint64_t MapMemoryBytes(const Limits& limits, const EngineInfo& engine);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_MAP_MEMORY_H_
