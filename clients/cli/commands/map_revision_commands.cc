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
#include "clients/cli/map/map_load.h"
#include "clients/cli/output/map_text.h"
#include "clients/cli/output/message_json.h"
#include "clients/cpp/map_client.h"
#include "clients/cpp/map_watch.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

// The flags of all commands in this file; each command takes some of them.
struct MapRevisionFlags {
  ServerFlags server;
  std::string map;
  uint64_t revision = 0;
  std::string vehicles;  // that try it, comma-separated
  CommitFlags commit;
  std::string to;       // a number, or kPrevious
  uint64_t events = 0;  // to watch; 0: without end
};

absl::StatusOr<ExitCode> ShowHistory(const MapRevisionFlags& options) {
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
absl::StatusOr<uint64_t> RevisionToTake(const MapRevisionFlags& options) {
  uint64_t number = 0;
  if (absl::SimpleAtoi(options.to, &number)) return number;
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(options.server));
  VOXLOC_ASSIGN_OR_RETURN(
      const std::vector<v1::MapRevision> revisions,
      client::MapClient(channel).ListRevisions(options.map, options.server.timeout_s));
  return PreviousRevision(options.map, revisions);
}

absl::StatusOr<ExitCode> RollBack(const MapRevisionFlags& options) {
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

absl::StatusOr<ExitCode> ActivateRevision(const MapRevisionFlags& options) {
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
  AddRevisionFlag(command, &options->revision, "Activate a revision number N")->required();
  AddServerFlags(command, &options->server);
}

absl::StatusOr<ExitCode> WithdrawRevision(const MapRevisionFlags& options) {
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
  AddRevisionFlag(command, &options->revision, "Withdraw a revision number N")->required();
  AddServerFlags(command, &options->server);
}

absl::StatusOr<ExitCode> SetCanaryVehicles(const MapRevisionFlags& options) {
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
  AddRevisionFlag(command, &options->revision, "Try a revision number N")->required();
  AddOption(command, "--vehicles", options->vehicles, "V,...",
            "Let these vehicles try it, separated by commas; default: none");
  AddServerFlags(command, &options->server);
}

absl::StatusOr<ExitCode> WatchMaps(const MapRevisionFlags& options) {
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

void AddMapRevisionCommands(CLI::App* parent, Work* chosen) {
  AddHistoryCommand(parent, chosen);
  AddRollbackCommand(parent, chosen);
  AddActivateCommand(parent, chosen);
  AddWithdrawCommand(parent, chosen);
  AddCanaryCommand(parent, chosen);
  AddWatchCommand(parent, chosen);
}

}  // namespace voxloc::cli
