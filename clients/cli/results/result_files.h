// SPDX-License-Identifier: Apache-2.0
//
// The files that --output of `replay`, `align` and `locate` names, each in the format of its
// extension:
//
//   .csv   a row for every scan; docs/cli.md lists the columns
//   .mcap  messages of ROS 2, which are written while the scans are answered (mcap_recording.h)
//   .ply   the points of accepted scans in the map, likewise (aligned_points.h)
//   .tum   the accepted poses map_T_base, as evo reads them: stamp x y z qx qy qz qw
//
// A cell of the CSV is empty where the scan has no such value. Not thread-safe.

#ifndef VOXLOC_CLIENTS_CLI_RESULTS_RESULT_FILES_H_
#define VOXLOC_CLIENTS_CLI_RESULTS_RESULT_FILES_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/map/map_cells.h"
#include "clients/cli/replay/replay_results.h"
#include "clients/cli/results/aligned_points.h"
#include "clients/cli/results/mcap_recording.h"
#include "clients/cpp/channel.h"
#include "voxloc/v1/alignment.pb.h"
#include "voxloc/v1/initial_pose.pb.h"
#include "voxloc/v1/options.pb.h"

namespace CLI {
class App;
}

namespace voxloc::cli {

// Absolute and without links, whether it is there or not. Empty: the system does not say.
[[nodiscard]] std::filesystem::path FileBehind(const std::string& path);

// --output FILE, which can be repeated for other files. A wrong extension, a file that cannot be
// written and one that is given twice are errors of the command line.
void AddResultFilesFlag(CLI::App* command, std::vector<std::string>* paths);

class ResultFiles {
 public:
  // Creates those that are written while the scans are answered, once answers can come: what was in
  // a file is lost. The error names the file and the system's reason.
  [[nodiscard]] static absl::StatusOr<ResultFiles> Open(std::vector<std::string> paths);

  // Whether a file shows cells of the map.
  [[nodiscard]] bool HasScene() const { return !recordings_.empty(); }

  // Before the first scan: cells of the map around these poses. `timeout_s`: for each message.
  // Where the server denies them, a warning says so, and the files have none.
  void AddCellsAlong(const client::Channel& channel, const CellChoice& choice, int64_t stamp_ns,
                     const std::vector<Pose>& map_T_base, double timeout_s);

  // A scan that was answered. `truth`: nullptr where it is not known.
  void Add(const ReplayRow& row, const Pose* truth_map_T_base);

  // Ends all files. `rows`: as of a replay, in the order of the scans. To be called once.
  [[nodiscard]] absl::Status Close(const std::vector<ReplayRow>& rows);

 private:
  std::vector<std::string> paths_;
  std::vector<std::unique_ptr<McapRecording>> recordings_;
  std::vector<std::unique_ptr<AlignedPoints>> point_files_;
};

// What the answers are to have for these files.
void AddResultOutputs(const std::vector<std::string>& paths, v1::OutputOptions* output);

// All of it for a command with one scan, whose answer is here; the cells are those around its pose.
// Where the server does not give them, a warning says so.
[[nodiscard]] absl::Status WriteResultFiles(const std::vector<std::string>& paths,
                                            const client::Channel& channel, const MapFlags& map,
                                            const ReplayRow& row, double timeout_s);

// The row of one scan that `align` has sent. Its stamp is 0, and its truth has no meaning.
[[nodiscard]] ReplayRow RowOf(const std::string& file, const v1::AlignmentResult& result,
                              double latency_ms);

// Likewise of `locate`: the first pose that was found, accepted where Located (result_text.h).
[[nodiscard]] ReplayRow RowOf(const std::string& file, const v1::SearchResult& result,
                              double latency_ms);

[[nodiscard]] std::string ResultsCsv(const std::vector<ReplayRow>& rows);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_RESULTS_RESULT_FILES_H_
