// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/cloud_file.h"

#include <algorithm>
#include <new>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/cloud/io/file_bytes.h"
#include "core/cloud/io/kitti_reader.h"
#include "core/cloud/io/pcd_header.h"
#include "core/cloud/io/ply.h"
#include "core/cloud/io/text_scan.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

// Nearly all headers fit the first; one of a thousand fields has 40 kB.
constexpr uint64_t kHeadBytes[] = {4 << 10, 256 << 10};

absl::Status InspectPcd(absl::string_view head, absl::string_view name, CloudFileInfo* info) {
  VOXLOC_ASSIGN_OR_RETURN(const PcdHeader header, ParsePcdHeader(head, name));
  info->points = header.points;
  info->viewpoint = header.viewpoint;
  return absl::OkStatus();
}

absl::Status InspectPly(absl::string_view head, absl::string_view name, CloudFileInfo* info) {
  VOXLOC_ASSIGN_OR_RETURN(const PlyHeader header, ParsePlyHeader(head, name));
  VOXLOC_ASSIGN_OR_RETURN(const PlyVertices vertices, FindPlyVertices(header, name));
  info->points = header.elements[vertices.element].count;
  return absl::OkStatus();
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
    switch (format) {
      case CloudFormat::kPcd:
        return ParsePcd(bytes, name, limits.max_points);
      case CloudFormat::kPly:
        return ParsePly(bytes, name, limits.max_points);
      case CloudFormat::kKittiBin:
        return ParseKittiBin(bytes, name, limits.max_points, limits.record_floats);
    }
    return absl::InvalidArgumentError(absl::StrCat(name, ": unknown cloud format"));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(name, ": no memory for its points"));
  }
}

absl::StatusOr<PointCloud> ReadCloud(const std::string& path, const CloudReadOptions& limits) {
  VOXLOC_ASSIGN_OR_RETURN(const CloudFormat format, CloudFormatOf(path));
  VOXLOC_ASSIGN_OR_RETURN(const FileBytes bytes, ReadFileBytes(path, limits.max_file_bytes));
  return ParseCloud(format, bytes.view(), path, limits);
}

absl::StatusOr<CloudFileInfo> InspectCloud(const std::string& path,
                                           const CloudReadOptions& options) {
  VOXLOC_ASSIGN_OR_RETURN(const CloudFormat format, CloudFormatOf(path));
  VOXLOC_ASSIGN_OR_RETURN(const RandomAccessFile file, RandomAccessFile::Open(path));
  CloudFileInfo info;
  info.format = format;
  if (file.size() == 0) return info;
  if (format == CloudFormat::kKittiBin) {
    VOXLOC_ASSIGN_OR_RETURN(const RecordFloats record,
                            RecordFloatsOfFile(file, path, options.record_floats));
    info.record = record;
    info.points = file.size() / (record.floats * sizeof(float));
    return info;
  }
  absl::Status status;
  for (const uint64_t most : kHeadBytes) {
    std::vector<char> bytes(static_cast<size_t>(std::min(file.size(), most)));
    VOXLOC_TRY(file.Read(0, bytes.size(), bytes.data()));
    const absl::string_view head(bytes.data(), bytes.size());
    status =
        format == CloudFormat::kPcd ? InspectPcd(head, path, &info) : InspectPly(head, path, &info);
    if (status.ok() || bytes.size() == file.size()) break;
  }
  if (!status.ok()) return status;
  return info;
}

}  // namespace voxloc
