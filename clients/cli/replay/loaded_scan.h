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

// `picture_points`: how many points the report wants; 0: none. The error names the file.
[[nodiscard]] absl::StatusOr<LoadedScan> LoadReplayScan(const std::string& path,
                                                        const FilterOptions& filter,
                                                        size_t picture_points);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPLAY_LOADED_SCAN_H_
