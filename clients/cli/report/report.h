// SPDX-License-Identifier: Apache-2.0
//
// Reports as HTML files that need no network: of a replay, and of one look at a fleet. The pages
// are put together from page/ when the program is built; "{{data}}" stands where a page's data
// goes.

#ifndef VOXLOC_CLIENTS_CLI_REPORT_REPORT_H_
#define VOXLOC_CLIENTS_CLI_REPORT_REPORT_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/cli/output/output.h"
#include "clients/cli/report/pictures.h"

namespace voxloc::cli {

// The page of a replay.
[[nodiscard]] absl::string_view ReportPage();

// The page of a fleet.
[[nodiscard]] absl::string_view FleetPage();

// About 11 MB of rows; more scans than a screen has columns of pixels.
inline constexpr size_t kMaxReportRows = 10'000;

// A row as ReplayJson gives it, without what the page does not use. In the place of `covariance`
// stands `position_covariance`: xx, xy, xz, yy, yz, zz, m^2, map axes; null where there is none.
[[nodiscard]] Json ReportRow(const Json& row);

// What a report also shows, apart from the results.
struct ReportContent {
  MapPicture picture;
  ScanViews views;
  Json compared;  // as CompareRuns gives it; null: no other run
};

// The page, with the replay's results (as ReplayJson gives them) and the rest embedded. Of more
// than kMaxReportRows rows every k-th is shown, which the page says; its statistics are of all.
[[nodiscard]] std::string ReportHtml(const Json& replay, const ReportContent& content);

// `fleet` as FleetJson gives it.
[[nodiscard]] std::string FleetHtml(const Json& fleet);

// Another run over the same scans: the JSON that `voxloc replay --json` has written. The file may
// hold anything: what is used of it is checked. NotFound: there is no such file.
// InvalidArgument: it is no such JSON, or larger than 1 GiB; the message names the file and the
// row.
[[nodiscard]] absl::StatusOr<Json> ReadRun(const std::string& path);

// What a report says of the other run: `name`, its setting, and `results`, which has for each row
// of `replay` the other run's row with the same stamp, or null. Scans that share a stamp are
// matched in their order. `unmatched`: rows of the other run that this one does not have.
// InvalidArgument: not one stamp is in both.
[[nodiscard]] absl::StatusOr<Json> CompareRuns(const Json& replay, const Json& other,
                                               const std::string& name);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPORT_REPORT_H_
