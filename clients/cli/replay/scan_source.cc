// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/replay/scan_source.h"

#include "core/cloud/io/cloud_file.h"

namespace voxloc::cli {

absl::StatusOr<PointCloud> FileScans::Next() { return ReadCloud(paths_[next_++]); }

}  // namespace voxloc::cli
