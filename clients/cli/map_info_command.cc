// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "clients/cli/commands.h"
#include "clients/cli/map_text.h"
#include "clients/cli/server_flags.h"
#include "clients/cpp/map_client.h"

namespace voxloc::cli {
namespace {

struct MapInfoFlags {
  ServerFlags server;
  std::string map;
};

absl::StatusOr<ExitCode> DescribeMap(const MapInfoFlags& options) {
  absl::StatusOr<client::Channel> channel = Connect(options.server);
  if (!channel.ok()) return channel.status();
  absl::StatusOr<v1::MapInfo> map =
      client::MapClient(*channel).Get(options.map, options.server.timeout_s);
  if (!map.ok()) return map.status();
  if (options.server.prints_text()) std::fputs(MapDetailText(*map).c_str(), stdout);
  if (absl::Status status = WriteJson(options.server.json, MapJson(*map)); !status.ok()) {
    return status;
  }
  return ExitCode::kOk;
}

}  // namespace

void AddMapInfoCommand(CLI::App* parent, Work* chosen) {
  auto options = std::make_shared<MapInfoFlags>();
  CLI::App* command = parent->add_subcommand("info", "Describe one map");
  command->footer("Example:\n  voxloc map info --server localhost:50051 --map town");
  command->add_option("--map", options->map, "Describe this map")->type_name("NAME")->required();
  AddServerFlags(command, &options->server);
  command->callback([options, chosen] { *chosen = [options] { return DescribeMap(*options); }; });
}

}  // namespace voxloc::cli
