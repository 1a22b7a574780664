// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/cloud_records.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/cloud/io/kitti_reader.h"
#include "core/cloud/io/npy.h"
#include "core/cloud/io/ply.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

CloudRecords RecordsAt(const RecordLayout& layout, uint64_t offset, uint64_t points) {
  CloudRecords records;
  records.record_bytes = layout.record_bytes;
  records.offset = offset;
  records.points = points;
  records.layout = layout;
  return records;
}

std::optional<CloudRecords> PcdRecords(absl::string_view head, absl::string_view name) {
  const absl::StatusOr<PcdHeader> header = ParsePcdHeader(head, name);
  if (!header.ok() || header->encoding != PcdEncoding::kBinary) return std::nullopt;
  CloudRecords records = RecordsAt(header->Records(), header->data_offset, header->points);
  records.pcd = *header;
  return records;
}

std::optional<CloudRecords> PlyRecords(absl::string_view head, absl::string_view name) {
  const absl::StatusOr<PlyHeader> header = ParsePlyHeader(head, name);
  if (!header.ok() || header->ascii) return std::nullopt;
  const absl::StatusOr<PlyVertices> vertices = FindPlyVertices(*header, name);
  if (!vertices.ok() || header->elements[vertices->element].has_list()) return std::nullopt;
  uint64_t offset = header->data_offset;
  for (size_t i = 0; i < vertices->element; ++i) {
    const PlyElement& before = header->elements[i];
    if (before.has_list()) return std::nullopt;
    offset += static_cast<uint64_t>(before.bytes()) * before.count;
  }
  return RecordsAt(vertices->Records(*header), offset, header->elements[vertices->element].count);
}

absl::StatusOr<CloudRecords> BinFileRecords(const RandomAccessFile& file, absl::string_view name,
                                            size_t requested) {
  VOXLOC_ASSIGN_OR_RETURN(const RecordFloats record, RecordFloatsOfFile(file, name, requested));
  const RecordLayout layout = ScalarRecords(ScalarType::kFloat32, record.floats);
  return RecordsAt(layout, 0, file.size() / layout.record_bytes);
}

bool IsWhole(const CloudRecords& records, uint64_t file_bytes) {
  return records.offset <= file_bytes &&
         records.points <=
             (file_bytes - records.offset) / std::max<size_t>(1, records.record_bytes);
}

}  // namespace

PointCloud CloudRecords::PointsOf(const char* first, size_t count,
                                  std::optional<Eigen::Vector3d>* origin) const {
  if (las.has_value()) return CloudFromLas(*las, first, count, origin);
  PointCloud cloud = CloudFromColumns(layout.ColumnsOf(first, count), origin);
  return pcd.has_value() ? pcd->ApplyViewpoint(std::move(cloud)) : cloud;
}

absl::StatusOr<CloudRecords> ParseRecordsHeader(CloudFormat format, absl::string_view head,
                                                uint64_t file_bytes, ReadFilePart read,
                                                absl::string_view name,
                                                const CloudReadOptions& options) {
  if (format == CloudFormat::kNpy) {
    VOXLOC_ASSIGN_OR_RETURN(const NpyHeader header, ParseNpyHeader(head, file_bytes, name));
    return RecordsAt(header.records, header.data_offset, header.points);
  }
  VOXLOC_ASSIGN_OR_RETURN(LasHeader header, ParseLasHeader(head, file_bytes, name));
  VOXLOC_TRY(TakeExtendedRecords(file_bytes, read, name, header));
  header.scale_m.head<2>() *= options.xy_scale;
  header.offset_m.head<2>() *= options.xy_scale;
  if (!options.any_unit) VOXLOC_TRY(header.crs.units);
  CloudRecords records;
  records.record_bytes = header.record_bytes;
  records.offset = header.data_offset;
  records.points = header.points;
  records.las = std::move(header);
  return records;
}

absl::StatusOr<std::optional<CloudRecords>> FindRecords(const RandomAccessFile& file,
                                                        CloudFormat format, absl::string_view name,
                                                        const CloudReadOptions& options) {
  if (format == CloudFormat::kKittiBin) return BinFileRecords(file, name, options.record_floats);
  std::vector<char> bytes(static_cast<size_t>(std::min(file.size(), kCloudHeadBytes)));
  VOXLOC_TRY(file.Read(0, bytes.size(), bytes.data()));
  const absl::string_view head(bytes.data(), bytes.size());
  if (format == CloudFormat::kLas || format == CloudFormat::kNpy) {
    const auto read = [&file](uint64_t offset, size_t count, char* out) {
      return file.Read(offset, count, out);
    };
    return ParseRecordsHeader(format, head, file.size(), read, name, options);
  }
  std::optional<CloudRecords> records =
      format == CloudFormat::kPcd ? PcdRecords(head, name) : PlyRecords(head, name);
  if (records.has_value() && !IsWhole(*records, file.size())) records.reset();
  return records;
}

}  // namespace voxloc
