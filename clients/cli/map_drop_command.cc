// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "absl/strings/str_format.h"
#include "clients/cli/commands.h"
#include "clients/cli/json_output.h"
#include "clients/cli/server_flags.h"
#include "clients/cpp/map_client.h"

namespace voxloc::cli {
namespace {

struct MapDropFlags {
  ServerFlags server;
  std::string map;
  uint64_t revision = 0;
};

absl::StatusOr<ExitCode> DropMap(const MapDropFlags& options) {
  absl::StatusOr<client::Channel> channel = Connect(options.server);
  if (!channel.ok()) return channel.status();
  absl::StatusOr<uint64_t> revision =
      client::MapClient(*channel).Drop(options.map, options.revision, options.server.timeout_s);
  if (!revision.ok()) return revision.status();
  if (options.server.prints_text()) {
    absl::PrintF("map %s is deleted; its last revision was %d\n", options.map, *revision);
  }
  const Json result = {{"name", options.map}, {"revision", *revision}};
  if (absl::Status status = WriteJson(options.server.json, result); !status.ok()) return status;
  return ExitCode::kOk;
}

}  // namespace

void AddMapDropCommand(CLI::App* parent, Work* chosen) {
  auto options = std::make_shared<MapDropFlags>();
  CLI::App* command = parent->add_subcommand("drop", "Delete a map from a server");
  command->footer(
      "Sessions on the map stay open; their scans are answered NO_MAP.\n\n"
      "Example:\n  voxloc map drop --server localhost:50051 --map town");
  command->add_option("--map", options->map, "Delete this map")->type_name("NAME")->required();
  command
      ->add_option("--revision", options->revision,
                   "Delete the map only at this revision; 0: any revision")
      ->type_name("N")
      ->capture_default_str();
  AddServerFlags(command, &options->server);
  command->callback([options, chosen] { *chosen = [options] { return DropMap(*options); }; });
}

}  // namespace voxloc::cli
