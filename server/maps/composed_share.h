// SPDX-License-Identifier: Apache-2.0
//
// How much memory a tile takes in a map that is composed of it. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_MAPS_COMPOSED_SHARE_H_
#define VOXLOC_SERVER_MAPS_COMPOSED_SHARE_H_

#include <cstddef>

#include "core/map/map_snapshot.h"

namespace voxloc::server {

// Bytes of a composed map for each byte of its tiles, as this one has it. Where it has no tiles, or
// is null: 4, about what towns have with both profiles on a GPU; on a CPU it is less.
[[nodiscard]] double ComposedShare(const MapSnapshot* snapshot);

// Of a resident tile, with its part of a map.
[[nodiscard]] size_t BytesInMap(const ResidentTile& tile, double composed_share);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_COMPOSED_SHARE_H_
