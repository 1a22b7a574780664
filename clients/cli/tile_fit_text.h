// SPDX-License-Identifier: Apache-2.0
//
// How well scans fitted the tiles of a map, as it is shown to people.

#ifndef VOXLOC_CLIENTS_CLI_TILE_FIT_TEXT_H_
#define VOXLOC_CLIENTS_CLI_TILE_FIT_TEXT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "clients/cli/text_table.h"
#include "voxloc/v1/map.pb.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::cli {

// Of the tiles that scans were compared with, at most `most` that seem to have changed the most,
// the worst first.
[[nodiscard]] std::vector<v1::TileInfo> WorstTiles(const v1::ListTilesResponse& tiles, size_t most);

// One line a tile.
[[nodiscard]] std::string WorstTilesText(const std::vector<v1::TileInfo>& tiles);

// The columns of a table of tiles that show their fit, and a tile's cells in them: "-" where no
// scan was compared with it.
constexpr char kFitColumns[] = ">change|>seen through|>unexplained|>residual|>scans|last used";
void AppendFitCells(const v1::TileInfo& tile, std::vector<std::string>& cells);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_TILE_FIT_TEXT_H_
