// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "clients/cli/commands.h"
#include "clients/cli/message_json.h"
#include "clients/cli/revision_text.h"
#include "clients/cli/server_flags.h"
#include "clients/cpp/map_watch.h"

namespace voxloc::cli {
namespace {

struct MapWatchFlags {
  ServerFlags server;
  std::string map;
  uint64_t events = 0;  // 0: without end
};

absl::StatusOr<ExitCode> WatchMaps(const MapWatchFlags& options) {
  const absl::StatusOr<client::Channel> channel = Connect(options.server);
  if (!channel.ok()) return channel.status();
  client::MapWatch watch(*channel, options.map);
  Json all = Json::array();
  for (uint64_t count = 0; options.events == 0 || count < options.events; ++count) {
    const absl::StatusOr<v1::WatchMapResponse> event = watch.Next();
    if (!event.ok()) return event.status();
    if (options.server.prints_text()) {
      const int64_t now_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                                 std::chrono::system_clock::now().time_since_epoch())
                                 .count();
      std::fputs(MapEventText(*event, now_ns).c_str(), stdout);
      std::fflush(stdout);
    }
    if (options.events > 0) all.push_back(MessageJson(*event));
  }
  if (absl::Status status = WriteJson(options.server.json, {{"events", all}}); !status.ok()) {
    return status;
  }
  return ExitCode::kOk;
}

}  // namespace

void AddMapWatchCommand(CLI::App* parent, Work* chosen) {
  auto options = std::make_shared<MapWatchFlags>();
  CLI::App* command = parent->add_subcommand("watch", "Print changes of maps as they happen");
  command->footer(
      "First comes a line for each map with its state now. Where the connection breaks, the watch\n"
      "begins anew, with the state then. Ends with Ctrl-C, or after --events.\n\n"
      "Examples:\n"
      "  voxloc map watch\n"
      "  voxloc map watch --map town --events 1 --json -");
  command->add_option("--map", options->map, "Watch this map only, which need not exist yet")
      ->type_name("NAME");
  CLI::Option* events =
      command->add_option("--events", options->events, "End after N events; 0: never")
          ->type_name("N")
          ->capture_default_str();
  AddServerFlags(command, &options->server);
  command->get_option("--json")->needs(events);
  command->callback([options, chosen] { *chosen = [options] { return WatchMaps(*options); }; });
}

}  // namespace voxloc::cli
