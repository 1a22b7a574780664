// SPDX-License-Identifier: Apache-2.0

#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/output/map_text.h"
#include "clients/cli/output/message_json.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/terminal.h"
#include "clients/cpp/error_details.h"
#include "clients/cpp/map_client.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

// The flags of the commands on one map; each command takes some of them.
struct MapCommandFlags {
  ServerFlags server;
  std::string map;
  uint64_t revision = 0;
  size_t worst = 0;  // tiles
  std::string region;
  bool yes = false;
  bool force = false;
};

absl::StatusOr<ExitCode> ListMaps(const ServerFlags& flags) {
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(flags));
  VOXLOC_ASSIGN_OR_RETURN(const std::vector<v1::MapInfo> maps,
                          client::MapClient(channel).List(flags.timeout_s));
  return Report(flags.json, maps.empty() ? "no maps\n" : MapTableText(maps),
                {{"maps", ListJson(maps, &MapJson)}});
}

void AddListCommand(CLI::App* parent, Work* chosen) {
  const auto [command, flags] =
      AddCommand(parent, chosen, &ListMaps, "list", "List the maps of a server",
                 "Example:\n  voxloc map list --server localhost:50051");
  AddServerFlags(command, flags);
}

absl::StatusOr<ExitCode> DescribeMap(const MapCommandFlags& options) {
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(options.server));
  const client::MapClient maps(channel);
  VOXLOC_ASSIGN_OR_RETURN(const v1::MapInfo map, maps.Get(options.map, options.server.timeout_s));
  if (options.server.prints_text()) std::fputs(MapDetailText(map).c_str(), stdout);
  std::string more;
  Json json = MapJson(map);
  if (options.worst > 0) {
    v1::ListTilesRequest request;
    request.set_map(options.map);
    VOXLOC_ASSIGN_OR_RETURN(const v1::ListTilesResponse tiles,
                            maps.ListTiles(request, options.server.timeout_s));
    const std::vector<v1::TileInfo> worst = WorstTiles(tiles, options.worst);
    more = absl::StrCat("\n", WorstTilesText(worst));
    json["worst_tiles"] = MessagesJson(worst);
  }
  return Report(options.server.json, more, json);
}

void AddDescribeCommand(CLI::App* parent, Work* chosen) {
  const auto [command, options] =
      AddCommand(parent, chosen, &DescribeMap, "info", "Describe one map",
                 R"(Examples:
  voxloc map info --server localhost:50051 --map town
  voxloc map info --map town --worst 20)");
  AddMapFlag(command, &options->map, "Describe this map")->required();
  AddDefaulted(command, "--worst", options->worst, "N",
               "Also list this many tiles that seem to have changed the most since they were "
               "mapped, by the scans that were compared with them; 0: none");
  AddServerFlags(command, &options->server);
}

// A map can be deleted that cannot be loaded, or has staged revisions only.
bool ExistsWithoutInfo(const absl::Status& status) {
  const std::string reason = client::ReasonOf(status);
  return reason == "MAP_NOT_LOADED" || reason == "MAP_LOADING" || reason == "MAP_NOT_ACTIVE";
}

absl::StatusOr<ExitCode> DropMap(const MapCommandFlags& options) {
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(options.server));
  const client::MapClient client(channel);
  uint64_t revision = options.revision;
  if (!options.yes) {
    const absl::StatusOr<v1::MapInfo> info = client.Get(options.map, options.server.timeout_s);
    std::string question;
    if (info.ok()) {
      // The one that is asked about, whatever is committed meanwhile.
      if (revision == 0) revision = info->revision();
      question =
          absl::StrFormat("Delete map %s (revision %d, %d tiles, %d points) from %s?", options.map,
                          info->revision(), info->tiles(), info->points(), channel.server());
    } else if (ExistsWithoutInfo(info.status())) {
      question = absl::StrFormat("Delete map %s (%s)?", options.map, info.status().message());
    } else {
      return info.status();
    }
    switch (ConfirmOnTerminal(question, options.yes)) {
      case Confirmation::kYes:
        break;
      case Confirmation::kNo:
        std::fputs("voxloc: nothing was deleted\n", stderr);
        return ExitCode::kFailed;
      case Confirmation::kNotInteractive:
        std::fputs("voxloc: --yes must be given where standard input is no terminal\n", stderr);
        return ExitCode::kUsage;
    }
  }
  const absl::StatusOr<uint64_t> deleted =
      client.Drop(options.map, revision, options.server.timeout_s,
                  /*unless_in_use=*/!options.force);
  if (client::ReasonOf(deleted.status()) == "MAP_IN_USE") {
    return absl::Status(deleted.status().code(), absl::StrCat(deleted.status().message(),
                                                              "; --force deletes it all the same"));
  }
  if (!deleted.ok()) return deleted.status();
  return Report(
      options.server.json,
      absl::StrFormat(
          "map %s is deleted; its last revision was %d. For a day, `voxloc map undrop --map %s` "
          "takes it back\n",
          options.map, *deleted, options.map),
      {{"name", options.map}, {"revision", *deleted}});
}

void AddDropCommand(CLI::App* parent, Work* chosen) {
  const auto [command, options] = AddCommand(
      parent, chosen, &DropMap, "drop", "Delete a map from a server",
      R"(Asks first, and refuses while sessions of the server use the map. With --force they stay
open, and their scans are answered NO_MAP. For a day, voxloc map undrop takes it back.

Example:
  voxloc map drop --server localhost:50051 --map town)");
  AddMapFlag(command, &options->map, "Delete this map")->required();
  AddDefaulted(command, "--revision", options->revision, "N",
               "Delete the map only at this revision; 0: any revision");
  command->add_flag("--yes", options->yes, "Do not ask");
  command->add_flag("--force", options->force, "Delete the map also while sessions use it");
  AddServerFlags(command, &options->server);
}

absl::StatusOr<ExitCode> UndropMap(const MapCommandFlags& options) {
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(options.server));
  VOXLOC_ASSIGN_OR_RETURN(const v1::MapInfo map,
                          client::MapClient(channel).Undrop(options.map, options.server.timeout_s));
  return Report(options.server.json,
                absl::StrFormat("map %s is in use again, at revision %d, as soon as it is loaded\n",
                                options.map, map.revision()),
                MapJson(map));
}

void AddUndropCommand(CLI::App* parent, Work* chosen) {
  const auto [command, options] = AddCommand(
      parent, chosen, &UndropMap, "undrop", "Take the deletion of a map back",
      R"(The map that was deleted last under this name is in use again, with its revisions. A
server remembers deleted maps for a day.

Example:
  voxloc map undrop --server localhost:50051 --map town)");
  AddMapFlag(command, &options->map, "Take this map back")->required();
  options->server.timeout_s = 120.0;
  AddServerFlags(command, &options->server);
}

std::string TilesText(const v1::ListTilesResponse& tiles) {
  TextTable table(absl::StrCat("tile|>points|>from|>to|>revision|>crc32c|", kFitColumns));
  const auto corner = [](const v1::TileInfo& tile, const v1::Vector3& at) {
    return tile.has_bounds() ? absl::StrFormat("%.1f %.1f %.1f", at.x(), at.y(), at.z()) : "-";
  };
  for (const v1::TileInfo& tile : tiles.tiles()) {
    std::vector<std::string> cells = {tile.tile_id(),
                                      GroupDigits(tile.points()),
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

absl::StatusOr<ExitCode> ListTilesOf(const MapCommandFlags& options) {
  v1::ListTilesRequest request;
  request.set_map(options.map);
  request.set_revision(options.revision);
  if (!options.region.empty()) {
    VOXLOC_TRY(ParseBox(options.region, request.mutable_region()));
  }
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(options.server));
  VOXLOC_ASSIGN_OR_RETURN(const v1::ListTilesResponse tiles,
                          client::MapClient(channel).ListTiles(request, options.server.timeout_s));
  return Report(options.server.json, TilesText(tiles),
                {{"name", options.map},
                 {"revision", tiles.map_revision()},
                 {"tiles", MessagesJson(tiles.tiles())}});
}

void AddTilesCommand(CLI::App* parent, Work* chosen) {
  const auto [command, options] = AddCommand(
      parent, chosen, &ListTilesOf, "tiles", "List the tiles of a map",
      "The revision of a tile is that of the map in which its content last changed. The columns "
      "from change on say how the scans of vehicles fitted it; - where none was compared.\n\n"
      "Examples:\n"
      "  voxloc map tiles --map town\n"
      "  voxloc map tiles --map town --revision 12\n"
      "  voxloc map tiles --map town --region 0,0,-10,50,50,10 --json -");
  AddMapFlag(command, &options->map, "List the tiles of this map")->required();
  AddDefaulted(
      command, "--revision", options->revision, "N",
      "List the tiles of this revision, one that voxloc map history lists; 0: the one in use");
  AddBoxFlag(command, "--region",
             "List only tiles that touch this box, given by its lower and its upper corner, metres",
             &options->region);
  AddServerFlags(command, &options->server);
}

}  // namespace

void AddMapCommands(CLI::App* parent, Work* chosen) {
  AddListCommand(parent, chosen);
  AddDescribeCommand(parent, chosen);
  AddDropCommand(parent, chosen);
  AddUndropCommand(parent, chosen);
  AddTilesCommand(parent, chosen);
}

}  // namespace voxloc::cli
