// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/scan_directory.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/cloud/io/cloud_file.h"

namespace voxloc {

absl::StatusOr<std::vector<std::string>> ListClouds(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    return absl::NotFoundError(absl::StrCat(path, ": no such file or directory"));
  }
  if (error) return absl::UnavailableError(absl::StrCat(path, ": ", error.message()));
  if (!fs::is_directory(status)) {
    if (const auto format = CloudFormatOf(path); !format.ok()) return format.status();
    return std::vector<std::string>{path};
  }

  std::vector<std::string> clouds;
  fs::directory_iterator entry(path, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code entry_error;
    if (!entry->is_regular_file(entry_error) || entry_error) continue;
    if (CloudFormatOf(entry->path().native()).ok()) clouds.push_back(entry->path().native());
  }
  if (error) {
    return absl::UnavailableError(absl::StrCat(path, ": cannot list it: ", error.message()));
  }
  if (clouds.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": holds no cloud; a cloud's name ends in .pcd, .ply or .bin (KITTI)"));
  }
  std::sort(clouds.begin(), clouds.end());
  return clouds;
}

}  // namespace voxloc
