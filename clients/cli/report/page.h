// SPDX-License-Identifier: Apache-2.0
//
// Pages that need no network, put together from page/ when the program is built. "{{data}}" stands
// where a page's data goes.

#ifndef VOXLOC_CLIENTS_CLI_REPORT_PAGE_H_
#define VOXLOC_CLIENTS_CLI_REPORT_PAGE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "clients/cli/json_output.h"

namespace voxloc::cli {

// Of a replay.
[[nodiscard]] absl::string_view ReportPage();

// Of a fleet.
[[nodiscard]] absl::string_view FleetPage();

// The page with its data. No text in the data can end the script element that holds it.
[[nodiscard]] std::string PageWithData(absl::string_view page, const Json& data);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPORT_PAGE_H_
