// SPDX-License-Identifier: Apache-2.0
//
// Another run over the same scans, read from the JSON of its replay and laid beside this one. The
// file may hold anything: what is used of it is checked.

#ifndef VOXLOC_CLIENTS_CLI_REPORT_COMPARED_RUN_H_
#define VOXLOC_CLIENTS_CLI_REPORT_COMPARED_RUN_H_

#include <string>

#include "absl/status/statusor.h"
#include "clients/cli/output/output_file.h"

namespace voxloc::cli {

// The JSON that `voxloc replay --json` has written. NotFound: there is no such file.
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

#endif  // VOXLOC_CLIENTS_CLI_REPORT_COMPARED_RUN_H_
