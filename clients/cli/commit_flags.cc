// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/commit_flags.h"

#include <CLI/CLI.hpp>

#include "absl/strings/str_split.h"

namespace voxloc::cli {

void CommitFlags::AddTo(v1::BeginUpdate* begin, v1::CommitUpdate* commit) const {
  begin->set_request_id(request_id);
  begin->set_base_revision(base_revision);
  commit->set_comment(comment);
  commit->set_stage(stages());
  for (const std::string& vehicle : NamesOf(canary)) commit->add_canary_vehicles(vehicle);
}

void AddCommitFlags(CLI::App* command, CommitFlags* flags) {
  command->add_option("--comment", flags->comment, "Note this in the map's history")
      ->type_name("TEXT")
      ->capture_default_str();
  command->add_flag("--stage", flags->stage,
                    "Commit the revision without putting it in use; voxloc map activate does that");
  command
      ->add_option("--canary", flags->canary,
                   "Stage the revision and let these vehicles try it, separated by commas")
      ->type_name("V,...");
  command
      ->add_option("--request-id", flags->request_id,
                   "Name the change, so that repeating the command after a failure does not commit "
                   "it twice; at most 128 bytes")
      ->type_name("ID");
  command
      ->add_option("--base-revision", flags->base_revision,
                   "Change the map only if it is at this revision; 0: any revision")
      ->type_name("N")
      ->capture_default_str();
}

std::vector<std::string> NamesOf(const std::string& comma_separated) {
  return absl::StrSplit(comma_separated, ',', absl::SkipEmpty());
}

}  // namespace voxloc::cli
