// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/cloud_file.h"

#include <new>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/cloud/io/file_bytes.h"
#include "core/cloud/io/kitti_reader.h"
#include "core/cloud/io/text_scan.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

absl::StatusOr<PointCloud> Dispatch(CloudFormat format, absl::string_view bytes,
                                    absl::string_view name, const CloudReadOptions& options) {
  switch (format) {
    case CloudFormat::kPcd:
      return ParsePcd(bytes, name, options.max_points);
    case CloudFormat::kPly:
      return ParsePly(bytes, name, options.max_points);
    case CloudFormat::kKittiBin:
      return ParseKittiBin(bytes, name, options.max_points, options.record_floats);
  }
  return absl::InvalidArgumentError(absl::StrCat(name, ": unknown cloud format"));
}

}  // namespace

absl::StatusOr<CloudFormat> CloudFormatOf(absl::string_view path) {
  if (absl::EndsWithIgnoreCase(path, ".pcd")) return CloudFormat::kPcd;
  if (absl::EndsWithIgnoreCase(path, ".ply")) return CloudFormat::kPly;
  if (absl::EndsWithIgnoreCase(path, ".bin")) return CloudFormat::kKittiBin;
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": the file name must end in .pcd, .ply or .bin (KITTI)"));
}

absl::StatusOr<PointCloud> ParseCloud(CloudFormat format, absl::string_view bytes,
                                      absl::string_view name, const CloudReadOptions& limits) {
  if (bytes.size() > limits.max_file_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        name, ": must have at most ", limits.max_file_bytes, " bytes (got ", bytes.size(), ")"));
  }
  if (bytes.empty()) return Malformed(name, "the file is empty");
  try {
    return Dispatch(format, bytes, name, limits);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(name, ": no memory for its points"));
  }
}

absl::StatusOr<PointCloud> ReadCloud(const std::string& path, const CloudReadOptions& limits) {
  VOXLOC_ASSIGN_OR_RETURN(const CloudFormat format, CloudFormatOf(path));
  VOXLOC_ASSIGN_OR_RETURN(const FileBytes bytes, ReadFileBytes(path, limits.max_file_bytes));
  return ParseCloud(format, bytes.view(), path, limits);
}

}  // namespace voxloc
