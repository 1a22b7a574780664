// SPDX-License-Identifier: Apache-2.0

#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/flags/server_flags.h"
#include "clients/cli/map/map_load.h"
#include "clients/cli/output/message_text.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/terminal.h"
#include "clients/cpp/error_details.h"
#include "clients/cpp/map_client.h"
#include "clients/cpp/map_watch.h"
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
  std::string vehicles;  // that try a revision, comma-separated
  CommitFlags commit;
  std::string to;       // a number, or kPrevious
  uint64_t events = 0;  // to watch; 0: without end
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

absl::StatusOr<ExitCode> ShowHistory(const MapCommandFlags& options) {
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(options.server));
  VOXLOC_ASSIGN_OR_RETURN(
      const std::vector<v1::MapRevision> revisions,
      client::MapClient(channel).ListRevisions(options.map, options.server.timeout_s));
  return Report(options.server.json, RevisionTableText(revisions),
                {{"name", options.map}, {"revisions", MessagesJson(revisions)}});
}

void AddHistoryCommand(CLI::App* parent, Work* chosen) {
  const auto [command, options] = AddCommand(
      parent, chosen, &ShowHistory, "history", "List the revisions of a map",
      R"(Lists the revisions that the server keeps, the oldest first, with the revision that each was
made from and how many tiles it has more (+), other (~) and fewer (-) than that one.

Example:
  voxloc map history --map town)");
  AddMapFlag(command, &options->map, "List the revisions of this map")->required();
  AddServerFlags(command, &options->server);
}

constexpr char kPrevious[] = "previous";

std::string ToError(const std::string& to) {
  uint64_t number = 0;
  return to == kPrevious || (absl::SimpleAtoi(to, &number) && number > 0)
             ? ""
             : "must be the number of a revision, or previous (got '" + to + "')";
}

// The revision to go back to: for `previous` the one that was in use before the one that is.
absl::StatusOr<uint64_t> RevisionToTake(const MapCommandFlags& options) {
  uint64_t number = 0;
  if (absl::SimpleAtoi(options.to, &number)) return number;
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(options.server));
  VOXLOC_ASSIGN_OR_RETURN(
      const std::vector<v1::MapRevision> revisions,
      client::MapClient(channel).ListRevisions(options.map, options.server.timeout_s));
  return PreviousRevision(options.map, revisions);
}

absl::StatusOr<ExitCode> RollBack(const MapCommandFlags& options) {
  VOXLOC_ASSIGN_OR_RETURN(const uint64_t to, RevisionToTake(options));
  v1::BeginUpdate begin;
  begin.set_map(options.map);
  begin.set_from_revision(to);
  CommitFlags commit = options.commit;
  if (commit.comment.empty()) commit.comment = absl::StrCat("rollback to revision ", to);
  VOXLOC_ASSIGN_OR_RETURN(const client::UploadResult result,
                          UploadWithProgress(options.server, commit, begin, {}));
  const v1::UpdateCommitted& committed = result.committed;
  const std::string text = absl::StrFormat(
      "map %s, revision %d has the tiles of revision %d: %d changed, %d added, %d removed\n%s",
      options.map, committed.map().revision(), to, committed.tiles_replaced(),
      committed.tiles_added(), committed.tiles_removed(), UploadNotes(result, commit.stages(), 0));
  Json json = UploadJson(result);
  json["to"] = to;
  return Report(options.server.json, text, json);
}

void AddRollbackCommand(CLI::App* parent, Work* chosen) {
  const auto [command, options] = AddCommand(
      parent, chosen, &RollBack, "rollback", "Make an earlier revision of a map the newest",
      R"(Makes a new revision with the tiles of an earlier one. What was committed since is undone,
and stays in the history. No points are sent.

Examples:
  voxloc map rollback --map town --to previous
  voxloc map rollback --map town --to 12
  voxloc map rollback --map town --to 12 --canary bus-7)");
  options->server.timeout_s = 120.0;
  AddMapFlag(command, &options->map, "Roll this map back")->required();
  AddOption(command, "--to", options->to, "REVISION|previous",
            "Take the tiles of this revision, one that voxloc map history lists, or of the "
            "`previous` one, that was in use before")
      ->check(ToError)
      ->required();
  AddCommitFlags(command, &options->commit);
  AddServerFlags(command, &options->server);
}

absl::StatusOr<ExitCode> ActivateRevision(const MapCommandFlags& options) {
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(options.server));
  const absl::StatusOr<v1::MapInfo> map =
      client::MapClient(channel).Activate(options.map, options.revision, options.server.timeout_s);
  if (absl::IsAborted(map.status())) {
    return absl::Status(
        map.status().code(),
        absl::StrCat(map.status().message(), "; voxloc map rollback --map ", options.map, " --to ",
                     options.revision, " makes a new revision of its tiles"));
  }
  if (!map.ok()) return map.status();
  return Report(options.server.json,
                absl::StrFormat("map %s: revision %d is in use\n", options.map, map->revision()),
                MapJson(*map));
}

void AddActivateCommand(CLI::App* parent, Work* chosen) {
  const auto [command, options] = AddCommand(
      parent, chosen, &ActivateRevision, "activate", "Put a staged revision of a map in use",
      R"(All vehicles use the revision from their next scan on. It must have been made from the one
in use: activating it would otherwise undo what was committed since.

Example:
  voxloc map activate --map town --revision 13)");
  AddMapFlag(command, &options->map, "Activate a revision of this map")->required();
  AddOption(command, "--revision", options->revision, "N", "Activate a revision number N")
      ->required();
  AddServerFlags(command, &options->server);
}

absl::StatusOr<ExitCode> WithdrawRevision(const MapCommandFlags& options) {
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(options.server));
  VOXLOC_ASSIGN_OR_RETURN(
      const v1::MapRevision revision,
      client::MapClient(channel).Withdraw(options.map, options.revision, options.server.timeout_s));
  return Report(
      options.server.json,
      absl::StrFormat("map %s: revision %d is withdrawn\n", options.map, revision.revision()),
      MessageJson(revision));
}

void AddWithdrawCommand(CLI::App* parent, Work* chosen) {
  const auto [command, options] = AddCommand(
      parent, chosen, &WithdrawRevision, "withdraw", "Take a staged revision of a map back",
      R"(Vehicles that tried it use the revision in use from their next scan on.

Example:
  voxloc map withdraw --map town --revision 13)");
  AddMapFlag(command, &options->map, "Withdraw a revision of this map")->required();
  AddOption(command, "--revision", options->revision, "N", "Withdraw a revision number N")
      ->required();
  AddServerFlags(command, &options->server);
}

absl::StatusOr<ExitCode> SetCanaryVehicles(const MapCommandFlags& options) {
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(options.server));
  VOXLOC_ASSIGN_OR_RETURN(
      const v1::MapRevision revision,
      client::MapClient(channel).SetCanary(options.map, options.revision, NamesOf(options.vehicles),
                                           options.server.timeout_s));
  return Report(options.server.json,
                absl::StrFormat("map %s: revision %d is %s\n", options.map, revision.revision(),
                                RevisionStateText(revision)),
                MessageJson(revision));
}

void AddCanaryCommand(CLI::App* parent, Work* chosen) {
  const auto [command, options] = AddCommand(
      parent, chosen, &SetCanaryVehicles, "canary", "Name the vehicles that try a staged revision",
      R"(They take the place of those named before. The names are those that vehicles give when they
open a session; voxloc admin sessions lists them.

Examples:
  voxloc map canary --map town --revision 13 --vehicles bus-7,bus-9
  voxloc map canary --map town --revision 13     nobody tries it any more)");
  AddMapFlag(command, &options->map, "Try a revision of this map")->required();
  AddOption(command, "--revision", options->revision, "N", "Try a revision number N")->required();
  AddOption(command, "--vehicles", options->vehicles, "V,...",
            "Let these vehicles try it, separated by commas; default: none");
  AddServerFlags(command, &options->server);
}

absl::StatusOr<ExitCode> WatchMaps(const MapCommandFlags& options) {
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(options.server));
  client::MapWatch watch(channel, options.map);
  Json all = Json::array();
  for (uint64_t count = 0; options.events == 0 || count < options.events; ++count) {
    VOXLOC_ASSIGN_OR_RETURN(const v1::WatchMapResponse event, watch.Next());
    if (options.server.prints_text()) {
      std::fputs(MapEventText(event, absl::ToUnixNanos(absl::Now())).c_str(), stdout);
      std::fflush(stdout);
    }
    if (options.events > 0) all.push_back(MessageJson(event));
  }
  return Report(options.server.json, "", {{"events", all}});
}

void AddWatchCommand(CLI::App* parent, Work* chosen) {
  const auto [command, options] = AddCommand(
      parent, chosen, &WatchMaps, "watch", "Print changes of maps as they happen",
      R"(First comes a line for each map with its state now. Where the connection breaks, the watch
begins anew, with the state then. Ends with Ctrl-C, or after --events.

Examples:
  voxloc map watch
  voxloc map watch --map town --events 1 --json -)");
  AddMapFlag(command, &options->map, "Watch this map only, which need not exist yet");
  CLI::Option* events =
      AddDefaulted(command, "--events", options->events, "N", "End after N events; 0: never");
  AddServerFlags(command, &options->server);
  command->get_option("--json")->needs(events);
}

}  // namespace

void AddMapCommands(CLI::App* parent, Work* chosen) {
  AddListCommand(parent, chosen);
  AddDescribeCommand(parent, chosen);
  AddDropCommand(parent, chosen);
  AddUndropCommand(parent, chosen);
  AddTilesCommand(parent, chosen);
  AddHistoryCommand(parent, chosen);
  AddRollbackCommand(parent, chosen);
  AddActivateCommand(parent, chosen);
  AddWithdrawCommand(parent, chosen);
  AddCanaryCommand(parent, chosen);
  AddWatchCommand(parent, chosen);
}

}  // namespace voxloc::cli
