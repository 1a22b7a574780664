// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/replay/loaded_scan.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/cloud/io/cloud_file.h"

namespace voxloc::cli {

absl::StatusOr<LoadedScan> ThinReplayScan(const PointCloud& cloud, const std::string& name,
                                          const FilterOptions& filter, size_t picture_points) {
  absl::StatusOr<FilteredCloud> filtered = FilterCloud(cloud, filter);
  if (!filtered.ok()) {
    return absl::Status(filtered.status().code(),
                        absl::StrCat(name, ": ", filtered.status().message()));
  }
  LoadedScan scan;
  scan.cloud = std::move(filtered->cloud);
  if (picture_points > 0) {
    FilterOptions picture = filter;
    picture.voxel_leaf_m = 0.0;
    picture.max_points = picture_points;
    absl::StatusOr<FilteredCloud> chosen = FilterCloud(cloud, picture);
    if (chosen.ok()) scan.picture = std::move(chosen->cloud);
  }
  return scan;
}

absl::StatusOr<LoadedScan> LoadReplayScan(const std::string& path, const FilterOptions& filter,
                                          size_t picture_points) {
  const absl::StatusOr<PointCloud> cloud = ReadCloud(path);
  if (!cloud.ok()) return cloud.status();
  return ThinReplayScan(*cloud, path, filter, picture_points);
}

}  // namespace voxloc::cli
