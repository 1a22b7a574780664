// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/flags/server_flags.h"
#include "clients/cli/fleet/fleet_state.h"
#include "clients/cli/output/message_text.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/terminal.h"
#include "clients/cli/report/report.h"
#include "clients/cpp/admin_client.h"
#include "clients/cpp/channel.h"
#include "clients/cpp/map_client.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

constexpr size_t kMaxFleetServers = 100;

// The tiles of a map are asked for no more often than this: their fit changes over minutes, and a
// map may have thousands of them.
constexpr std::chrono::seconds kTilesInterval{30};

struct FleetFlags {
  ServerFlags server;
  std::string map;         // only this map and its vehicles; empty: all
  size_t worst_tiles = 5;  // of each map; 0: tiles are not asked for
  FleetTextOptions text;
  bool once = false;
  double interval_s = 2.0;
  uint64_t refreshes = 0;  // 0: without end
  std::string html;
};

// A change of a staged revision on all servers of a fleet. Nothing is changed unless every server
// answers and has the revision in a state that permits it. A change on one of several servers with
// a shared store changes all of them; the others then report that it is already done.
struct FleetChangeFlags {
  ServerFlags server;
  bool activate = false;  // otherwise the revision is withdrawn
  std::string map;
  uint64_t revision = 0;
};

// What a server has made of the change.
struct FleetChangeOutcome {
  std::string address;
  v1::MapRevision revision;  // before the change, as the server lists it
  bool changed = false;      // or was so already
  absl::Status status;       // not OK: why not
};

// One of the servers. There is no failover between them.
struct FleetEndpoint {
  std::string address;
  client::Channel channel;
};

// The servers of --server, separated by commas, each once, in their order. InvalidArgument: none,
// or more than 100, each of which takes a thread and a connection; or what Channel::Create says.
absl::StatusOr<std::vector<FleetEndpoint>> FleetEndpoints(const ServerFlags& flags) {
  std::vector<FleetEndpoint> endpoints;
  for (const absl::string_view part : absl::StrSplit(flags.server, ',', absl::SkipWhitespace())) {
    ServerFlags one = flags;
    one.server = std::string(absl::StripAsciiWhitespace(part));
    const bool known =
        std::any_of(endpoints.begin(), endpoints.end(),
                    [&one](const FleetEndpoint& other) { return other.address == one.server; });
    if (known) continue;
    VOXLOC_ASSIGN_OR_RETURN(client::Channel channel, Connect(one));
    endpoints.push_back({one.server, std::move(channel)});
  }
  if (endpoints.empty() || endpoints.size() > kMaxFleetServers) {
    return absl::InvalidArgumentError(absl::StrCat("--server must name 1 to ", kMaxFleetServers,
                                                   " servers (got ", endpoints.size(), ")"));
  }
  return endpoints;
}

double FleetSeconds(int64_t from_ns, int64_t to_ns) {
  return static_cast<double>(to_ns - from_ns) * 1e-9;
}

// Polls one server repeatedly. Rates are means since the previous poll, or since the session
// was opened in the first one.
class ServerPoller {
 public:
  ServerPoller(const FleetFlags& flags, FleetEndpoint endpoint)
      : flags_(flags), endpoint_(std::move(endpoint)) {}

  FleetServer Poll() {
    FleetServer server;
    server.address = endpoint_.address;
    absl::StatusOr<v1::GetServerInfoResponse> info =
        client::GetServerInfo(endpoint_.channel, flags_.server.timeout_s);
    server.status = info.status();
    if (!info.ok()) return server;
    server.info = *std::move(info);
    server.sessions_status = PollVehicles(server);
    server.maps_status = PollMaps(server);
    return server;
  }

 private:
  struct Counts {
    uint64_t answered = 0;
    uint64_t accepted = 0;
    int64_t at_ns = 0;  // by the server's clock
  };
  struct Tiles {
    std::chrono::steady_clock::time_point asked;
    std::vector<v1::TileInfo> worst;
    absl::Status status;
  };

  absl::Status PollVehicles(FleetServer& server) {
    VOXLOC_ASSIGN_OR_RETURN(
        std::vector<v1::SessionInfo> sessions,
        client::ListSessions(endpoint_.channel, flags_.map, flags_.server.timeout_s));
    const int64_t now_ns = server.info.now_ns();
    std::map<std::string, Counts> counts;
    for (v1::SessionInfo& session : sessions) {
      FleetVehicle& vehicle = server.vehicles.emplace_back();
      Counts before{0, 0, session.opened_at_ns()};
      const auto known = sessions_.find(session.session());
      if (known != sessions_.end()) before = known->second;
      counts[session.session()] = {session.answered(), session.accepted(), now_ns};
      // Counts never decrease; the minimum guards against an unsigned underflow.
      vehicle.recent.answered = session.answered() - std::min(before.answered, session.answered());
      vehicle.recent.accepted = session.accepted() - std::min(before.accepted, session.accepted());
      const double interval_s = FleetSeconds(before.at_ns, now_ns);
      if (interval_s > 0.0) {
        vehicle.recent.rate_per_s = static_cast<double>(vehicle.recent.answered) / interval_s;
      }
      if (session.answered_at_ns() != 0) {
        vehicle.silent_s = std::max(0.0, FleetSeconds(session.answered_at_ns(), now_ns));
      }
      vehicle.session = std::move(session);
    }
    sessions_ = std::move(counts);
    return absl::OkStatus();
  }

  absl::Status PollMaps(FleetServer& server) {
    const client::MapClient maps(endpoint_.channel);
    VOXLOC_ASSIGN_OR_RETURN(std::vector<v1::MapInfo> list, maps.List(flags_.server.timeout_s));
    for (v1::MapInfo& info : list) {
      if (!flags_.map.empty() && info.name() != flags_.map) continue;
      auto revisions = maps.ListRevisions(info.name(), flags_.server.timeout_s);
      if (ExitCodeFor(revisions.status()) == ExitCode::kUnreachable) {
        // Each of the other maps would also run into the timeout.
        server.maps.clear();
        return revisions.status();
      }
      FleetMap& map = server.maps.emplace_back();
      map.info = std::move(info);
      map.revisions_status = revisions.status();
      if (revisions.ok()) map.revisions = *std::move(revisions);
      if (flags_.worst_tiles > 0) PollTiles(maps, map);
    }
    return absl::OkStatus();
  }

  void PollTiles(const client::MapClient& maps, FleetMap& map) {
    Tiles& tiles = tiles_[map.info.name()];
    const auto now = std::chrono::steady_clock::now();
    const bool known = tiles.asked != std::chrono::steady_clock::time_point();
    if (!known || now - tiles.asked >= kTilesInterval) {
      v1::ListTilesRequest request;
      request.set_map(map.info.name());
      const auto all = maps.ListTiles(request, flags_.server.timeout_s);
      tiles.asked = now;
      tiles.status = all.status();
      tiles.worst.clear();
      if (all.ok()) tiles.worst = WorstTiles(*all, flags_.worst_tiles);
    }
    map.worst_tiles = tiles.worst;
    map.tiles_status = tiles.status;
  }

  const FleetFlags& flags_;
  const FleetEndpoint endpoint_;
  // From the previous polls.
  std::map<std::string, Counts> sessions_;
  std::map<std::string, Tiles> tiles_;  // by map
};

// Polls all servers in parallel, with a connection and a thread for each: a failing server delays
// the others by at most the timeout.
FleetState PollFleet(std::vector<ServerPoller>& pollers) {
  FleetState fleet;
  fleet.servers.resize(pollers.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < pollers.size(); ++i) {
    threads.emplace_back([&, i] { fleet.servers[i] = pollers[i].Poll(); });
  }
  for (std::thread& thread : threads) thread.join();
  fleet.taken_at_ns = absl::ToUnixNanos(absl::Now());
  return fleet;
}

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

// Every server answered everything, or the first error's code.
ExitCode FleetExitCode(const FleetState& fleet) {
  const std::vector<absl::Status> errors = FleetErrors(fleet);
  return errors.empty() ? ExitCode::kOk : ExitCodeFor(errors.front());
}

absl::StatusOr<ExitCode> RunFleet(const FleetFlags& flags) {
  VOXLOC_ASSIGN_OR_RETURN(std::vector<FleetEndpoint> endpoints, FleetEndpoints(flags.server));
  std::vector<ServerPoller> pollers;
  for (FleetEndpoint& endpoint : endpoints) pollers.emplace_back(flags, std::move(endpoint));
  const auto interval = std::chrono::duration<double>(flags.interval_s);
  if (flags.once || !flags.html.empty()) {
    // Rates need two polls.
    FleetState fleet = PollFleet(pollers);
    if (TotalsOf(fleet).vehicles > 0) {
      std::this_thread::sleep_for(interval);
      fleet = PollFleet(pollers);
    }
    if (flags.server.prints_text()) {
      std::fputs(FleetTextFor(flags, fleet, GetTerminalSize()).c_str(), stdout);
    }
    const Json json = FleetJson(fleet);
    VOXLOC_TRY(WriteJson(flags.server.json, json));
    if (!flags.html.empty()) {
      VOXLOC_TRY(WriteTextFile(flags.html, FleetHtml(json)));
      if (flags.server.prints_text()) absl::PrintF("\npage: %s\n", flags.html);
    }
    return FleetExitCode(fleet);
  }
  for (uint64_t look = 1;; ++look) {
    const FleetState fleet = PollFleet(pollers);
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
  const v1::RevisionState after =
      flags.activate ? v1::REVISION_STATE_ACTIVE : v1::REVISION_STATE_WITHDRAWN;
  if (found->state() != v1::REVISION_STATE_STAGED && found->state() != after) {
    return absl::FailedPreconditionError(
        absl::StrCat(endpoint.address, ": revision ", flags.revision, " of map ", flags.map,
                     " must be staged (it is ", RevisionStateText(*found), ")"));
  }
  return *found;
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
    const client::MapClient maps(endpoints[i].channel);
    const double timeout_s = flags.server.timeout_s;
    outcomes[i].status = flags.activate
                             ? maps.Activate(flags.map, flags.revision, timeout_s).status()
                             : maps.Withdraw(flags.map, flags.revision, timeout_s).status();
    outcomes[i].changed = outcomes[i].status.ok();
    if (!outcomes[i].changed) break;
  }
  return outcomes;
}

std::string OutcomeText(const FleetChangeFlags& flags, const FleetChangeOutcome& outcome) {
  if (outcome.changed) {
    return absl::StrCat(outcome.address, ": revision ", flags.revision,
                        flags.activate ? " is in use" : " is withdrawn");
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

void AddFleetChangeCommand(CLI::App* fleet, Work* chosen, bool activate) {
  const std::string name = activate ? "activate" : "withdraw";
  const auto [command, options] = AddCommand(
      fleet, chosen, &ChangeFleet, name,
      activate ? "Put a staged revision of a map in use on all servers"
               : "Take a staged revision of a map back on all servers",
      absl::StrCat(
          "Nothing is changed unless every server answers and lists the revision as staged, or as\n"
          "changed already. Servers are then changed one after another; the command stops at the\n"
          "first failure, says which servers were changed, and can be repeated.\n\n"
          "Example:\n  voxloc fleet ",
          name, " --server a:50051,b:50051 --map town --revision 13"));
  options->activate = activate;
  AddMapFlag(command, &options->map, "Change a revision of this map")->required();
  AddOption(command, "--revision", options->revision, "N", "Change the revision number N")
      ->required();
  AddFleetServerFlags(command, &options->server);
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

}  // namespace

void AddFleetCommand(CLI::App* parent, Work* chosen) {
  auto options = std::make_shared<FleetFlags>();
  CLI::App* command =
      parent->add_subcommand("fleet", "Watch the vehicles, maps and revisions of several servers");
  command->footer(kFleetManual);
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
  AddMapFlag(command, &options->map, "Show only this map and its vehicles");
  AddDefaulted(command, "--worst", options->worst_tiles, "N",
               "Show the N tiles of each map that seem to have changed the most; 0: none, which "
               "spares the servers the listing")
      ->check(CLI::Range(0, 1000));
  AddDefaulted(command, "--most", options->text.max_rows, "N",
               "Print at most N vehicles and N tiles; JSON and page have all")
      ->check(CLI::Range(1, 1'000'000));
  AddDefaulted(command, "--width", options->text.max_columns, "N",
               "Cut lines to N columns; 0: those of the terminal, and no limit without one")
      ->check(CLI::Range(0, 10'000));
  AddFleetServerFlags(command, &options->server);
  AddFleetChangeCommand(command, chosen, true);
  AddFleetChangeCommand(command, chosen, false);
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
