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
#include "clients/cli/fleet/fleet_page_server.h"
#include "clients/cli/fleet/fleet_poller.h"
#include "clients/cli/fleet/fleet_state.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/terminal.h"
#include "clients/cli/report/report.h"
#include "clients/cpp/admin_client.h"
#include "clients/cpp/channel.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

struct FleetFlags {
  ServerFlags server;
  std::string map;         // only this map and its vehicles; empty: all
  size_t worst_tiles = 5;  // of each map; 0: tiles are not asked for
  FleetTextOptions text;
  bool once = false;
  double interval_s = 0.0;  // 0: as interval() says
  uint64_t refreshes = 0;   // 0: without end
  std::string html;
  std::string serve;  // HOST:PORT

  // With --serve it is such that a page is less than a second old.
  [[nodiscard]] std::chrono::duration<double> interval() const {
    return std::chrono::duration<double>(interval_s > 0.0 ? interval_s : serve.empty() ? 2.0 : 0.5);
  }
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

// Every server answered everything, or the first error's code.
ExitCode FleetExitCode(const FleetState& fleet) {
  const std::vector<absl::Status> errors = FleetErrors(fleet);
  return errors.empty() ? ExitCode::kOk : ExitCodeFor(errors.front());
}

// One look, of which rates need two polls.
absl::StatusOr<ExitCode> PrintFleet(const FleetFlags& flags, std::vector<ServerPoller>& pollers) {
  FleetState fleet = PollFleet(pollers);
  if (TotalsOf(fleet).vehicles > 0) {
    std::this_thread::sleep_for(flags.interval());
    fleet = PollFleet(pollers);
  }
  if (flags.server.prints_text()) {
    std::fputs(FleetTextFor(flags, fleet, GetTerminalSize()).c_str(), stdout);
  }
  Json json = FleetJson(fleet);
  VOXLOC_TRY(WriteJson(flags.server.json, json));
  if (!flags.html.empty()) {
    json["tiles"] = FleetTilesJson(fleet);
    VOXLOC_TRY(WriteTextFile(flags.html, FleetHtml(json)));
    if (flags.server.prints_text()) absl::PrintF("\npage: %s\n", flags.html);
  }
  return FleetExitCode(fleet);
}

absl::StatusOr<ExitCode> ServeFleet(const FleetFlags& flags, std::vector<ServerPoller> pollers) {
  VOXLOC_ASSIGN_OR_RETURN(const auto page,
                          FleetPageServer::Start(flags.serve, flags.interval().count()));
  absl::PrintF("page: %s\n", page->url());
  std::fflush(stdout);
  if (!page->loopback()) {
    absl::FPrintF(stderr,
                  "warning: everybody who reaches %s sees what this command may see; the page "
                  "asks for no credentials\n",
                  flags.serve);
  }
  const FleetWatch watch(std::move(pollers), absl::Seconds(flags.interval().count()));
  for (uint64_t look = 1;; ++look) {
    std::this_thread::sleep_for(flags.interval());
    const FleetState fleet = watch.Newest();
    page->Publish(fleet);
    if (look == flags.refreshes) return FleetExitCode(fleet);
  }
}

absl::StatusOr<ExitCode> RunFleet(const FleetFlags& flags) {
  VOXLOC_ASSIGN_OR_RETURN(std::vector<FleetEndpoint> endpoints, FleetEndpoints(flags.server));
  std::vector<ServerPoller> pollers =
      MakePollers({flags.map, flags.worst_tiles, flags.server.timeout_s}, std::move(endpoints));
  if (flags.once || !flags.html.empty()) return PrintFleet(flags, pollers);
  if (!flags.serve.empty()) return ServeFleet(flags, std::move(pollers));
  for (uint64_t look = 1;; ++look) {
    const FleetState fleet = PollFleet(pollers);
    ShowFleet(flags, fleet, look == 1);
    if (look == flags.refreshes) return FleetExitCode(fleet);
    std::this_thread::sleep_for(flags.interval());
  }
}

constexpr char kFleetManual[] =
    R"(Rates and accepted shares are those since the look before. The first look of the view that
refreshes has means since each session was opened. The vehicles that need attention come
first: the last answer, or more than 1 % of the recent ones, was not accepted. Where scans/s
and accepted of a staged revision are as good as those of the active one, and its vehicles
have scores at least as high, and innovations as low, as on the revision before, it can be
put in use with voxloc fleet activate. The view ends with Ctrl-C.

The page of --serve shows what this command may see to everybody who reaches the address.
Serve it on localhost, and let a proxy that asks for credentials stand before it elsewhere.

Servers that do not answer are listed as errors, and the others are shown. The exit code of
--once and --html is 0 only if every server answered everything. Vehicles need the role
admin, maps the role map_read.

Examples:
  voxloc fleet --server a:50051,b:50051,c:50051
  voxloc fleet --once --map town --json -
  voxloc fleet --html fleet.html
  voxloc fleet --serve localhost:8080
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
  AddOption(command, "--serve", options->serve, "HOST:PORT",
            "Serve the page there, kept up to date, until Ctrl-C; HOST is localhost or an "
            "address of this machine, port 0 a free one")
      ->excludes(once)
      ->excludes(html);
  AddOptional(command, "--interval", options->interval_s, "S",
              "Look again after S seconds (default: 2, with --serve 0.5); of --once and --html the "
              "time that rates are measured over")
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
               "Print at most N vehicles and N tiles; JSON has all, a page 1000, and 200 while it "
               "is kept up to date")
      ->check(CLI::Range(1, 1'000'000));
  AddDefaulted(command, "--width", options->text.max_columns, "N",
               "Cut lines to N columns; 0: those of the terminal, and no limit without one")
      ->check(CLI::Range(0, 10'000));
  AddFleetServerFlags(command, &options->server);
  AddFleetChangeCommands(command, chosen);
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
