// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/flags/server_flags.h"
#include "clients/cli/fleet/fleet_poller.h"
#include "clients/cli/fleet/fleet_state.h"
#include "clients/cli/fleet/revision_trial.h"
#include "clients/cli/output/message_text.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/terminal.h"
#include "clients/cpp/map_client.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

// A change of a staged revision on all servers of a fleet. Nothing is changed unless every server
// answers and has the revision in a state that permits it. A change on one of several servers with
// a shared store changes all of them; the others then report that it is already done.
struct FleetChangeFlags {
  ServerFlags server;
  bool activate = false;  // otherwise the revision is withdrawn
  std::string map;
  uint64_t revision = 0;
  bool after_trial = false;  // only where the trial of the revision holds
  TrialRule rule;
};

// What a server has made of the change.
struct FleetChangeOutcome {
  std::string address;
  v1::MapRevision revision;  // before the change, as the server lists it
  bool changed = false;      // or was so already
  absl::Status status;       // not OK: why not
};

absl::StatusOr<v1::MapRevision> FindRevision(const FleetChangeFlags& flags,
                                             const FleetEndpoint& endpoint) {
  VOXLOC_ASSIGN_OR_RETURN(
      const std::vector<v1::MapRevision> revisions,
      client::MapClient(endpoint.channel).ListRevisions(flags.map, flags.server.timeout_s));
  const auto found = std::find_if(
      revisions.begin(), revisions.end(),
      [&flags](const v1::MapRevision& one) { return one.revision() == flags.revision; });
  if (found == revisions.end()) {
    return absl::NotFoundError(
        absl::StrCat(endpoint.address, " has no revision ", flags.revision, " of map ", flags.map));
  }
  const v1::RevisionState after =
      flags.activate ? v1::REVISION_STATE_ACTIVE : v1::REVISION_STATE_WITHDRAWN;
  if (found->state() != v1::REVISION_STATE_STAGED && found->state() != after) {
    return absl::FailedPreconditionError(
        absl::StrCat(endpoint.address, ": revision ", flags.revision, " of map ", flags.map,
                     " must be staged (it is ", RevisionStateText(*found), ")"));
  }
  return *found;
}

// An outcome for each server, in their order. Servers are changed one after another, and no further
// one after a failure.
std::vector<FleetChangeOutcome> ChangeOnAll(const FleetChangeFlags& flags,
                                            const std::vector<FleetEndpoint>& endpoints) {
  std::vector<FleetChangeOutcome> outcomes;
  bool can_change = true;
  for (const FleetEndpoint& endpoint : endpoints) {
    const absl::StatusOr<v1::MapRevision> found = FindRevision(flags, endpoint);
    outcomes.push_back(
        {endpoint.address, found.value_or(v1::MapRevision()), false, found.status()});
    can_change = can_change && found.ok();
  }
  if (!can_change) return outcomes;
  for (size_t i = 0; i < endpoints.size(); ++i) {
    const client::MapClient maps(endpoints[i].channel);
    const double timeout_s = flags.server.timeout_s;
    outcomes[i].status = flags.activate
                             ? maps.Activate(flags.map, flags.revision, timeout_s).status()
                             : maps.Withdraw(flags.map, flags.revision, timeout_s).status();
    outcomes[i].changed = outcomes[i].status.ok();
    if (!outcomes[i].changed) break;
  }
  return outcomes;
}

std::string OutcomeText(const FleetChangeFlags& flags, const FleetChangeOutcome& outcome) {
  if (outcome.changed) {
    return absl::StrCat(outcome.address, ": revision ", flags.revision,
                        flags.activate ? " is in use" : " is withdrawn");
  }
  if (outcome.status.ok()) return absl::StrCat(outcome.address, ": nothing was changed");
  return absl::StrCat("error: ", outcome.status.message());
}

// Whether the trial holds; says why not.
absl::StatusOr<ExitCode> JudgeTrial(const FleetChangeFlags& flags,
                                    const std::vector<FleetEndpoint>& endpoints) {
  std::vector<ServerPoller> pollers =
      MakePollers({flags.map, 0, flags.server.timeout_s}, endpoints);
  const FleetState fleet = PollFleet(pollers);
  for (const absl::Status& error : FleetErrors(fleet)) return error;
  const RevisionTrial trial = TrialOnAll(fleet, flags.map, flags.revision);
  const std::vector<std::string> faults = FindFaults(trial, flags.rule);
  if (faults.empty()) return ExitCode::kOk;
  std::string text = absl::StrFormat("the trial of revision %d of map %s does not hold:\n",
                                     flags.revision, EscapeForTerminal(flags.map));
  for (const std::string& fault : faults) absl::StrAppend(&text, "  ", fault, "\n");
  return Report(flags.server.json, text,
                {{"name", flags.map},
                 {"revision", flags.revision},
                 {"servers", Json::array()},
                 {"trial", TrialJson(trial)},
                 {"faults", faults}},
                ExitCode::kNotAccepted);
}

absl::StatusOr<ExitCode> ChangeFleet(const FleetChangeFlags& flags) {
  VOXLOC_ASSIGN_OR_RETURN(const std::vector<FleetEndpoint> endpoints, FleetEndpoints(flags.server));
  if (flags.after_trial) {
    VOXLOC_ASSIGN_OR_RETURN(const ExitCode judged, JudgeTrial(flags, endpoints));
    if (judged != ExitCode::kOk) return judged;
  }
  const std::vector<FleetChangeOutcome> outcomes = ChangeOnAll(flags, endpoints);
  Json list = Json::array();
  absl::Status failure;
  for (const FleetChangeOutcome& outcome : outcomes) {
    failure.Update(outcome.status);
    if (flags.server.prints_text()) {
      absl::PrintF("%s\n", EscapeForTerminal(OutcomeText(flags, outcome)));
    }
    list.push_back({{"server", outcome.address},
                    {"changed", outcome.changed},
                    {"error", outcome.status.ok() ? Json(nullptr)
                                                  : Json(std::string(outcome.status.message()))},
                    {"revision", MessageJson(outcome.revision)}});
  }
  const Json json = {{"name", flags.map}, {"revision", flags.revision}, {"servers", list}};
  VOXLOC_TRY(WriteJson(flags.server.json, json));
  return ExitCodeFor(failure);
}

void AddFleetChangeCommand(CLI::App* fleet, Work* chosen, bool activate) {
  const std::string name = activate ? "activate" : "withdraw";
  const auto [command, options] = AddCommand(
      fleet, chosen, &ChangeFleet, name,
      activate ? "Put a staged revision of a map in use on all servers"
               : "Take a staged revision of a map back on all servers",
      absl::StrCat(
          "Nothing is changed unless every server answers and lists the revision as staged, or as\n"
          "changed already. Servers are then changed one after another; the command stops at the\n"
          "first failure, says which servers were changed, and can be repeated.\n\n"
          "Example:\n  voxloc fleet ",
          name, " --server a:50051,b:50051 --map town --revision 13"));
  options->activate = activate;
  AddMapFlag(command, &options->map, "Change a revision of this map")->required();
  AddOption(command, "--revision", options->revision, "N", "Change the revision number N")
      ->required();
  AddFleetServerFlags(command, &options->server);
  if (!activate) return;
  CLI::Option* after_trial =
      command->add_flag("--after-trial", options->after_trial,
                        "Activate only where the trial holds: the vehicles that have used the "
                        "revision and another before, on all servers together, have enough answers "
                        "on both, and none of their means is worse on it; else exit with 4");
  AddDefaulted(command, "--min-scans", options->rule.min_scans, "N",
               "Ask for N answers of these vehicles on each of the two revisions")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000'000}))
      ->needs(after_trial);
  AddDefaulted(command, "--tolerance", options->rule.tolerance_percent, "P",
               "Take it for worse where score or innovation are so by more than P %, or the shares "
               "accepted, explained and seen through by more than P of 100 scans or points")
      ->check(CLI::Range(0.0, 100.0))
      ->needs(after_trial);
}

}  // namespace

void AddFleetChangeCommands(CLI::App* fleet, Work* chosen) {
  AddFleetChangeCommand(fleet, chosen, true);
  AddFleetChangeCommand(fleet, chosen, false);
}

}  // namespace voxloc::cli
