// SPDX-License-Identifier: Apache-2.0
//
// A change of a staged revision on all servers of a fleet. It is made nowhere unless every server
// answers and has the revision in a state in which it can be changed. Servers that share one store
// take the change together; the others of them then answer that it is made already.

#ifndef VOXLOC_CLIENTS_CLI_FLEET_FLEET_CHANGE_H_
#define VOXLOC_CLIENTS_CLI_FLEET_FLEET_CHANGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "clients/cli/fleet/fleet_poller.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::cli {

enum class FleetChange { kActivate, kWithdraw };

// What a server has made of it.
struct FleetChangeOutcome {
  std::string address;
  v1::MapRevision revision;  // before the change, as the server lists it
  bool changed = false;      // or was so already
  absl::Status status;       // not OK: why not
};

// An outcome for each server, in their order. Servers are changed one after another, and no further
// one after a failure. `timeout_s`: of each call; 0: no limit.
[[nodiscard]] std::vector<FleetChangeOutcome> ChangeOnAll(
    const std::vector<FleetEndpoint>& endpoints, FleetChange change, const std::string& map,
    uint64_t revision, double timeout_s);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_FLEET_FLEET_CHANGE_H_
