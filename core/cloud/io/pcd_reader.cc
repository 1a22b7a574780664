// SPDX-License-Identifier: Apache-2.0

#include <lzf.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/cloud/io/pcd_header.h"
#include "core/cloud/io/point_data.h"
#include "core/cloud/io/text_scan.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

// What an LZF stream can unpack to at most: a back reference of 3 bytes stands for 264.
constexpr uint64_t kMaxUnpackRatio = 88;

absl::StatusOr<PointCloud> ReadAscii(const PcdHeader& header, absl::string_view bytes,
                                     absl::string_view name) {
  std::vector<size_t> first_words;
  size_t words = 0;
  for (const PcdField& field : header.fields) {
    first_words.push_back(words);
    words += field.count;
  }
  const AsciiLayout layout{header.point_fields.Map([&](size_t i) { return first_words[i]; }),
                           words};
  const absl::string_view data = bytes.substr(header.data_offset);
  LineScanner lines(data, header.data_line);
  absl::StatusOr<PointCloud> cloud =
      ParseAsciiPoints(lines, data.size(), header.points, layout, name);
  absl::string_view line;
  if (cloud.ok() && NextNonBlankLine(lines, line)) {
    return MalformedLine(name, lines.line_number(), "there are more than the ", header.points,
                         " points that the header promises");
  }
  return cloud;
}

// Columns of fields that follow one another, each `points` long.
PointColumns FieldColumnsOf(const PcdHeader& header, const char* data, bool with_padding) {
  std::vector<Column> columns;
  for (const PcdField& field : header.fields) {
    columns.push_back({field.type, data, field.bytes()});
    if (!field.is_padding() || with_padding) data += field.bytes() * header.points;
  }
  return {header.point_fields.Map([&](size_t i) { return columns[i]; }), header.points};
}

absl::StatusOr<PointCloud> ReadBinary(const PcdHeader& header, absl::string_view bytes,
                                      absl::string_view name) {
  const size_t available = bytes.size() - header.data_offset;
  const size_t record_bytes = header.point_bytes();
  if (header.points > available / record_bytes) {
    return MalformedByte(name, header.data_offset, "the header promises ", header.points,
                         " points of ", record_bytes, " bytes, but only ", available,
                         " bytes follow it");
  }
  return CloudFromColumns(
      header.Records().ColumnsOf(bytes.data() + header.data_offset, header.points));
}

uint32_t LoadUint32(const char* bytes) {
  uint32_t value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

absl::StatusOr<PointCloud> ReadCompressed(const PcdHeader& header, absl::string_view bytes,
                                          absl::string_view name) {
  constexpr size_t kSizesBytes = 8;
  const size_t available = bytes.size() - header.data_offset;
  if (available < kSizesBytes) {
    if (header.points == 0) return PointCloud();
    return MalformedByte(name, header.data_offset, "the sizes of the compressed data need ",
                         kSizesBytes, " bytes, there are ", available);
  }
  const char* sizes = bytes.data() + header.data_offset;
  const uint32_t packed = LoadUint32(sizes);
  const uint32_t unpacked = LoadUint32(sizes + 4);
  if (packed > available - kSizesBytes) {
    return MalformedByte(name, header.data_offset, "the compressed size is ", packed, ", but only ",
                         available - kSizesBytes, " bytes follow");
  }
  // Some writers leave padding fields out of the compressed data though the header names them.
  const size_t full_bytes = header.point_bytes();
  const size_t lean_bytes = full_bytes - header.padding_bytes();
  const auto fits = [&](size_t point_bytes) {
    return unpacked % point_bytes == 0 && unpacked / point_bytes == header.points;
  };
  if (!fits(full_bytes) && !fits(lean_bytes)) {
    return MalformedByte(name, header.data_offset + 4, "the uncompressed size is ", unpacked,
                         ", but the header "
                         "promises ",
                         header.points, " points of ", full_bytes, " bytes");
  }
  if (header.points == 0) return PointCloud();
  if (unpacked > packed * kMaxUnpackRatio) {
    return MalformedByte(name, header.data_offset + 4, "the uncompressed size is ", unpacked,
                         ", but ", packed, " compressed bytes cannot hold more than ",
                         packed * kMaxUnpackRatio);
  }
  const std::unique_ptr<char[]> data(new (std::nothrow) char[unpacked]);
  if (data == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat(name, ": no memory for its ", unpacked, " uncompressed bytes"));
  }
  const char* block = sizes + kSizesBytes;
  const unsigned int done = lzf_decompress(block, packed, data.get(), unpacked);
  // Some writers (pypcd and its successors) store what LZF does not make smaller as it is, to the
  // end of the file.
  const bool stored = done != unpacked && packed == unpacked && packed == available - kSizesBytes;
  if (stored) std::memcpy(data.get(), block, unpacked);
  if (done != unpacked && !stored) {
    return MalformedByte(name, header.data_offset + kSizesBytes,
                         done == 0 ? absl::StrCat("the compressed data is corrupt or longer than ",
                                                  "the ", unpacked, " bytes it should unpack to")
                                   : absl::StrCat("the compressed data unpacks to ", done,
                                                  " bytes instead of ", unpacked));
  }
  return CloudFromColumns(FieldColumnsOf(header, data.get(), fits(full_bytes)));
}

}  // namespace

absl::StatusOr<PointCloud> ParsePcd(absl::string_view bytes, absl::string_view name,
                                    size_t max_points) {
  VOXLOC_ASSIGN_OR_RETURN(const PcdHeader header, ParsePcdHeader(bytes, name));
  if (header.points > max_points) {
    return absl::ResourceExhaustedError(absl::StrCat(name, ": must have at most ", max_points,
                                                     " points (got ", header.points,
                                                     " in the header)"));
  }
  VOXLOC_ASSIGN_OR_RETURN(PointCloud cloud, header.encoding == PcdEncoding::kAscii
                                                ? ReadAscii(header, bytes, name)
                                            : header.encoding == PcdEncoding::kBinary
                                                ? ReadBinary(header, bytes, name)
                                                : ReadCompressed(header, bytes, name));
  return header.ApplyViewpoint(std::move(cloud));
}

}  // namespace voxloc
