// SPDX-License-Identifier: Apache-2.0

#include "core/map/tile_change.h"

#include "core/container/flat_table.h"

namespace voxloc {
namespace {

using Tiles = absl::Span<const ResidentTile* const>;

// Appends the tiles that are among `others` to `kept`, the positions of the rest to `rest`.
void Divide(Tiles tiles, Tiles others, std::vector<const ResidentTile*>& kept,
            std::vector<size_t>& rest) {
  FlatTable<const ResidentTile*, bool> known;
  for (const ResidentTile* tile : others) {
    if (known.Find(tile) == nullptr) known.Insert(tile, true);
  }
  for (size_t i = 0; i < tiles.size(); ++i) {
    if (known.Find(tiles[i]) != nullptr) {
      kept.push_back(tiles[i]);
    } else {
      rest.push_back(i);
    }
  }
}

}  // namespace

TileChange CompareTiles(Tiles before, Tiles now) {
  TileChange change;
  std::vector<const ResidentTile*> stayed;
  std::vector<const ResidentTile*> stay;
  Divide(before, now, stayed, change.removed);
  Divide(now, before, stay, change.added);
  // A tile that is there more than once is found here too, unless it is as often as before.
  change.incremental =
      !stay.empty() && stayed == stay && change.removed.size() + change.added.size() <= now.size();
  return change;
}

}  // namespace voxloc
