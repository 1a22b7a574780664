// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/commands.h"
#include "clients/cli/map_text.h"
#include "clients/cli/server_flags.h"
#include "clients/cpp/map_client.h"

namespace voxloc::cli {
namespace {

struct MapActivateFlags {
  ServerFlags server;
  std::string map;
  uint64_t revision = 0;
};

absl::StatusOr<ExitCode> ActivateRevision(const MapActivateFlags& options) {
  const absl::StatusOr<client::Channel> channel = Connect(options.server);
  if (!channel.ok()) return channel.status();
  const absl::StatusOr<v1::MapInfo> map =
      client::MapClient(*channel).Activate(options.map, options.revision, options.server.timeout_s);
  if (absl::IsAborted(map.status())) {
    return absl::Status(
        map.status().code(),
        absl::StrCat(map.status().message(), "; voxloc map rollback --map ", options.map, " --to ",
                     options.revision, " makes a new revision of its tiles"));
  }
  if (!map.ok()) return map.status();
  if (options.server.prints_text()) {
    absl::PrintF("map %s: revision %d is in use\n", options.map, map->revision());
  }
  if (absl::Status status = WriteJson(options.server.json, MapJson(*map)); !status.ok()) {
    return status;
  }
  return ExitCode::kOk;
}

}  // namespace

void AddMapActivateCommand(CLI::App* parent, Work* chosen) {
  auto options = std::make_shared<MapActivateFlags>();
  CLI::App* command = parent->add_subcommand("activate", "Put a staged revision of a map in use");
  command->footer(
      "All vehicles use the revision from their next scan on. It must have been made from the one\n"
      "in use: activating it would otherwise undo what was committed since.\n\n"
      "Example:\n  voxloc map activate --map town --revision 13");
  command->add_option("--map", options->map, "Activate a revision of this map")
      ->type_name("NAME")
      ->required();
  command->add_option("--revision", options->revision, "Activate a revision number N")
      ->type_name("N")
      ->required();
  AddServerFlags(command, &options->server);
  command->callback(
      [options, chosen] { *chosen = [options] { return ActivateRevision(*options); }; });
}

}  // namespace voxloc::cli
