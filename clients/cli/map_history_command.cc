// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "clients/cli/commands.h"
#include "clients/cli/message_json.h"
#include "clients/cli/revision_text.h"
#include "clients/cli/server_flags.h"
#include "clients/cpp/map_client.h"

namespace voxloc::cli {
namespace {

struct MapHistoryFlags {
  ServerFlags server;
  std::string map;
};

absl::StatusOr<ExitCode> ShowHistory(const MapHistoryFlags& options) {
  const absl::StatusOr<client::Channel> channel = Connect(options.server);
  if (!channel.ok()) return channel.status();
  const absl::StatusOr<std::vector<v1::MapRevision>> revisions =
      client::MapClient(*channel).ListRevisions(options.map, options.server.timeout_s);
  if (!revisions.ok()) return revisions.status();
  if (options.server.prints_text()) std::fputs(RevisionTableText(*revisions).c_str(), stdout);
  Json list = Json::array();
  for (const v1::MapRevision& revision : *revisions) list.push_back(MessageJson(revision));
  const Json result = {{"name", options.map}, {"revisions", list}};
  if (absl::Status status = WriteJson(options.server.json, result); !status.ok()) return status;
  return ExitCode::kOk;
}

}  // namespace

void AddMapHistoryCommand(CLI::App* parent, Work* chosen) {
  auto options = std::make_shared<MapHistoryFlags>();
  CLI::App* command = parent->add_subcommand("history", "List the revisions of a map");
  command->footer(
      "Lists the revisions that the server keeps, the oldest first, with the revision that each "
      "was\n"
      "made from and how many tiles it has more (+), other (~) and fewer (-) than that one.\n\n"
      "Example:\n  voxloc map history --map town");
  command->add_option("--map", options->map, "List the revisions of this map")
      ->type_name("NAME")
      ->required();
  AddServerFlags(command, &options->server);
  command->callback([options, chosen] { *chosen = [options] { return ShowHistory(*options); }; });
}

}  // namespace voxloc::cli
