// SPDX-License-Identifier: Apache-2.0

#include "cuda/map/tile_change.h"

#include "absl/container/flat_hash_set.h"

namespace voxloc::cuda {
namespace {

using Tiles = absl::Span<const std::shared_ptr<const CudaTile>>;

// Appends the tiles that are among `others` to `kept`, the rest to `rest`.
void Divide(Tiles tiles, Tiles others, std::vector<const CudaTile*>& kept,
            std::vector<const CudaTile*>& rest) {
  absl::flat_hash_set<const CudaTile*> known;
  known.reserve(others.size());
  for (const auto& tile : others) known.insert(tile.get());
  for (const auto& tile : tiles) {
    (known.contains(tile.get()) ? kept : rest).push_back(tile.get());
  }
}

}  // namespace

TileChange CompareTiles(Tiles before, Tiles now) {
  TileChange change;
  std::vector<const CudaTile*> stayed;
  std::vector<const CudaTile*> stay;
  Divide(before, now, stayed, change.tiles);
  Divide(now, before, stay, change.tiles);
  // A tile that is there more than once is found here too, unless it is as often as before.
  change.incremental = !stay.empty() && stayed == stay && change.tiles.size() <= now.size();
  return change;
}

}  // namespace voxloc::cuda
