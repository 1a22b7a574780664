// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/las.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/cloud/io/cloud_builder.h"
#include "core/cloud/io/text_scan.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

// Offsets into the header, which "Public Header Block" of the specification lists.
constexpr size_t kVersionMajor = 24;
constexpr size_t kVersionMinor = 25;
constexpr size_t kHeaderSize = 94;
constexpr size_t kDataOffset = 96;
constexpr size_t kVlrCount = 100;
constexpr size_t kPointFormat = 104;
constexpr size_t kRecordBytes = 105;
constexpr size_t kLegacyPoints = 107;
constexpr size_t kScales = 131;
constexpr size_t kOffsets = 155;
constexpr size_t kExtendedOffset = 235;
constexpr size_t kExtendedCount = 243;
constexpr size_t kPoints = 247;

// The headers of 1.2 and 1.3 are alike in what is read here.
constexpr size_t kHeaderBytesBefore14 = 227;

// The least size of a record of each format, 0 to 10.
constexpr size_t kLeastRecordBytes[] = {20, 28, 26, 34, 57, 63, 30, 36, 38, 59, 67};
// From this format on, flags and classification have a byte each.
constexpr uint8_t kFirstLongFormat = 6;
// LASzip marks its files in the upper bits of the format.
constexpr uint8_t kCompressedBits = 0xC0;

// Offsets into a record, the same in all formats.
constexpr size_t kRecordIntensity = 12;
constexpr size_t kRecordFlags = 15;

absl::Status CheckVersion(const char* head, absl::string_view name) {
  const auto major = LoadAt<uint8_t>(head, kVersionMajor);
  const auto minor = LoadAt<uint8_t>(head, kVersionMinor);
  if (major == 1 && minor >= 2 && minor <= 4) return absl::OkStatus();
  return MalformedByte(name, kVersionMajor, "the version of LAS must be 1.2, 1.3 or 1.4 (got ",
                       major, ".", minor, ")");
}

// The number of points: in 1.4 that of 64 bits, or the legacy one where a writer has left the new
// one empty.
absl::StatusOr<uint64_t> PointsOfHeader(const char* head, bool extended, absl::string_view name) {
  const uint64_t legacy = LoadAt<uint32_t>(head, kLegacyPoints);
  if (!extended) return legacy;
  const auto points = LoadAt<uint64_t>(head, kPoints);
  if (points == 0 || legacy == 0 || points == legacy) return points == 0 ? legacy : points;
  return MalformedByte(name, kPoints, "the number of points is ", points,
                       ", but the legacy number of points at byte ", kLegacyPoints, " is ", legacy,
                       "; it must be the same or 0");
}

// Those of 1.4, which are behind the points.
absl::Status ReadExtendedPlace(const char* head, uint64_t file_bytes, absl::string_view name,
                               LasHeader& header) {
  const auto count = LoadAt<uint32_t>(head, kExtendedCount);
  if (count == 0) return absl::OkStatus();
  const auto offset = LoadAt<uint64_t>(head, kExtendedOffset);
  const uint64_t points_end = header.data_offset + header.points * header.record_bytes;
  if (offset < points_end || offset > file_bytes) {
    return MalformedByte(name, kExtendedOffset, "the offset to the ", count,
                         " extended variable length records must be ", points_end,
                         ", the end of the points, to ", file_bytes, ", the size of the file (got ",
                         offset, ")");
  }
  header.extended = {offset, count};
  return absl::OkStatus();
}

absl::Status ReadScaling(const char* head, absl::string_view name, LasHeader& header) {
  constexpr absl::string_view kAxes = "xyz";
  for (size_t axis = 0; axis < kAxes.size(); ++axis) {
    const size_t scale_at = kScales + axis * sizeof(double);
    const size_t offset_at = kOffsets + axis * sizeof(double);
    const auto scale_m = LoadAt<double>(head, scale_at);
    const auto offset_m = LoadAt<double>(head, offset_at);
    const absl::string_view axis_name = kAxes.substr(axis, 1);
    if (!std::isfinite(scale_m) || scale_m <= 0.0) {
      return MalformedByte(name, scale_at, "the scale of ", axis_name,
                           " must be finite and above 0 (got ", scale_m, ")");
    }
    if (!std::isfinite(offset_m)) {
      return MalformedByte(name, offset_at, "the offset of ", axis_name, " must be finite (got ",
                           offset_m, ")");
    }
    header.scale_m[static_cast<Eigen::Index>(axis)] = scale_m;
    header.offset_m[static_cast<Eigen::Index>(axis)] = offset_m;
  }
  return absl::OkStatus();
}

absl::Status ReadPointFormat(const char* head, absl::string_view name, LasHeader& header) {
  const auto format = LoadAt<uint8_t>(head, kPointFormat);
  if ((format & kCompressedBits) != 0) {
    return MalformedByte(
        name, kPointFormat,
        "the points are compressed (LAZ), which is not read; convert the file: pdal translate ",
        name, " out.las");
  }
  if (format >= std::size(kLeastRecordBytes)) {
    return MalformedByte(name, kPointFormat, "the point data record format must be 0 to ",
                         std::size(kLeastRecordBytes) - 1, " (got ", format, ")");
  }
  header.record_bytes = LoadAt<uint16_t>(head, kRecordBytes);
  if (header.record_bytes < kLeastRecordBytes[format]) {
    return MalformedByte(name, kRecordBytes, "a record of format ", format, " must have at least ",
                         kLeastRecordBytes[format], " bytes (got ", header.record_bytes, ")");
  }
  const bool long_format = format >= kFirstLongFormat;
  header.withheld_mask = long_format ? 0x04 : 0x80;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LasHeader> ParseLasHeader(absl::string_view head, uint64_t file_bytes,
                                         absl::string_view name) {
  if (!absl::StartsWith(head, "LASF")) {
    return MalformedByte(name, 0, "a LAS file starts with 'LASF', this one with ",
                         Quoted(head.substr(0, 4)));
  }
  const auto check_size = [&](uint64_t least_bytes) {
    if (file_bytes >= least_bytes) return absl::OkStatus();
    return Malformed(name, "the header needs ", least_bytes, " bytes, the file has ", file_bytes);
  };
  VOXLOC_TRY(check_size(kHeaderBytesBefore14));
  const char* bytes = head.data();
  VOXLOC_TRY(CheckVersion(bytes, name));
  const bool extended = LoadAt<uint8_t>(bytes, kVersionMinor) == 4;
  const size_t least_header_bytes = extended ? kMaxLasHeaderBytes : kHeaderBytesBefore14;
  VOXLOC_TRY(check_size(least_header_bytes));
  const size_t header_bytes = LoadAt<uint16_t>(bytes, kHeaderSize);
  if (header_bytes < least_header_bytes) {
    return MalformedByte(name, kHeaderSize, "the size of the header must be at least ",
                         least_header_bytes, " (got ", header_bytes, ")");
  }
  LasHeader header;
  header.data_offset = LoadAt<uint32_t>(bytes, kDataOffset);
  if (header.data_offset < header_bytes || header.data_offset > file_bytes) {
    return MalformedByte(name, kDataOffset, "the offset to the points must be ", header_bytes,
                         ", the size of the header, to ", file_bytes,
                         ", the size of the file (got ", header.data_offset, ")");
  }
  VOXLOC_TRY(ReadPointFormat(bytes, name, header));
  VOXLOC_TRY(ReadScaling(bytes, name, header));
  VOXLOC_ASSIGN_OR_RETURN(header.points, PointsOfHeader(bytes, extended, name));
  const uint64_t available = file_bytes - header.data_offset;
  if (header.points > available / header.record_bytes) {
    return MalformedByte(name, header.data_offset, "the header promises ", header.points,
                         " points of ", header.record_bytes, " bytes, but only ", available,
                         " bytes follow");
  }
  if (extended) VOXLOC_TRY(ReadExtendedPlace(bytes, file_bytes, name, header));
  absl::string_view vlrs = head.substr(0, static_cast<size_t>(header.data_offset));
  vlrs.remove_prefix(std::min(header_bytes, vlrs.size()));
  header.crs = ReadLasCrs(vlrs, LoadAt<uint32_t>(bytes, kVlrCount), name);
  return header;
}

absl::Status TakeExtendedRecords(uint64_t file_bytes, ReadFilePart read, absl::string_view name,
                                 LasHeader& header) {
  VOXLOC_ASSIGN_OR_RETURN(LasCrs crs, ReadExtendedLasCrs(header.extended, file_bytes, read, name));
  if (!crs.definition.empty() || !crs.units.ok()) header.crs = std::move(crs);
  return absl::OkStatus();
}

PointCloud CloudFromLas(const LasHeader& header, const char* records, size_t count,
                        std::optional<Eigen::Vector3d>* origin) {
  CloudBuilder builder(count, true, *origin);
  for (size_t i = 0; i < count; ++i) {
    const char* record = records + i * header.record_bytes;
    if ((LoadAt<uint8_t>(record, kRecordFlags) & header.withheld_mask) != 0) continue;
    const Eigen::Vector3d steps(LoadAt<int32_t>(record, 0), LoadAt<int32_t>(record, 4),
                                LoadAt<int32_t>(record, 8));
    builder.Add(header.offset_m + header.scale_m.cwiseProduct(steps));
    builder.AddIntensity(LoadAt<uint16_t>(record, kRecordIntensity));
  }
  *origin = builder.origin();
  return std::move(builder).Take();
}

}  // namespace voxloc
