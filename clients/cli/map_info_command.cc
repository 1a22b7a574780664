// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cli/commands.h"
#include "clients/cli/map_text.h"
#include "clients/cli/message_json.h"
#include "clients/cli/server_flags.h"
#include "clients/cli/tile_fit_text.h"
#include "clients/cpp/map_client.h"

namespace voxloc::cli {
namespace {

struct MapInfoFlags {
  ServerFlags server;
  std::string map;
  size_t worst = 0;  // tiles
};

absl::StatusOr<ExitCode> DescribeMap(const MapInfoFlags& options) {
  absl::StatusOr<client::Channel> channel = Connect(options.server);
  if (!channel.ok()) return channel.status();
  absl::StatusOr<v1::MapInfo> map =
      client::MapClient(*channel).Get(options.map, options.server.timeout_s);
  if (!map.ok()) return map.status();
  if (options.server.prints_text()) std::fputs(MapDetailText(*map).c_str(), stdout);
  Json result = MapJson(*map);
  if (options.worst > 0) {
    v1::ListTilesRequest request;
    request.set_map(options.map);
    const absl::StatusOr<v1::ListTilesResponse> tiles =
        client::MapClient(*channel).ListTiles(request, options.server.timeout_s);
    if (!tiles.ok()) return tiles.status();
    const std::vector<v1::TileInfo> worst = WorstTiles(*tiles, options.worst);
    if (options.server.prints_text()) {
      std::fputs(absl::StrCat("\n", WorstTilesText(worst)).c_str(), stdout);
    }
    result["worst_tiles"] = Json::array();
    for (const v1::TileInfo& tile : worst) result["worst_tiles"].push_back(MessageJson(tile));
  }
  if (absl::Status status = WriteJson(options.server.json, result); !status.ok()) return status;
  return ExitCode::kOk;
}

}  // namespace

void AddMapInfoCommand(CLI::App* parent, Work* chosen) {
  auto options = std::make_shared<MapInfoFlags>();
  CLI::App* command = parent->add_subcommand("info", "Describe one map");
  command->footer(
      "Examples:\n"
      "  voxloc map info --server localhost:50051 --map town\n"
      "  voxloc map info --map town --worst 20");
  command->add_option("--map", options->map, "Describe this map")->type_name("NAME")->required();
  command
      ->add_option("--worst", options->worst,
                   "Also list this many tiles that seem to have changed the most since they were "
                   "mapped, by the scans that were compared with them; 0: none")
      ->type_name("N")
      ->capture_default_str();
  AddServerFlags(command, &options->server);
  command->callback([options, chosen] { *chosen = [options] { return DescribeMap(*options); }; });
}

}  // namespace voxloc::cli
