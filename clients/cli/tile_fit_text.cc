// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/tile_fit_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace voxloc::cli {

std::vector<v1::TileInfo> WorstTiles(const v1::ListTilesResponse& tiles, size_t most) {
  std::vector<const v1::TileInfo*> known;
  for (const v1::TileInfo& tile : tiles.tiles()) {
    if (tile.has_fit()) known.push_back(&tile);
  }
  std::stable_sort(known.begin(), known.end(), [](const v1::TileInfo* a, const v1::TileInfo* b) {
    return a->fit().change() > b->fit().change();
  });
  std::vector<v1::TileInfo> worst;
  for (size_t i = 0; i < std::min(most, known.size()); ++i) worst.push_back(*known[i]);
  return worst;
}

void AppendFitCells(const v1::TileInfo& tile, std::vector<std::string>& cells) {
  if (!tile.has_fit()) {
    cells.insert(cells.end(), 6, "-");
    return;
  }
  const v1::TileFit& fit = tile.fit();
  cells.push_back(absl::StrFormat("%.2f", fit.change()));
  cells.push_back(absl::StrFormat("%.0f %%", 100.0 * fit.seen_through_ratio()));
  cells.push_back(absl::StrFormat("%.0f %%", 100.0 * fit.unexplained_ratio()));
  cells.push_back(absl::StrFormat("%.3f m", fit.residual_m()));
  cells.push_back(absl::StrFormat("%.1f", fit.scans()));
  cells.push_back(TimeText(fit.last_used_at_ns()));
}

std::string WorstTilesText(const std::vector<v1::TileInfo>& tiles) {
  if (tiles.empty()) return "no scan has been compared with the map's tiles\n";
  TextTable table(absl::StrCat("tile|", kFitColumns));
  for (const v1::TileInfo& tile : tiles) {
    std::vector<std::string> cells = {tile.tile_id()};
    AppendFitCells(tile, cells);
    table.AddRow(std::move(cells));
  }
  return table.Text();
}

}  // namespace voxloc::cli
