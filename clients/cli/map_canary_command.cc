// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_format.h"
#include "clients/cli/commands.h"
#include "clients/cli/commit_flags.h"
#include "clients/cli/message_json.h"
#include "clients/cli/revision_text.h"
#include "clients/cli/server_flags.h"
#include "clients/cpp/map_client.h"

namespace voxloc::cli {
namespace {

struct MapCanaryFlags {
  ServerFlags server;
  std::string map;
  uint64_t revision = 0;
  std::string vehicles;  // comma-separated
};

absl::StatusOr<ExitCode> NameCanary(const MapCanaryFlags& options) {
  const absl::StatusOr<client::Channel> channel = Connect(options.server);
  if (!channel.ok()) return channel.status();
  const absl::StatusOr<v1::MapRevision> revision = client::MapClient(*channel).SetCanary(
      options.map, options.revision, NamesOf(options.vehicles), options.server.timeout_s);
  if (!revision.ok()) return revision.status();
  if (options.server.prints_text()) {
    absl::PrintF("map %s: revision %d is %s\n", options.map, revision->revision(),
                 RevisionStateText(*revision));
  }
  if (absl::Status status = WriteJson(options.server.json, MessageJson(*revision)); !status.ok()) {
    return status;
  }
  return ExitCode::kOk;
}

}  // namespace

void AddMapCanaryCommand(CLI::App* parent, Work* chosen) {
  auto options = std::make_shared<MapCanaryFlags>();
  CLI::App* command =
      parent->add_subcommand("canary", "Name the vehicles that try a staged revision");
  command->footer(
      "They take the place of those named before. The names are those that vehicles give when "
      "they\n"
      "open a session; voxloc admin sessions lists them.\n\n"
      "Examples:\n"
      "  voxloc map canary --map town --revision 13 --vehicles bus-7,bus-9\n"
      "  voxloc map canary --map town --revision 13     nobody tries it any more");
  command->add_option("--map", options->map, "Try a revision of this map")
      ->type_name("NAME")
      ->required();
  command->add_option("--revision", options->revision, "Try a revision number N")
      ->type_name("N")
      ->required();
  command
      ->add_option("--vehicles", options->vehicles,
                   "Let these vehicles try it, separated by commas; default: none")
      ->type_name("V,...");
  AddServerFlags(command, &options->server);
  command->callback([options, chosen] { *chosen = [options] { return NameCanary(*options); }; });
}

}  // namespace voxloc::cli
