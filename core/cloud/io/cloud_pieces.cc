// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/cloud_pieces.h"

#include <algorithm>
#include <new>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/cloud/io/kitti_reader.h"
#include "core/cloud/io/pcd_header.h"
#include "core/cloud/io/ply.h"
#include "core/cloud/io/text_scan.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

// Where a header is looked for. A point of a thousand fields has one of 40 kB.
constexpr uint64_t kHeaderBytes = 256 << 10;

std::optional<CloudRecords> PcdRecords(absl::string_view head, absl::string_view name) {
  const absl::StatusOr<PcdHeader> header = ParsePcdHeader(head, name);
  if (!header.ok() || header->encoding != PcdEncoding::kBinary) return std::nullopt;
  return CloudRecords{header->Records(), header->data_offset, header->points, *header};
}

std::optional<CloudRecords> PlyRecords(absl::string_view head, absl::string_view name) {
  const absl::StatusOr<PlyHeader> header = ParsePlyHeader(head, name);
  if (!header.ok() || header->ascii) return std::nullopt;
  const absl::StatusOr<PlyVertices> vertices = FindPlyVertices(*header, name);
  if (!vertices.ok() || header->elements[vertices->element].has_list()) return std::nullopt;
  CloudRecords records{vertices->Records(*header), header->data_offset,
                       header->elements[vertices->element].count, std::nullopt};
  for (size_t i = 0; i < vertices->element; ++i) {
    const PlyElement& before = header->elements[i];
    if (before.has_list()) return std::nullopt;
    records.offset += static_cast<uint64_t>(before.bytes()) * before.count;
  }
  return records;
}

absl::StatusOr<std::optional<CloudRecords>> BinFileRecords(const RandomAccessFile& file,
                                                           absl::string_view name,
                                                           size_t requested) {
  VOXLOC_ASSIGN_OR_RETURN(const RecordFloats record, RecordFloatsOfFile(file, name, requested));
  const RecordLayout layout = BinRecords(record.floats);
  return CloudRecords{layout, 0, file.size() / layout.record_bytes, std::nullopt};
}

// nullopt: the file must be read whole, or is malformed; reading it whole then gives the error.
absl::StatusOr<std::optional<CloudRecords>> RecordsOf(const RandomAccessFile& file,
                                                      CloudFormat format, absl::string_view name,
                                                      const CloudReadOptions& options) {
  if (format == CloudFormat::kKittiBin) return BinFileRecords(file, name, options.record_floats);
  std::vector<char> bytes(static_cast<size_t>(std::min(file.size(), kHeaderBytes)));
  VOXLOC_TRY(file.Read(0, bytes.size(), bytes.data()));
  const absl::string_view head(bytes.data(), bytes.size());
  std::optional<CloudRecords> records =
      format == CloudFormat::kPcd ? PcdRecords(head, name) : PlyRecords(head, name);
  const bool fits = records.has_value() && records->offset <= file.size() &&
                    records->points <= (file.size() - records->offset) /
                                           std::max<size_t>(1, records->layout.record_bytes);
  return fits ? records : std::nullopt;
}

}  // namespace

absl::StatusOr<CloudPieceReader> CloudPieceReader::Open(const std::string& path,
                                                        const CloudPieceOptions& options) {
  VOXLOC_ASSIGN_OR_RETURN(const CloudFormat format, CloudFormatOf(path));
  VOXLOC_ASSIGN_OR_RETURN(RandomAccessFile file, RandomAccessFile::Open(path));
  if (file.size() == 0) return ReadCloud(path, options.read).status();  // says that it is empty
  VOXLOC_ASSIGN_OR_RETURN(const std::optional<CloudRecords> records,
                          RecordsOf(file, format, path, options.read));
  CloudPieceReader reader;
  if (!records.has_value()) {
    VOXLOC_ASSIGN_OR_RETURN(reader.whole_, ReadCloud(path, options.read));
    reader.points_ = reader.whole_.size();
    return reader;
  }
  reader.points_ = records->points;
  reader.file_.emplace(std::move(file));
  reader.records_ = *records;
  reader.piece_points_ = std::max<size_t>(1, options.piece_points);
  return reader;
}

absl::StatusOr<PointCloud> CloudPieceReader::Next() {
  if (!streams()) return std::exchange(whole_, PointCloud());
  const auto count = static_cast<size_t>(std::min<uint64_t>(piece_points_, points_ - done_));
  if (count == 0) return PointCloud();
  try {
    const size_t record_bytes = records_.layout.record_bytes;
    bytes_.resize(count * record_bytes);
    const uint64_t offset = records_.offset + done_ * record_bytes;
    VOXLOC_TRY(file_->Read(offset, bytes_.size(), bytes_.data()));
    done_ += count;
    PointCloud piece = CloudFromColumns(records_.layout.ColumnsOf(bytes_.data(), count), &origin_);
    return records_.pcd.has_value() ? records_.pcd->ApplyViewpoint(std::move(piece)) : piece;
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for ", count, " points of ",
                                                     records_.layout.record_bytes, " bytes"));
  }
}

}  // namespace voxloc
