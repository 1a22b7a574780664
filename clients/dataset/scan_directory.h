// SPDX-License-Identifier: Apache-2.0
//
// The scans of a drive: the cloud files of a directory.

#ifndef VOXLOC_CLIENTS_DATASET_SCAN_DIRECTORY_H_
#define VOXLOC_CLIENTS_DATASET_SCAN_DIRECTORY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace voxloc {

// The paths of the files in `path` (not below it) whose names end as a cloud's does, in the order
// of their names' bytes; or `path` itself where it is such a file. NotFound when there is no such
// path; InvalidArgument when it holds no cloud.
[[nodiscard]] absl::StatusOr<std::vector<std::string>> ListClouds(const std::string& path);

}  // namespace voxloc

#endif  // VOXLOC_CLIENTS_DATASET_SCAN_DIRECTORY_H_
