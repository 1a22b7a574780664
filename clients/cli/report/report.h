// SPDX-License-Identifier: Apache-2.0
//
// The report of a replay: one HTML file with everything in it, to be opened without a network.

#ifndef VOXLOC_CLIENTS_CLI_REPORT_REPORT_H_
#define VOXLOC_CLIENTS_CLI_REPORT_REPORT_H_

#include <string>

#include "absl/status/status.h"
#include "clients/cli/json_output.h"
#include "clients/cli/report/map_picture.h"

namespace voxloc::cli {

// The page, with the replay's results (as ReplayJson gives them) and the picture embedded.
[[nodiscard]] std::string ReportHtml(const Json& replay, const MapPicture& picture);

[[nodiscard]] absl::Status WriteReport(const std::string& path, const Json& replay,
                                       const MapPicture& picture);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPORT_REPORT_H_
