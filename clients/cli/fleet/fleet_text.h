// SPDX-License-Identifier: Apache-2.0
//
// A fleet as people see it in a terminal. What comes from the network is made safe
// (terminal.h). Pure functions.

#ifndef VOXLOC_CLIENTS_CLI_FLEET_FLEET_TEXT_H_
#define VOXLOC_CLIENTS_CLI_FLEET_FLEET_TEXT_H_

#include <cstddef>
#include <string>

#include "clients/cli/fleet/fleet_state.h"

namespace voxloc::cli {

struct FleetTextOptions {
  size_t max_columns = 0;  // of a line; 0: no limit
  size_t most_rows = 20;   // vehicles, and tiles, that are shown; the others are counted
};

// A line of totals, the errors, and the tables: servers, revisions of maps, vehicles (those that
// need attention first), tiles.
[[nodiscard]] std::string FleetText(const FleetState& fleet, const FleetTextOptions& options);

// At most `most_lines` lines of it, the last of which then says how many more there are.
[[nodiscard]] std::string FirstLines(const std::string& text, size_t most_lines);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_FLEET_FLEET_TEXT_H_
