// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/cloud_file.h"

#include <algorithm>
#include <filesystem>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/cloud/io/cloud_pieces.h"
#include "core/cloud/io/cloud_records.h"
#include "core/cloud/io/file_bytes.h"
#include "core/cloud/io/kitti_reader.h"
#include "core/cloud/io/pcd_header.h"
#include "core/cloud/io/ply.h"
#include "core/cloud/io/text_points.h"
#include "core/cloud/io/text_scan.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

constexpr std::pair<absl::string_view, CloudFormat> kExtensions[] = {
    {".pcd", CloudFormat::kPcd},  {".ply", CloudFormat::kPly},  {".bin", CloudFormat::kKittiBin},
    {".las", CloudFormat::kLas},  {".npy", CloudFormat::kNpy},  {".xyz", CloudFormat::kText},
    {".csv", CloudFormat::kText}, {".txt", CloudFormat::kText},
};

// The command that makes a LAS file of a LAZ or E57 file; empty: it is another.
std::string ConversionOf(absl::string_view path) {
  for (const absl::string_view extension : {".laz", ".e57"}) {
    if (!absl::EndsWithIgnoreCase(path, extension)) continue;
    const absl::string_view stem = path.substr(0, path.size() - extension.size());
    return absl::StrCat("pdal translate ", path, " ", stem, ".las");
  }
  return "";
}

// Nearly all headers fit the first, but for a LAS file's, with its CRS; one of a thousand fields
// has 40 kB.
constexpr uint64_t kHeadBytes[] = {4 << 10, kCloudHeadBytes};

absl::StatusOr<PointCloud> ParseRecords(CloudFormat format, absl::string_view bytes,
                                        absl::string_view name, const CloudReadOptions& limits) {
  const auto read = [bytes](uint64_t offset, size_t count, char* out) {
    bytes.copy(out, count, static_cast<size_t>(offset));
    return absl::OkStatus();
  };
  VOXLOC_ASSIGN_OR_RETURN(const CloudRecords records,
                          ParseRecordsHeader(format, bytes, bytes.size(), read, name, limits));
  if (records.points > limits.max_points) {
    return absl::ResourceExhaustedError(absl::StrCat(
        name, ": must have at most ", limits.max_points, " points (got ", records.points, ")"));
  }
  std::optional<Eigen::Vector3d> origin;
  return records.PointsOf(bytes.data() + records.offset, static_cast<size_t>(records.points),
                          &origin);
}

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

absl::Status InspectHead(CloudFormat format, absl::string_view head, const RandomAccessFile& file,
                         absl::string_view name, const CloudReadOptions& options,
                         CloudFileInfo* info) {
  if (format == CloudFormat::kPcd) return InspectPcd(head, name, info);
  if (format == CloudFormat::kPly) return InspectPly(head, name, info);
  if (format == CloudFormat::kText) {
    VOXLOC_ASSIGN_OR_RETURN(info->points, EstimateTextPoints(head, file.size(), name));
    return absl::OkStatus();
  }
  const auto read = [&file](uint64_t offset, size_t count, char* out) {
    return file.Read(offset, count, out);
  };
  VOXLOC_ASSIGN_OR_RETURN(const CloudRecords records,
                          ParseRecordsHeader(format, head, file.size(), read, name, options));
  info->points = records.points;
  if (records.las.has_value()) info->crs = records.las->crs.definition;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CloudFormat> CloudFormatOf(absl::string_view path) {
  for (const auto& [extension, format] : kExtensions) {
    if (absl::EndsWithIgnoreCase(path, extension)) return format;
  }
  const std::string command = ConversionOf(path);
  if (!command.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": this format is not read; convert the file: ", command));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": the file name must end in ", kCloudNames));
}

absl::StatusOr<bool> IsCloudOfFolder(const std::string& path) {
  const absl::StatusOr<CloudFormat> format = CloudFormatOf(path);
  if (format.ok()) {
    return !absl::EndsWithIgnoreCase(path, ".txt") && !absl::EndsWithIgnoreCase(path, ".csv");
  }
  if (ConversionOf(path).empty()) return false;
  std::error_code error;
  if (std::filesystem::exists(std::filesystem::path(path).replace_extension("las"), error)) {
    return false;
  }
  return format.status();
}

absl::StatusOr<PointCloud> ParseCloud(CloudFormat format, absl::string_view bytes,
                                      absl::string_view name, const CloudReadOptions& limits) {
  VOXLOC_TRY(CheckFileSize(name, bytes.size(), limits.max_file_bytes));
  if (bytes.empty()) return Malformed(name, "the file is empty");
  try {
    switch (format) {
      case CloudFormat::kPcd:
        return ParsePcd(bytes, name, limits.max_points);
      case CloudFormat::kPly:
        return ParsePly(bytes, name, limits.max_points);
      case CloudFormat::kKittiBin:
        return ParseKittiBin(bytes, name, limits.max_points, limits.record_floats);
      case CloudFormat::kLas:
      case CloudFormat::kNpy:
        return ParseRecords(format, bytes, name, limits);
      case CloudFormat::kText:
        return ParseTextPoints(bytes, name, limits.max_points, limits.xy_scale);
    }
    return absl::InvalidArgumentError(absl::StrCat(name, ": unknown cloud format"));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(name, ": no memory for its points"));
  }
}

absl::StatusOr<PointCloud> ReadCloud(const std::string& path, const CloudReadOptions& limits) {
  VOXLOC_ASSIGN_OR_RETURN(const CloudFormat format, CloudFormatOf(path));
  if (format == CloudFormat::kLas || format == CloudFormat::kNpy || format == CloudFormat::kText) {
    return ReadAllPieces(path, limits);
  }
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
    if (format == CloudFormat::kLas && most < kCloudHeadBytes) continue;
    std::vector<char> bytes(static_cast<size_t>(std::min(file.size(), most)));
    VOXLOC_TRY(file.Read(0, bytes.size(), bytes.data()));
    const absl::string_view head(bytes.data(), bytes.size());
    status = InspectHead(format, head, file, path, options, &info);
    if (status.ok() || bytes.size() == file.size()) break;
  }
  if (!status.ok()) return status;
  return info;
}

}  // namespace voxloc
