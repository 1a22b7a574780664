// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/fleet/fleet_change.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/output/map_text.h"
#include "clients/cpp/map_client.h"

namespace voxloc::cli {
namespace {

v1::RevisionState StateAfter(FleetChange change) {
  return change == FleetChange::kActivate ? v1::REVISION_STATE_ACTIVE
                                          : v1::REVISION_STATE_WITHDRAWN;
}

absl::StatusOr<v1::MapRevision> FindRevision(const FleetEndpoint& endpoint, FleetChange change,
                                             const std::string& map, uint64_t number,
                                             double timeout_s) {
  const absl::StatusOr<std::vector<v1::MapRevision>> revisions =
      client::MapClient(endpoint.channel).ListRevisions(map, timeout_s);
  if (!revisions.ok()) return revisions.status();
  const auto found =
      std::find_if(revisions->begin(), revisions->end(),
                   [number](const v1::MapRevision& one) { return one.revision() == number; });
  if (found == revisions->end()) {
    return absl::NotFoundError(
        absl::StrCat(endpoint.address, " has no revision ", number, " of map ", map));
  }
  if (found->state() != v1::REVISION_STATE_STAGED && found->state() != StateAfter(change)) {
    return absl::FailedPreconditionError(absl::StrCat(endpoint.address, ": revision ", number,
                                                      " of map ", map, " must be staged (it is ",
                                                      RevisionStateText(*found), ")"));
  }
  return *found;
}

absl::Status ChangeOn(const FleetEndpoint& endpoint, FleetChange change, const std::string& map,
                      uint64_t revision, double timeout_s) {
  const client::MapClient maps(endpoint.channel);
  return change == FleetChange::kActivate ? maps.Activate(map, revision, timeout_s).status()
                                          : maps.Withdraw(map, revision, timeout_s).status();
}

}  // namespace

std::vector<FleetChangeOutcome> ChangeOnAll(const std::vector<FleetEndpoint>& endpoints,
                                            FleetChange change, const std::string& map,
                                            uint64_t revision, double timeout_s) {
  std::vector<FleetChangeOutcome> outcomes;
  bool can_change = true;
  for (const FleetEndpoint& endpoint : endpoints) {
    FleetChangeOutcome outcome;
    outcome.address = endpoint.address;
    absl::StatusOr<v1::MapRevision> found =
        FindRevision(endpoint, change, map, revision, timeout_s);
    if (found.ok()) outcome.revision = *std::move(found);
    outcome.status = found.status();
    can_change = can_change && outcome.status.ok();
    outcomes.push_back(std::move(outcome));
  }
  if (!can_change) return outcomes;
  for (size_t i = 0; i < endpoints.size(); ++i) {
    outcomes[i].status = ChangeOn(endpoints[i], change, map, revision, timeout_s);
    outcomes[i].changed = outcomes[i].status.ok();
    if (!outcomes[i].changed) break;
  }
  return outcomes;
}

}  // namespace voxloc::cli
