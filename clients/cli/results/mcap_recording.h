// SPDX-License-Identifier: Apache-2.0
//
// McapRecording: results as an MCAP file of ROS 2 messages, which Foxglove, rviz (by `ros2 bag
// play`) and readers of MCAP open without voxloc. What the bridge to ROS publishes for a scan is in
// it under /voxloc, with the same names (without `ndt_`), types and values; /tf, /diagnostics; and,
// once, cells of the map. docs/cli.md lists the topics. Messages have the stamps of their scans.
// Memory is that of McapWriter (mcap_writer.h). Not thread-safe.

#ifndef VOXLOC_CLIENTS_CLI_RESULTS_MCAP_RECORDING_H_
#define VOXLOC_CLIENTS_CLI_RESULTS_MCAP_RECORDING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cli/map/map_cells.h"
#include "clients/cli/replay/replay_results.h"
#include "clients/ros/core/diagnostics.h"
#include "clients/ros/core/parameters.h"
#include "clients/ros/core/result_outputs.h"

namespace voxloc::cli {

class RecordedOutput;

class McapRecording {
 public:
  // The error names the file and the system's reason.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<McapRecording>> Create(
      const std::string& path);
  ~McapRecording();

  // Each cell as a square across its two largest axes: as large as one whose points are evenly
  // spread and have the cell's standard deviations.
  void AddCells(int64_t stamp_ns, const std::vector<MapCell>& cells);

  void AddTruth(int64_t stamp_ns, const Pose& map_T_base);

  // Of a scan that was answered, with anything.
  void Add(const ReplayRow& row);

  // Writes the summary of the file. The error is the first that there was. To be called once, and
  // nothing after it.
  [[nodiscard]] absl::Status Close();

 private:
  explicit McapRecording(std::unique_ptr<RecordedOutput> output);

  ros::Parameters parameters_;
  std::unique_ptr<RecordedOutput> output_;
  ros::ResultOutputs results_;
  ros::SkippedScans skipped_;
  uint32_t resets_ = 0;  // of the filter, at the last answer
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_RESULTS_MCAP_RECORDING_H_
