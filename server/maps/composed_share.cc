// SPDX-License-Identifier: Apache-2.0

#include "server/maps/composed_share.h"

namespace voxloc::server {
namespace {

constexpr double kUnknownShare = 5.0;

}  // namespace

double ComposedShare(const MapSnapshot* snapshot) {
  const size_t tiles = snapshot == nullptr ? 0 : snapshot->tiles.MemoryBytes();
  if (tiles == 0) return kUnknownShare;
  return static_cast<double>(snapshot->resident->MemoryBytes()) / static_cast<double>(tiles);
}

size_t BytesInMap(const ResidentTile& tile, double composed_share) {
  return static_cast<size_t>((1.0 + composed_share) * static_cast<double>(tile.MemoryBytes()));
}

}  // namespace voxloc::server
