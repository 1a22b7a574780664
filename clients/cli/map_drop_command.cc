// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/commands.h"
#include "clients/cli/confirmation.h"
#include "clients/cli/json_output.h"
#include "clients/cli/map_text.h"
#include "clients/cli/server_flags.h"
#include "clients/cpp/error_details.h"
#include "clients/cpp/map_client.h"

namespace voxloc::cli {
namespace {

struct MapDropFlags {
  ServerFlags server;
  std::string map;
  uint64_t revision = 0;
  bool yes = false;
  bool force = false;
};

// A map can be deleted that cannot be loaded, or has staged revisions only.
bool IsThereWithoutInfo(const absl::Status& status) {
  const std::string reason = client::ReasonOf(status);
  return reason == "MAP_NOT_LOADED" || reason == "MAP_LOADING" || reason == "MAP_NOT_ACTIVE";
}

absl::StatusOr<ExitCode> DropMap(const MapDropFlags& options) {
  absl::StatusOr<client::Channel> channel = Connect(options.server);
  if (!channel.ok()) return channel.status();
  const client::MapClient client(*channel);
  uint64_t revision = options.revision;
  if (!options.yes) {
    const absl::StatusOr<v1::MapInfo> info = client.Get(options.map, options.server.timeout_s);
    std::string question;
    if (info.ok()) {
      // The one that is asked about, whatever is committed meanwhile.
      if (revision == 0) revision = info->revision();
      question =
          absl::StrFormat("Delete map %s (revision %d, %d tiles, %d points) from %s?", options.map,
                          info->revision(), info->tiles(), info->points(), channel->server());
    } else if (IsThereWithoutInfo(info.status())) {
      question = absl::StrFormat("Delete map %s (%s)?", options.map, info.status().message());
    } else {
      return info.status();
    }
    switch (ConfirmOnTerminal(question, options.yes)) {
      case Confirmation::kYes:
        break;
      case Confirmation::kNo:
        std::fputs("voxloc: nothing was deleted\n", stderr);
        return ExitCode::kFailed;
      case Confirmation::kNobodyToAsk:
        std::fputs("voxloc: --yes must be given where standard input is no terminal\n", stderr);
        return ExitCode::kUsage;
    }
  }
  absl::StatusOr<uint64_t> deleted = client.Drop(options.map, revision, options.server.timeout_s,
                                                 /*unless_in_use=*/!options.force);
  if (client::ReasonOf(deleted.status()) == "MAP_IN_USE") {
    return absl::Status(deleted.status().code(), absl::StrCat(deleted.status().message(),
                                                              "; --force deletes it all the same"));
  }
  if (!deleted.ok()) return deleted.status();
  if (options.server.prints_text()) {
    absl::PrintF(
        "map %s is deleted; its last revision was %d. For a day, `voxloc map undrop --map %s` "
        "takes it back\n",
        options.map, *deleted, options.map);
  }
  const Json result = {{"name", options.map}, {"revision", *deleted}};
  if (absl::Status status = WriteJson(options.server.json, result); !status.ok()) return status;
  return ExitCode::kOk;
}

struct MapUndropFlags {
  ServerFlags server;
  std::string map;
};

absl::StatusOr<ExitCode> UndropMap(const MapUndropFlags& options) {
  absl::StatusOr<client::Channel> channel = Connect(options.server);
  if (!channel.ok()) return channel.status();
  const absl::StatusOr<v1::MapInfo> map =
      client::MapClient(*channel).Undrop(options.map, options.server.timeout_s);
  if (!map.ok()) return map.status();
  if (options.server.prints_text()) {
    absl::PrintF("map %s is in use again, at revision %d, as soon as it is loaded\n", options.map,
                 map->revision());
  }
  if (absl::Status status = WriteJson(options.server.json, MapJson(*map)); !status.ok()) {
    return status;
  }
  return ExitCode::kOk;
}

}  // namespace

void AddMapDropCommand(CLI::App* parent, Work* chosen) {
  auto options = std::make_shared<MapDropFlags>();
  CLI::App* command = parent->add_subcommand("drop", "Delete a map from a server");
  command->footer(
      "Asks first, and refuses while sessions of the server use the map. With --force they stay\n"
      "open, and their scans are answered NO_MAP. For a day, voxloc map undrop takes it back.\n\n"
      "Example:\n  voxloc map drop --server localhost:50051 --map town");
  command->add_option("--map", options->map, "Delete this map")->type_name("NAME")->required();
  command
      ->add_option("--revision", options->revision,
                   "Delete the map only at this revision; 0: any revision")
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--yes", options->yes, "Do not ask");
  command->add_flag("--force", options->force, "Delete the map also while sessions use it");
  AddServerFlags(command, &options->server);
  command->callback([options, chosen] { *chosen = [options] { return DropMap(*options); }; });
}

void AddMapUndropCommand(CLI::App* parent, Work* chosen) {
  auto options = std::make_shared<MapUndropFlags>();
  CLI::App* command = parent->add_subcommand("undrop", "Take the deletion of a map back");
  command->footer(
      "The map that was deleted last under this name is in use again, with its revisions. A\n"
      "server remembers deleted maps for a day.\n\n"
      "Example:\n  voxloc map undrop --server localhost:50051 --map town");
  command->add_option("--map", options->map, "Take this map back")->type_name("NAME")->required();
  options->server.timeout_s = 120.0;
  AddServerFlags(command, &options->server);
  command->callback([options, chosen] { *chosen = [options] { return UndropMap(*options); }; });
}

}  // namespace voxloc::cli
