// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/cloud_inspection.h"

#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/cloud/io/file_bytes.h"
#include "core/cloud/io/kitti_reader.h"
#include "core/cloud/io/pcd_header.h"
#include "core/cloud/io/ply_header.h"

namespace voxloc {
namespace {

// Nearly all headers fit the first; one of a thousand fields has 40 kB.
constexpr uint64_t kHeadBytes[] = {4 << 10, 256 << 10};

absl::Status InspectPcd(absl::string_view head, absl::string_view name, CloudFileInfo* info) {
  const absl::StatusOr<PcdHeader> header = ParsePcdHeader(head, name);
  if (!header.ok()) return header.status();
  info->points = header->points;
  info->viewpoint = header->viewpoint;
  return absl::OkStatus();
}

absl::Status InspectPly(absl::string_view head, absl::string_view name, CloudFileInfo* info) {
  const absl::StatusOr<PlyHeader> header = ParsePlyHeader(head, name);
  if (!header.ok()) return header.status();
  const absl::StatusOr<PlyVertices> vertices = FindPlyVertices(*header, name);
  if (!vertices.ok()) return vertices.status();
  info->points = header->elements[vertices->element].count;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CloudFileInfo> InspectCloud(const std::string& path,
                                           const CloudReadOptions& options) {
  const absl::StatusOr<CloudFormat> format = CloudFormatOf(path);
  if (!format.ok()) return format.status();
  const absl::StatusOr<FileParts> file = FileParts::Open(path);
  if (!file.ok()) return file.status();
  CloudFileInfo info;
  info.format = *format;
  if (file->size() == 0) return info;
  if (*format == CloudFormat::kKittiBin) {
    const absl::StatusOr<RecordFloats> record =
        RecordFloatsOfFile(*file, path, options.record_floats);
    if (!record.ok()) return record.status();
    info.record = *record;
    info.points = file->size() / (record->floats * sizeof(float));
    return info;
  }
  absl::Status status;
  for (const uint64_t most : kHeadBytes) {
    std::vector<char> bytes(static_cast<size_t>(std::min(file->size(), most)));
    status = file->Read(0, bytes.size(), bytes.data());
    if (!status.ok()) return status;
    const absl::string_view head(bytes.data(), bytes.size());
    status = *format == CloudFormat::kPcd ? InspectPcd(head, path, &info)
                                          : InspectPly(head, path, &info);
    if (status.ok() || bytes.size() == file->size()) break;
  }
  if (!status.ok()) return status;
  return info;
}

}  // namespace voxloc
