// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/ply_reader.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/cloud/io/ascii_points.h"
#include "core/cloud/io/columns.h"
#include "core/cloud/io/malformed.h"
#include "core/cloud/io/ply_header.h"
#include "core/cloud/io/point_fields.h"

namespace voxloc {
namespace {

absl::Status EndsInside(absl::string_view name, size_t offset, const PlyElement& element,
                        size_t index) {
  return MalformedByte(name, offset,
                       absl::StrCat("the data ends inside element ", Quoted(element.name), " ",
                                    index, " of ", element.count));
}

// The offset after all elements of a binary element list that starts at `offset`.
absl::StatusOr<size_t> SkipElement(const PlyElement& element, absl::string_view bytes,
                                   size_t offset, absl::string_view name) {
  if (!element.has_list()) {
    const size_t each = element.bytes();
    if (each != 0 && element.count > (bytes.size() - offset) / each) {
      return EndsInside(name, offset, element, (bytes.size() - offset) / each);
    }
    return offset + each * element.count;
  }
  for (size_t i = 0; i < element.count; ++i) {
    for (const PlyProperty& property : element.properties) {
      size_t values = 1;
      if (property.length_type.has_value()) {
        const size_t length_bytes = SizeOf(*property.length_type);
        if (length_bytes > bytes.size() - offset) return EndsInside(name, offset, element, i);
        const double length = LoaderOf(*property.length_type)(bytes.data() + offset);
        if (length < 0.0) {
          return MalformedByte(
              name, offset,
              absl::StrCat("the length of a list must be at least 0 (got ", length, ")"));
        }
        values = static_cast<size_t>(length);
        offset += length_bytes;
      }
      if (values > (bytes.size() - offset) / SizeOf(property.type)) {
        return EndsInside(name, offset, element, i);
      }
      offset += values * SizeOf(property.type);
    }
  }
  return offset;
}

absl::StatusOr<PointCloud> ReadBinary(const PlyHeader& header, const PlyElement& vertex,
                                      const RecordLayout& records, absl::string_view bytes,
                                      absl::string_view name) {
  size_t offset = header.data_offset;
  for (const PlyElement& element : header.elements) {
    if (&element == &vertex) break;
    const absl::StatusOr<size_t> after = SkipElement(element, bytes, offset, name);
    if (!after.ok()) return after.status();
    offset = *after;
  }
  const size_t stride = vertex.bytes();
  if (vertex.count > (bytes.size() - offset) / stride) {
    return MalformedByte(name, offset,
                         absl::StrCat("the header promises ", vertex.count, " vertices of ", stride,
                                      " bytes, but only ", bytes.size() - offset, " bytes follow"));
  }
  return CloudFromColumns(records.ColumnsOf(bytes.data() + offset, vertex.count));
}

absl::StatusOr<PointCloud> ReadAscii(const PlyHeader& header, const PlyElement& vertex,
                                     const PointFields& fields, absl::string_view bytes,
                                     absl::string_view name) {
  const absl::string_view data = bytes.substr(header.data_offset);
  LineScanner lines(data, header.data_line);
  absl::string_view line;
  for (const PlyElement& element : header.elements) {
    if (&element == &vertex) break;
    if (element.properties.empty()) continue;
    for (size_t i = 0; i < element.count; ++i) {
      if (!NextFilledLine(lines, line)) {
        return EndsInside(name, header.data_offset + lines.offset(), element, i);
      }
    }
  }
  const AsciiLayout layout{vertex.properties.size(), fields.x, fields.y, fields.z,
                           fields.intensity};
  return ParseAsciiPoints(lines, data.size() - lines.offset(), vertex.count, layout, name);
}

}  // namespace

absl::StatusOr<PointCloud> ParsePly(absl::string_view bytes, absl::string_view name,
                                    size_t max_points) {
  const absl::StatusOr<PlyHeader> header = ParsePlyHeader(bytes, name);
  if (!header.ok()) return header.status();
  const absl::StatusOr<PlyVertices> vertices = FindPlyVertices(*header, name);
  if (!vertices.ok()) return vertices.status();
  const PlyElement& vertex = header->elements[vertices->element];
  if (vertex.count > max_points) {
    return absl::ResourceExhaustedError(absl::StrCat(name, ": must have at most ", max_points,
                                                     " points (got ", vertex.count,
                                                     " in the header)"));
  }
  return header->ascii ? ReadAscii(*header, vertex, vertices->fields, bytes, name)
                       : ReadBinary(*header, vertex, vertices->Records(*header), bytes, name);
}

}  // namespace voxloc
