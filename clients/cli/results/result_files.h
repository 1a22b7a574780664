// SPDX-License-Identifier: Apache-2.0
//
// The files that --output of `replay`, `align` and `locate` names, each in the format of its
// extension:
//
//   .csv   a row for every scan; docs/cli.md lists the columns
//   .tum   the accepted poses map_T_base, as evo reads them: stamp x y z qx qy qz qw
//
// A cell of the CSV is empty where the scan has no such value.

#ifndef VOXLOC_CLIENTS_CLI_RESULTS_RESULT_FILES_H_
#define VOXLOC_CLIENTS_CLI_RESULTS_RESULT_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "clients/cli/replay/replay_results.h"
#include "voxloc/v1/alignment.pb.h"
#include "voxloc/v1/initial_pose.pb.h"

namespace CLI {
class App;
}

namespace voxloc::cli {

// --output FILE, which can be repeated. A wrong extension and a file that cannot be written are
// errors of the command line.
void AddResultFilesFlag(CLI::App* command, std::vector<std::string>* paths);

// Rows as of a replay, in the order of the scans. The error names the file and the system's reason.
[[nodiscard]] absl::Status WriteResultFiles(const std::vector<std::string>& paths,
                                            const std::vector<ReplayRow>& rows);

// The row of one scan that `align` has sent. Its stamp is 0, and its truth has no meaning.
[[nodiscard]] ReplayRow RowOf(const std::string& file, const v1::AlignmentResult& result,
                              double latency_ms);

// Likewise of `locate`: the first pose that was found, accepted where Located (result_text.h).
[[nodiscard]] ReplayRow RowOf(const std::string& file, const v1::SearchResult& result,
                              double latency_ms);

[[nodiscard]] std::string ResultsCsv(const std::vector<ReplayRow>& rows);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_RESULTS_RESULT_FILES_H_
