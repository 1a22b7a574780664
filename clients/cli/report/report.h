// SPDX-License-Identifier: Apache-2.0
//
// The report of a replay: one HTML file with everything in it, to be opened without a network.

#ifndef VOXLOC_CLIENTS_CLI_REPORT_REPORT_H_
#define VOXLOC_CLIENTS_CLI_REPORT_REPORT_H_

#include <string>

#include "absl/status/status.h"
#include "clients/cli/json_output.h"
#include "clients/cli/report/map_picture.h"
#include "clients/cli/report/scan_view.h"

namespace voxloc::cli {

// What a report shows besides the results.
struct ReportContent {
  MapPicture picture;
  ScanViews views;
  Json compared;  // as CompareRuns gives it; null: no other run
};

// The page, with the replay's results (as ReplayJson gives them) and the rest embedded. Of more
// than kMaxReportRows rows every k-th is shown, which the page says; its statistics are of all.
[[nodiscard]] std::string ReportHtml(const Json& replay, const ReportContent& content);

[[nodiscard]] absl::Status WriteReport(const std::string& path, const Json& replay,
                                       const ReportContent& content);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPORT_REPORT_H_
