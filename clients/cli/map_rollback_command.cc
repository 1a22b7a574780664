// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/commands.h"
#include "clients/cli/commit_flags.h"
#include "clients/cli/server_flags.h"
#include "clients/cli/upload_report.h"

namespace voxloc::cli {
namespace {

struct MapRollbackFlags {
  ServerFlags server;
  CommitFlags commit;
  std::string map;
  uint64_t to = 0;
};

absl::StatusOr<ExitCode> RollBack(const MapRollbackFlags& options) {
  v1::BeginUpdate begin;
  begin.set_map(options.map);
  begin.set_from_revision(options.to);
  CommitFlags commit = options.commit;
  if (commit.comment.empty()) commit.comment = absl::StrCat("rollback to revision ", options.to);
  const absl::StatusOr<client::UploadResult> result =
      UploadWithBar(options.server, commit, begin, {});
  if (!result.ok()) return result.status();
  const v1::UpdateCommitted& committed = result->committed;
  if (options.server.prints_text()) {
    absl::PrintF(
        "map %s, revision %d has the tiles of revision %d: %d changed, %d added, "
        "%d removed\n%s",
        options.map, committed.map().revision(), options.to, committed.tiles_replaced(),
        committed.tiles_added(), committed.tiles_removed(),
        UploadNotes(*result, commit.stage || !commit.canary.empty(), 0));
  }
  Json json = UploadJson(*result);
  json["to"] = options.to;
  if (absl::Status status = WriteJson(options.server.json, json); !status.ok()) return status;
  return ExitCode::kOk;
}

}  // namespace

void AddMapRollbackCommand(CLI::App* parent, Work* chosen) {
  auto options = std::make_shared<MapRollbackFlags>();
  options->server.timeout_s = 120.0;
  CLI::App* command =
      parent->add_subcommand("rollback", "Make an earlier revision of a map the newest");
  command->footer(
      "Makes a new revision with the tiles of an earlier one. What was committed since is undone,\n"
      "and stays in the history. No points are sent.\n\n"
      "Examples:\n"
      "  voxloc map rollback --map town --to 12\n"
      "  voxloc map rollback --map town --to 12 --canary bus-7");
  command->add_option("--map", options->map, "Roll this map back")->type_name("NAME")->required();
  command
      ->add_option("--to", options->to,
                   "Take the tiles of this revision, one that voxloc map history lists")
      ->type_name("REVISION")
      ->required();
  AddCommitFlags(command, &options->commit);
  AddServerFlags(command, &options->server);
  command->callback([options, chosen] { *chosen = [options] { return RollBack(*options); }; });
}

}  // namespace voxloc::cli
