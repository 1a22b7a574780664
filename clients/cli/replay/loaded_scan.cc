// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/replay/loaded_scan.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace voxloc::cli {

absl::StatusOr<LoadedScan> ThinReplayScan(SourceScan source, const std::string& name,
                                          const FilterOptions& filter, size_t picture_points) {
  LoadedScan scan;
  if (picture_points > 0) {
    FilterOptions picture = filter;
    picture.voxel_leaf_m = 0.0;
    picture.max_points = picture_points;
    absl::StatusOr<FilteredCloud> chosen = FilterCloud(source.cloud, picture);
    if (chosen.ok()) scan.picture = std::move(chosen->cloud);
  }
  if (source.timed.has_value()) {
    scan.timed = *std::move(source.timed);
    return scan;
  }
  absl::StatusOr<FilteredCloud> filtered = FilterCloud(source.cloud, filter);
  if (!filtered.ok()) {
    return absl::Status(filtered.status().code(),
                        absl::StrCat(name, ": ", filtered.status().message()));
  }
  scan.cloud = std::move(filtered->cloud);
  return scan;
}

absl::StatusOr<LoadedScan> LoadReplayScan(const std::string& path, const FilterOptions& filter,
                                          size_t picture_points, const CloudReadOptions& read) {
  absl::StatusOr<PointCloud> cloud = ReadCloud(path, read);
  if (!cloud.ok()) return cloud.status();
  return ThinReplayScan({*std::move(cloud), std::nullopt}, path, filter, picture_points);
}

}  // namespace voxloc::cli
