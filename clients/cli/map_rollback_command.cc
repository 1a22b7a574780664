// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/commands.h"
#include "clients/cli/commit_flags.h"
#include "clients/cli/revision_text.h"
#include "clients/cli/server_flags.h"
#include "clients/cli/upload_report.h"
#include "clients/cpp/map_client.h"

namespace voxloc::cli {
namespace {

struct MapRollbackFlags {
  ServerFlags server;
  CommitFlags commit;
  std::string map;
  std::string to;  // a number, or kPrevious
};

constexpr char kPrevious[] = "previous";

std::string ToError(const std::string& to) {
  uint64_t number = 0;
  return to == kPrevious || (absl::SimpleAtoi(to, &number) && number > 0)
             ? ""
             : "must be the number of a revision, or previous (got '" + to + "')";
}

// The revision to go back to: for `previous` the one that was in use before the one that is.
absl::StatusOr<uint64_t> RevisionToTake(const MapRollbackFlags& options) {
  uint64_t number = 0;
  if (absl::SimpleAtoi(options.to, &number)) return number;
  const absl::StatusOr<client::Channel> channel = Connect(options.server);
  if (!channel.ok()) return channel.status();
  const absl::StatusOr<std::vector<v1::MapRevision>> revisions =
      client::MapClient(*channel).ListRevisions(options.map, options.server.timeout_s);
  if (!revisions.ok()) return revisions.status();
  return PreviousRevision(options.map, *revisions);
}

absl::StatusOr<ExitCode> RollBack(const MapRollbackFlags& options) {
  const absl::StatusOr<uint64_t> to = RevisionToTake(options);
  if (!to.ok()) return to.status();
  v1::BeginUpdate begin;
  begin.set_map(options.map);
  begin.set_from_revision(*to);
  CommitFlags commit = options.commit;
  if (commit.comment.empty()) commit.comment = absl::StrCat("rollback to revision ", *to);
  const absl::StatusOr<client::UploadResult> result =
      UploadWithBar(options.server, commit, begin, {});
  if (!result.ok()) return result.status();
  const v1::UpdateCommitted& committed = result->committed;
  if (options.server.prints_text()) {
    absl::PrintF(
        "map %s, revision %d has the tiles of revision %d: %d changed, %d added, "
        "%d removed\n%s",
        options.map, committed.map().revision(), *to, committed.tiles_replaced(),
        committed.tiles_added(), committed.tiles_removed(),
        UploadNotes(*result, commit.stage || !commit.canary.empty(), 0));
  }
  Json json = UploadJson(*result);
  json["to"] = *to;
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
      "  voxloc map rollback --map town --to previous\n"
      "  voxloc map rollback --map town --to 12\n"
      "  voxloc map rollback --map town --to 12 --canary bus-7");
  command->add_option("--map", options->map, "Roll this map back")->type_name("NAME")->required();
  command
      ->add_option("--to", options->to,
                   "Take the tiles of this revision, one that voxloc map history lists, or of "
                   "the `previous` one, that was in use before")
      ->type_name("REVISION|previous")
      ->check(ToError)
      ->required();
  AddCommitFlags(command, &options->commit);
  AddServerFlags(command, &options->server);
  command->callback([options, chosen] { *chosen = [options] { return RollBack(*options); }; });
}

}  // namespace voxloc::cli
