// SPDX-License-Identifier: Apache-2.0
//
// The rows of a replay as a report embeds them: few fields of each, and not more than the page can
// draw. Pure functions.

#ifndef VOXLOC_CLIENTS_CLI_REPORT_REPORT_ROWS_H_
#define VOXLOC_CLIENTS_CLI_REPORT_REPORT_ROWS_H_

#include <cstddef>

#include "clients/cli/json_output.h"

namespace voxloc::cli {

// About 11 MB of rows; more scans than a screen has columns of pixels.
inline constexpr size_t kMaxReportRows = 10'000;

// A row as ReplayJson gives it, without what the page does not use. In the place of `covariance`
// stands `position_covariance`: xx, xy, xz, yy, yz, zz, m^2, map axes; null where there is none.
[[nodiscard]] Json ReportRow(const Json& row);

// Every how many rows one is kept, so that at most kMaxReportRows are left. 1: all.
[[nodiscard]] size_t RowStep(size_t rows);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPORT_REPORT_ROWS_H_
