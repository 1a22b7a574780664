// SPDX-License-Identifier: Apache-2.0

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/cloud/io/cloud_file.h"
#include "core/engine/job_check.h"
#include "core/status/try.h"
#include "voxloc/localizer.h"

namespace voxloc {

absl::StatusOr<Map> Map::FromPoints(PointCloud points_map) {
  Map map;
  VOXLOC_TRY(map.AddTile("map", std::move(points_map)));
  return map;
}

absl::StatusOr<Map> Map::FromFile(const std::string& path) {
  namespace fs = std::filesystem;
  Map map;
  const auto add = [&map](const fs::path& file, const std::string& id) -> absl::Status {
    VOXLOC_ASSIGN_OR_RETURN(PointCloud points_map, ReadCloud(file.string()));
    return map.AddTile(id, std::move(points_map));
  };
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    VOXLOC_TRY(add(path, fs::path(path).filename().string()));
    return map;
  }
  for (fs::recursive_directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path& file = entry->path();
    if (!entry->is_regular_file(error)) continue;
    VOXLOC_ASSIGN_OR_RETURN(const bool is_cloud, IsCloudOfFolder(file.string()));
    if (!is_cloud) continue;
    VOXLOC_TRY(add(file, file.lexically_relative(path).string()));
  }
  if (error) return absl::UnavailableError(absl::StrCat(path, ": ", error.message()));
  if (map.tiles().empty()) {
    return absl::NotFoundError(absl::StrCat(path, " has no file ", kFolderCloudNames));
  }
  return map;
}

absl::Status Map::AddTile(const std::string& id, PointCloud points_map) {
  VOXLOC_TRY(CheckColumns(points_map, absl::StrCat("tile '", id, "'")));
  tiles_[id] = std::make_shared<const PointCloud>(std::move(points_map));
  return absl::OkStatus();
}

}  // namespace voxloc
