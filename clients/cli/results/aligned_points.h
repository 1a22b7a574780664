// SPDX-License-Identifier: Apache-2.0
//
// AlignedPoints: the points of accepted scans where their poses place them in the map, as one PLY,
// binary and little-endian: x y z (double, metres) and the number of the scan. Written scan by
// scan, so that memory does not grow with the drive. Not thread-safe.

#ifndef VOXLOC_CLIENTS_CLI_RESULTS_ALIGNED_POINTS_H_
#define VOXLOC_CLIENTS_CLI_RESULTS_ALIGNED_POINTS_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cli/output/counted_file.h"
#include "clients/cli/replay/replay_results.h"

namespace voxloc::cli {

class AlignedPoints {
 public:
  // The error names the file and the system's reason.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<AlignedPoints>> Create(
      const std::string& path);

  // Of a scan whose answer has the aligned cloud (OutputOptions.aligned_cloud).
  void Add(const ReplayRow& row);

  // The error is the first that there was. To be called once, and nothing after it.
  [[nodiscard]] absl::Status Close();

 private:
  explicit AlignedPoints(std::unique_ptr<CountedFile> file) : file_(std::move(file)) {}

  const std::unique_ptr<CountedFile> file_;
  absl::Status status_;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_RESULTS_ALIGNED_POINTS_H_
