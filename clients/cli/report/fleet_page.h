// SPDX-License-Identifier: Apache-2.0
//
// One look at a fleet as an HTML file, to be opened without a network.

#ifndef VOXLOC_CLIENTS_CLI_REPORT_FLEET_PAGE_H_
#define VOXLOC_CLIENTS_CLI_REPORT_FLEET_PAGE_H_

#include <string>

#include "clients/cli/json_output.h"

namespace voxloc::cli {

// `fleet` as FleetJson gives it.
[[nodiscard]] std::string FleetHtml(const Json& fleet);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPORT_FLEET_PAGE_H_
