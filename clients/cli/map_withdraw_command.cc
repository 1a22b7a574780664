// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_format.h"
#include "clients/cli/commands.h"
#include "clients/cli/message_json.h"
#include "clients/cli/server_flags.h"
#include "clients/cpp/map_client.h"

namespace voxloc::cli {
namespace {

struct MapWithdrawFlags {
  ServerFlags server;
  std::string map;
  uint64_t revision = 0;
};

absl::StatusOr<ExitCode> WithdrawRevision(const MapWithdrawFlags& options) {
  const absl::StatusOr<client::Channel> channel = Connect(options.server);
  if (!channel.ok()) return channel.status();
  const absl::StatusOr<v1::MapRevision> revision =
      client::MapClient(*channel).Withdraw(options.map, options.revision, options.server.timeout_s);
  if (!revision.ok()) return revision.status();
  if (options.server.prints_text()) {
    absl::PrintF("map %s: revision %d is withdrawn\n", options.map, revision->revision());
  }
  if (absl::Status status = WriteJson(options.server.json, MessageJson(*revision)); !status.ok()) {
    return status;
  }
  return ExitCode::kOk;
}

}  // namespace

void AddMapWithdrawCommand(CLI::App* parent, Work* chosen) {
  auto options = std::make_shared<MapWithdrawFlags>();
  CLI::App* command = parent->add_subcommand("withdraw", "Take a staged revision of a map back");
  command->footer(
      "Vehicles that tried it use the revision in use from their next scan on.\n\n"
      "Example:\n  voxloc map withdraw --map town --revision 13");
  command->add_option("--map", options->map, "Withdraw a revision of this map")
      ->type_name("NAME")
      ->required();
  command->add_option("--revision", options->revision, "Withdraw a revision number N")
      ->type_name("N")
      ->required();
  AddServerFlags(command, &options->server);
  command->callback(
      [options, chosen] { *chosen = [options] { return WithdrawRevision(*options); }; });
}

}  // namespace voxloc::cli
