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

absl::StatusOr<ExitCode> ListMaps(const ServerFlags& flags) {
  absl::StatusOr<client::Channel> channel = Connect(flags);
  if (!channel.ok()) return channel.status();
  absl::StatusOr<std::vector<v1::MapInfo>> maps = client::MapClient(*channel).List(flags.timeout_s);
  if (!maps.ok()) return maps.status();
  if (flags.prints_text()) {
    std::fputs(maps->empty() ? "no maps\n" : MapTableText(*maps).c_str(), stdout);
  }
  Json list = Json::array();
  for (const v1::MapInfo& map : *maps) list.push_back(MapJson(map));
  if (absl::Status status = WriteJson(flags.json, {{"maps", list}}); !status.ok()) return status;
  return ExitCode::kOk;
}

}  // namespace

void AddMapListCommand(CLI::App* parent, Work* chosen) {
  auto flags = std::make_shared<ServerFlags>();
  CLI::App* command = parent->add_subcommand("list", "List the maps of a server");
  command->footer("Example:\n  voxloc map list --server localhost:50051");
  AddServerFlags(command, flags.get());
  command->callback([flags, chosen] { *chosen = [flags] { return ListMaps(*flags); }; });
}

}  // namespace voxloc::cli
