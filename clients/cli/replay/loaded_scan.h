// SPDX-License-Identifier: Apache-2.0
//
// A scan of a replay, read and thinned.

#ifndef VOXLOC_CLIENTS_CLI_REPLAY_LOADED_SCAN_H_
#define VOXLOC_CLIENTS_CLI_REPLAY_LOADED_SCAN_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "core/cloud/filters.h"

namespace voxloc::cli {

struct LoadedScan {
  PointCloud cloud;    // as it is sent
  PointCloud picture;  // a choice of the points before thinning, for the report; may be empty
};

// `name`: what the error calls the scan. `picture_points`: how many points the report wants; 0:
// none.
[[nodiscard]] absl::StatusOr<LoadedScan> ThinReplayScan(const PointCloud& cloud,
                                                        const std::string& name,
                                                        const FilterOptions& filter,
                                                        size_t picture_points);

// The same of a file, whose path is its name.
[[nodiscard]] absl::StatusOr<LoadedScan> LoadReplayScan(const std::string& path,
                                                        const FilterOptions& filter,
                                                        size_t picture_points);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPLAY_LOADED_SCAN_H_
