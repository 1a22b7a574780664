// SPDX-License-Identifier: Apache-2.0
//
// The report's page, put together from page/ when the program is built. "{{data}}" stands where the
// data goes.

#ifndef VOXLOC_CLIENTS_CLI_REPORT_PAGE_H_
#define VOXLOC_CLIENTS_CLI_REPORT_PAGE_H_

#include "absl/strings/string_view.h"

namespace voxloc::cli {

[[nodiscard]] absl::string_view ReportPage();

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPORT_PAGE_H_
