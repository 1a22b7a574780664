// SPDX-License-Identifier: Apache-2.0
//
// A scan of a replay, read and thinned.

#ifndef VOXLOC_CLIENTS_CLI_REPLAY_LOADED_SCAN_H_
#define VOXLOC_CLIENTS_CLI_REPLAY_LOADED_SCAN_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "clients/cli/replay/scan_source.h"
#include "core/cloud/filters.h"
#include "core/cloud/io/cloud_file.h"
#include "voxloc/v1/cloud.pb.h"

namespace voxloc::cli {

struct LoadedScan {
  PointCloud cloud;    // as it is sent
  PointCloud picture;  // a choice of the points before thinning, for the report; may be empty
  // With the times of its points: sent in the place of `cloud`, and thinned by the server, which
  // first moves the points to where they were at the stamp.
  std::optional<v1::Cloud> timed;
};

// `name`: what the error calls the scan. `picture_points`: how many points the report wants; 0:
// none.
[[nodiscard]] absl::StatusOr<LoadedScan> ThinReplayScan(SourceScan source, const std::string& name,
                                                        const FilterOptions& filter,
                                                        size_t picture_points);

// The same of a file, whose path is its name.
[[nodiscard]] absl::StatusOr<LoadedScan> LoadReplayScan(const std::string& path,
                                                        const FilterOptions& filter,
                                                        size_t picture_points,
                                                        const CloudReadOptions& read = {});

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPLAY_LOADED_SCAN_H_
