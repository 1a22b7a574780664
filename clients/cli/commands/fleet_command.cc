// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/fleet/fleet_servers.h"
#include "clients/cli/fleet/fleet_state.h"
#include "clients/cli/output/map_text.h"
#include "clients/cli/output/message_json.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/terminal.h"
#include "clients/cli/report/report.h"
#include "clients/cpp/map_client.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

// A change of a staged revision on all servers of a fleet. Nothing is changed unless every server
// answers and has the revision in a state that permits it. A change on one of several servers with
// a shared store changes all of them; the others then report that it is already done.
enum class FleetChange { kActivate, kWithdraw };

// What a server has made of the change.
struct FleetChangeOutcome {
  std::string address;
  v1::MapRevision revision;  // before the change, as the server lists it
  bool changed = false;      // or was so already
  absl::Status status;       // not OK: why not
};

struct FleetFlags {
  ServerFlags server;
  FleetQuery query;
  FleetTextOptions text;
  bool once = false;
  double interval_s = 2.0;
  uint64_t refreshes = 0;  // 0: without end
  std::string html;
};

struct FleetChangeFlags {
  ServerFlags server;
  FleetChange change = FleetChange::kActivate;
  std::string map;
  uint64_t revision = 0;
};

std::string FleetTextFor(const FleetFlags& flags, const FleetState& fleet,
                         const TerminalSize& size) {
  FleetTextOptions options = flags.text;
  if (options.max_columns == 0) options.max_columns = size.columns;
  return FleetText(fleet, options);
}

// Redraws in place on a terminal; otherwise appends.
void ShowFleet(const FleetFlags& flags, const FleetState& fleet, bool first) {
  const TerminalSize size = GetTerminalSize();
  std::string text = FleetTextFor(flags, fleet, size);
  if (size.rows == 0) {
    absl::PrintF("%s%s", first ? "" : "\n", text);
  } else {
    // Home; each line clears what is right of it, the end what is below.
    text = FirstLines(text, size.rows - 1);
    std::string lines;
    for (const char c : text) absl::StrAppend(&lines, c == '\n' ? "\x1b[K\n" : std::string(1, c));
    absl::PrintF("%s\x1b[H%s\x1b[J", first ? "\x1b[2J" : "", lines);
  }
  std::fflush(stdout);
}

// Writes the JSON and HTML that the flags ask for.
absl::Status WriteFleet(const FleetFlags& flags, const FleetState& fleet) {
  const Json json = FleetJson(fleet);
  VOXLOC_TRY(WriteJson(flags.server.json, json));
  if (flags.html.empty()) return absl::OkStatus();
  VOXLOC_TRY(WriteTextFile(flags.html, FleetHtml(json)));
  if (flags.server.prints_text()) absl::PrintF("\npage: %s\n", flags.html);
  return absl::OkStatus();
}

// Every server answered everything, or the first error's code.
ExitCode FleetExitCode(const FleetState& fleet) {
  const std::vector<absl::Status> errors = FleetErrors(fleet);
  return errors.empty() ? ExitCode::kOk : ExitCodeFor(errors.front());
}

absl::StatusOr<ExitCode> RunFleet(const FleetFlags& flags) {
  VOXLOC_ASSIGN_OR_RETURN(std::vector<FleetEndpoint> endpoints, FleetEndpoints(flags.server));
  FleetQuery query = flags.query;
  query.timeout_s = flags.server.timeout_s;
  FleetPoller poller(std::move(endpoints), query);
  const auto interval = std::chrono::duration<double>(flags.interval_s);
  if (flags.once || !flags.html.empty()) {
    // Rates need two polls.
    const FleetState before = poller.Poll();
    if (TotalsOf(before).vehicles > 0) std::this_thread::sleep_for(interval);
    const FleetState fleet = TotalsOf(before).vehicles > 0 ? poller.Poll() : before;
    if (flags.server.prints_text()) {
      std::fputs(FleetTextFor(flags, fleet, GetTerminalSize()).c_str(), stdout);
    }
    VOXLOC_TRY(WriteFleet(flags, fleet));
    return FleetExitCode(fleet);
  }
  for (uint64_t look = 1;; ++look) {
    const FleetState fleet = poller.Poll();
    ShowFleet(flags, fleet, look == 1);
    if (look == flags.refreshes) return FleetExitCode(fleet);
    std::this_thread::sleep_for(interval);
  }
}

absl::StatusOr<v1::MapRevision> FindRevision(const FleetChangeFlags& flags,
                                             const FleetEndpoint& endpoint) {
  VOXLOC_ASSIGN_OR_RETURN(
      const std::vector<v1::MapRevision> revisions,
      client::MapClient(endpoint.channel).ListRevisions(flags.map, flags.server.timeout_s));
  const auto found = std::find_if(
      revisions.begin(), revisions.end(),
      [&flags](const v1::MapRevision& one) { return one.revision() == flags.revision; });
  if (found == revisions.end()) {
    return absl::NotFoundError(
        absl::StrCat(endpoint.address, " has no revision ", flags.revision, " of map ", flags.map));
  }
  const v1::RevisionState after = flags.change == FleetChange::kActivate
                                      ? v1::REVISION_STATE_ACTIVE
                                      : v1::REVISION_STATE_WITHDRAWN;
  if (found->state() != v1::REVISION_STATE_STAGED && found->state() != after) {
    return absl::FailedPreconditionError(
        absl::StrCat(endpoint.address, ": revision ", flags.revision, " of map ", flags.map,
                     " must be staged (it is ", RevisionStateText(*found), ")"));
  }
  return *found;
}

absl::Status ChangeOn(const FleetChangeFlags& flags, const FleetEndpoint& endpoint) {
  const client::MapClient maps(endpoint.channel);
  const double timeout_s = flags.server.timeout_s;
  return flags.change == FleetChange::kActivate
             ? maps.Activate(flags.map, flags.revision, timeout_s).status()
             : maps.Withdraw(flags.map, flags.revision, timeout_s).status();
}

// An outcome for each server, in their order. Servers are changed one after another, and no further
// one after a failure.
std::vector<FleetChangeOutcome> ChangeOnAll(const FleetChangeFlags& flags,
                                            const std::vector<FleetEndpoint>& endpoints) {
  std::vector<FleetChangeOutcome> outcomes;
  bool can_change = true;
  for (const FleetEndpoint& endpoint : endpoints) {
    const absl::StatusOr<v1::MapRevision> found = FindRevision(flags, endpoint);
    outcomes.push_back(
        {endpoint.address, found.value_or(v1::MapRevision()), false, found.status()});
    can_change = can_change && found.ok();
  }
  if (!can_change) return outcomes;
  for (size_t i = 0; i < endpoints.size(); ++i) {
    outcomes[i].status = ChangeOn(flags, endpoints[i]);
    outcomes[i].changed = outcomes[i].status.ok();
    if (!outcomes[i].changed) break;
  }
  return outcomes;
}

std::string OutcomeText(const FleetChangeFlags& flags, const FleetChangeOutcome& outcome) {
  const char* const done = flags.change == FleetChange::kActivate ? "is in use" : "is withdrawn";
  if (outcome.changed) {
    return absl::StrCat(outcome.address, ": revision ", flags.revision, " ", done);
  }
  if (outcome.status.ok()) return absl::StrCat(outcome.address, ": nothing was changed");
  return absl::StrCat("error: ", outcome.status.message());
}

absl::StatusOr<ExitCode> ChangeFleet(const FleetChangeFlags& flags) {
  VOXLOC_ASSIGN_OR_RETURN(const std::vector<FleetEndpoint> endpoints, FleetEndpoints(flags.server));
  const std::vector<FleetChangeOutcome> outcomes = ChangeOnAll(flags, endpoints);
  Json list = Json::array();
  absl::Status failure;
  for (const FleetChangeOutcome& outcome : outcomes) {
    failure.Update(outcome.status);
    if (flags.server.prints_text()) {
      absl::PrintF("%s\n", EscapeForTerminal(OutcomeText(flags, outcome)));
    }
    list.push_back({{"server", outcome.address},
                    {"changed", outcome.changed},
                    {"error", outcome.status.ok() ? Json(nullptr)
                                                  : Json(std::string(outcome.status.message()))},
                    {"revision", MessageJson(outcome.revision)}});
  }
  const Json json = {{"name", flags.map}, {"revision", flags.revision}, {"servers", list}};
  VOXLOC_TRY(WriteJson(flags.server.json, json));
  return ExitCodeFor(failure);
}

// --server names all servers here, none of which stands in for another.
void AddFleetServerFlags(CLI::App* command, ServerFlags* flags) {
  flags->timeout_s = 5.0;
  AddServerFlags(command, flags);
  command->get_option("--server")
      ->description(
          "Ask each of these servers, HOST:PORT or unix:PATH, separated by commas; can be repeated")
      ->type_name("ADDR,...")
      ->join(',');
}

void AddFleetChangeCommand(CLI::App* fleet, Work* chosen, FleetChange change) {
  auto options = std::make_shared<FleetChangeFlags>();
  options->change = change;
  const bool activate = change == FleetChange::kActivate;
  CLI::App* command =
      fleet->add_subcommand(activate ? "activate" : "withdraw",
                            activate ? "Put a staged revision of a map in use on all servers"
                                     : "Take a staged revision of a map back on all servers");
  command->footer(absl::StrCat(
      "Nothing is changed unless every server answers and lists the revision as staged, or as\n"
      "changed already. Servers are then changed one after another; the command stops at the\n"
      "first failure, says which servers were changed, and can be repeated.\n\n"
      "Example:\n  voxloc fleet ",
      activate ? "activate" : "withdraw", " --server a:50051,b:50051 --map town --revision 13"));
  AddMapFlag(command, &options->map, "Change a revision of this map")->required();
  AddRevisionFlag(command, &options->revision, "Change the revision number N")->required();
  AddFleetServerFlags(command, &options->server);
  command->callback([options, chosen] { *chosen = [options] { return ChangeFleet(*options); }; });
}

constexpr char kFleetManual[] =
    R"(Rates and accepted shares are those since the look before. The first look of the view that
refreshes has means since each session was opened. The vehicles that need attention come
first: the last answer, or more than 1 % of the recent ones, was not accepted. Where scans/s
and accepted of a staged revision are as good as those of the active one, it can be put in
use with voxloc fleet activate. The view ends with Ctrl-C.

Servers that do not answer are listed as errors, and the others are shown. The exit code of
--once and --html is 0 only if every server answered everything. Vehicles need the role
admin, maps the role map_read.

Examples:
  voxloc fleet --server a:50051,b:50051,c:50051
  voxloc fleet --once --map town --json -
  voxloc fleet --html fleet.html
  voxloc fleet activate --server a:50051,b:50051 --map town --revision 13)";

void AddFleetViewFlags(CLI::App* command, FleetFlags* options) {
  CLI::Option* once =
      command->add_flag("--once", options->once, "Print one look, and end; for scripts");
  CLI::Option* html =
      AddOutputFile(command, "--html", &options->html,
                    "Write one look as an HTML page that needs no network, and end");
  AddDefaulted(
      command, "--interval", options->interval_s, "S",
      "Look again after S seconds; of --once and --html the time that rates are measured over")
      ->check(CLI::Range(0.1, 3600.0));
  AddDefaulted(command, "--refreshes", options->refreshes, "N", "End after N looks; 0: never")
      ->excludes(once)
      ->excludes(html);
  AddMapFlag(command, &options->query.map, "Show only this map and its vehicles");
  AddDefaulted(command, "--worst", options->query.worst_tiles, "N",
               "Show the N tiles of each map that seem to have changed the most; 0: none, which "
               "spares the servers the listing")
      ->check(CLI::Range(0, 1000));
  AddDefaulted(command, "--most", options->text.max_rows, "N",
               "Print at most N vehicles and N tiles; JSON and page have all")
      ->check(CLI::Range(1, 1'000'000));
  AddDefaulted(command, "--width", options->text.max_columns, "N",
               "Cut lines to N columns; 0: those of the terminal, and no limit without one")
      ->check(CLI::Range(0, 10'000));
}

}  // namespace

void AddFleetCommand(CLI::App* parent, Work* chosen) {
  auto options = std::make_shared<FleetFlags>();
  CLI::App* command =
      parent->add_subcommand("fleet", "Watch the vehicles, maps and revisions of several servers");
  command->footer(kFleetManual);
  AddFleetViewFlags(command, options.get());
  AddFleetServerFlags(command, &options->server);
  AddFleetChangeCommand(command, chosen, FleetChange::kActivate);
  AddFleetChangeCommand(command, chosen, FleetChange::kWithdraw);
  // CLI11 runs the callbacks of a command after those of its subcommands.
  command->callback([command, options, chosen] {
    if (command->get_subcommands().empty()) {
      const bool one_look = options->once || !options->html.empty();
      if (!options->server.json.empty() && !one_look) {
        throw CLI::RequiresError("--json", "--once or --html");
      }
      *chosen = [options] { return RunFleet(*options); };
    }
  });
}

}  // namespace voxloc::cli
