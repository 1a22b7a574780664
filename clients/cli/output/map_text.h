// SPDX-License-Identifier: Apache-2.0
//
// How maps, their frames on the earth, their revisions, events and tiles are shown. Pure functions.

#ifndef VOXLOC_CLIENTS_CLI_OUTPUT_MAP_TEXT_H_
#define VOXLOC_CLIENTS_CLI_OUTPUT_MAP_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cli/output/output.h"
#include "voxloc/v1/map.pb.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::cli {

// One line a map.
[[nodiscard]] std::string MapTableText(const std::vector<v1::MapInfo>& maps);

// Everything about one map.
[[nodiscard]] std::string MapDetailText(const v1::MapInfo& map);

[[nodiscard]] Json MapJson(const v1::MapInfo& map);

// "MGRS, grid 54SUE, heights WGS84"
[[nodiscard]] std::string ProjectorText(const v1::MapProjector& projector);

// One line a revision.
[[nodiscard]] std::string RevisionTableText(const std::vector<v1::MapRevision>& revisions);

// "active", "staged, tried by 2 vehicles", ...
[[nodiscard]] std::string RevisionStateText(const v1::MapRevision& revision);

// One line: when, what, which map and revision, and which tiles. `now_ns`: nanoseconds since the
// Unix epoch, for events that have no time of their own.
[[nodiscard]] std::string MapEventText(const v1::WatchMapResponse& event, int64_t now_ns);

// The revision that was in use before the one that is. NotFound: there was none, or the server does
// not keep it any more.
[[nodiscard]] absl::StatusOr<uint64_t> PreviousRevision(
    const std::string& map, const std::vector<v1::MapRevision>& revisions);

// At most `max_tiles` tiles that seem to have changed most, the worst first, among those that scans
// were compared with.
[[nodiscard]] std::vector<v1::TileInfo> WorstTiles(const v1::ListTilesResponse& tiles,
                                                   size_t max_tiles);

// One line a tile.
[[nodiscard]] std::string WorstTilesText(const std::vector<v1::TileInfo>& tiles);

// The columns of a table of tiles that show their fit, and a tile's cells in them: "-" where no
// scan was compared with it.
constexpr char kFitColumns[] = ">change|>seen through|>unexplained|>residual|>scans|last used";
void AppendFitCells(const v1::TileInfo& tile, std::vector<std::string>& cells);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_OUTPUT_MAP_TEXT_H_
