// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/commands.h"
#include "clients/cli/message_json.h"
#include "clients/cli/pose_flag.h"
#include "clients/cli/pose_text.h"
#include "clients/cli/server_flags.h"
#include "clients/cli/text_table.h"
#include "clients/cli/tile_fit_text.h"
#include "clients/cpp/map_client.h"
#include "clients/cpp/messages.h"

namespace voxloc::cli {
namespace {

constexpr char kTileRegionNames[] = "X0,Y0,Z0,X1,Y1,Z1";

struct MapTilesFlags {
  ServerFlags server;
  std::string map;
  std::string region;
  uint64_t revision = 0;
};

std::string TilesText(const v1::ListTilesResponse& tiles) {
  TextTable table(absl::StrCat("tile|>points|>from|>to|>revision|>crc32c|", kFitColumns));
  const auto corner = [](const v1::TileInfo& tile, const v1::Vector3& at) {
    return tile.has_bounds() ? absl::StrFormat("%.1f %.1f %.1f", at.x(), at.y(), at.z()) : "-";
  };
  for (const v1::TileInfo& tile : tiles.tiles()) {
    std::vector<std::string> cells = {tile.tile_id(),
                                      Grouped(tile.points()),
                                      corner(tile, tile.bounds().min()),
                                      corner(tile, tile.bounds().max()),
                                      absl::StrCat(tile.revision()),
                                      absl::StrFormat("%08x", tile.crc32c())};
    AppendFitCells(tile, cells);
    table.AddRow(std::move(cells));
  }
  return absl::StrCat("revision ", tiles.map_revision(), ", ", tiles.tiles_size(), " tiles\n",
                      tiles.tiles_size() == 0 ? "" : table.Text());
}

absl::StatusOr<ExitCode> ListTilesOf(const MapTilesFlags& options) {
  v1::ListTilesRequest request;
  request.set_map(options.map);
  request.set_revision(options.revision);
  if (!options.region.empty()) {
    const absl::StatusOr<std::array<double, 6>> box =
        ParseSixNumbers(options.region, kTileRegionNames);
    if (!box.ok()) return box.status();
    client::EncodeVector({(*box)[0], (*box)[1], (*box)[2]},
                         request.mutable_region()->mutable_min());
    client::EncodeVector({(*box)[3], (*box)[4], (*box)[5]},
                         request.mutable_region()->mutable_max());
  }
  absl::StatusOr<client::Channel> channel = Connect(options.server);
  if (!channel.ok()) return channel.status();
  const absl::StatusOr<v1::ListTilesResponse> tiles =
      client::MapClient(*channel).ListTiles(request, options.server.timeout_s);
  if (!tiles.ok()) return tiles.status();
  if (options.server.prints_text()) std::fputs(TilesText(*tiles).c_str(), stdout);
  Json list = Json::array();
  for (const v1::TileInfo& tile : tiles->tiles()) list.push_back(MessageJson(tile));
  const Json result = {{"name", options.map}, {"revision", tiles->map_revision()}, {"tiles", list}};
  if (absl::Status status = WriteJson(options.server.json, result); !status.ok()) return status;
  return ExitCode::kOk;
}

}  // namespace

void AddMapTilesCommand(CLI::App* parent, Work* chosen) {
  auto options = std::make_shared<MapTilesFlags>();
  CLI::App* command = parent->add_subcommand("tiles", "List the tiles of a map");
  command->footer(
      "The revision of a tile is that of the map in which its content last changed. The columns "
      "from change on say how the scans of vehicles fitted it; - where none was compared.\n\n"
      "Examples:\n"
      "  voxloc map tiles --map town\n"
      "  voxloc map tiles --map town --revision 12\n"
      "  voxloc map tiles --map town --region 0,0,-10,50,50,10 --json -");
  command->add_option("--map", options->map, "List the tiles of this map")
      ->type_name("NAME")
      ->required();
  command
      ->add_option("--revision", options->revision,
                   "List the tiles of this revision, one that voxloc map history lists; 0: the one "
                   "in use")
      ->type_name("N")
      ->capture_default_str();
  AddSixNumbersFlag(
      command, "--region", kTileRegionNames,
      "List only tiles that touch this box, given by its lower and its upper corner, metres",
      &options->region);
  AddServerFlags(command, &options->server);
  command->callback([options, chosen] { *chosen = [options] { return ListTilesOf(*options); }; });
}

}  // namespace voxloc::cli
