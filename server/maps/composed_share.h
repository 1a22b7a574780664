// SPDX-License-Identifier: Apache-2.0
//
// How much memory a tile takes in a map that is composed of it. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_MAPS_COMPOSED_SHARE_H_
#define VOXLOC_SERVER_MAPS_COMPOSED_SHARE_H_

#include <cstddef>

#include "core/map/map_snapshot.h"

namespace voxloc::server {

// Bytes of a composed map for each byte of its tiles, as this one has it. Where it has no tiles, or
// is null: 5, above what towns have with both profiles: 0.5 on a CPU, and 3.5 to 4.9 on an H200, by
// the distance of their points (`voxloc_bench build --exchange`).
[[nodiscard]] double ComposedShare(const MapSnapshot* snapshot);

// Of a resident tile, with its part of a map.
[[nodiscard]] size_t BytesInMap(const ResidentTile& tile, double composed_share);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_COMPOSED_SHARE_H_
