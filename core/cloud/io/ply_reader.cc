// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/cloud/io/ascii_points.h"
#include "core/cloud/io/columns.h"
#include "core/cloud/io/kitti_reader.h"
#include "core/cloud/io/ply_header.h"
#include "core/cloud/io/point_fields.h"
#include "core/cloud/io/text_scan.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

absl::Status EndsInside(absl::string_view name, size_t offset, const PlyElement& element,
                        size_t index) {
  return MalformedByte(name, offset, "the data ends inside element ", Quoted(element.name), " ",
                       index, " of ", element.count);
}

// The offset after element `index` of a binary list of elements, which begins at `offset`. What is
// not in lists is appended to `scalars`, where given.
absl::StatusOr<size_t> SkipOne(const PlyHeader& header, const PlyElement& element, size_t index,
                               absl::string_view bytes, size_t offset, absl::string_view name,
                               std::string* scalars) {
  for (const PlyProperty& property : element.properties) {
    size_t values = 1;
    if (property.length_type.has_value()) {
      const size_t length_bytes = SizeOf(*property.length_type);
      if (length_bytes > bytes.size() - offset) return EndsInside(name, offset, element, index);
      const double length =
          LoaderOf(*property.length_type, header.big_endian)(bytes.data() + offset);
      if (length < 0.0) {
        return MalformedByte(name, offset, "the length of a list must be at least 0 (got ", length,
                             ")");
      }
      values = static_cast<size_t>(length);
      offset += length_bytes;
    }
    if (values > (bytes.size() - offset) / SizeOf(property.type)) {
      return EndsInside(name, offset, element, index);
    }
    const size_t value_bytes = values * SizeOf(property.type);
    if (scalars != nullptr && !property.length_type.has_value()) {
      scalars->append(bytes.data() + offset, value_bytes);
    }
    offset += value_bytes;
  }
  return offset;
}

// The offset after all elements of a binary element list that starts at `offset`.
absl::StatusOr<size_t> SkipElement(const PlyHeader& header, const PlyElement& element,
                                   absl::string_view bytes, size_t offset, absl::string_view name,
                                   std::string* scalars = nullptr) {
  if (!element.has_list()) {
    const size_t each = element.bytes();
    if (each != 0 && element.count > (bytes.size() - offset) / each) {
      return EndsInside(name, offset, element, (bytes.size() - offset) / each);
    }
    return offset + each * element.count;
  }
  for (size_t i = 0; i < element.count; ++i) {
    VOXLOC_ASSIGN_OR_RETURN(offset, SkipOne(header, element, i, bytes, offset, name, scalars));
  }
  return offset;
}

absl::StatusOr<PointCloud> ReadBinary(const PlyHeader& header, const PlyElement& vertex,
                                      const RecordLayout& records, absl::string_view bytes,
                                      absl::string_view name) {
  size_t offset = header.data_offset;
  for (const PlyElement& element : header.elements) {
    if (&element == &vertex) break;
    VOXLOC_ASSIGN_OR_RETURN(offset, SkipElement(header, element, bytes, offset, name));
  }
  if (vertex.has_list()) {
    std::string scalars;
    VOXLOC_TRY(SkipElement(header, vertex, bytes, offset, name, &scalars).status());
    return CloudFromColumns(records.ColumnsOf(scalars.data(), vertex.count));
  }
  const size_t stride = vertex.bytes();
  if (vertex.count > (bytes.size() - offset) / stride) {
    return MalformedByte(name, offset, "the header promises ", vertex.count, " vertices of ",
                         stride, " bytes, but only ", bytes.size() - offset, " bytes follow");
  }
  return CloudFromColumns(records.ColumnsOf(bytes.data() + offset, vertex.count));
}

// The words of a vertex's line that are not in lists, with blanks between them.
absl::StatusOr<std::string> ScalarsOf(const PlyElement& vertex, absl::string_view line,
                                      size_t line_number, absl::string_view name) {
  std::string scalars;
  for (const PlyProperty& property : vertex.properties) {
    absl::string_view word = TakeWord(line);
    if (!property.length_type.has_value()) {
      absl::StrAppend(&scalars, word, " ");
      continue;
    }
    uint32_t length = 0;
    if (!absl::SimpleAtoi(word, &length)) {
      return MalformedLine(name, line_number, "the length of a list must be a whole number (got ",
                           Quoted(word), ")");
    }
    for (uint32_t i = 0; i < length; ++i) {
      if (TakeWord(line).empty()) {
        return MalformedLine(name, line_number, "a list of ", length, " has ", i, " values");
      }
    }
  }
  return absl::StrCat(scalars, line);
}

// As ParseAsciiPoints, of vertices with lists.
absl::StatusOr<PointCloud> ReadAsciiWithLists(LineScanner& lines, const PlyElement& vertex,
                                              const AsciiLayout& layout, absl::string_view name) {
  std::string text;
  const size_t first_line = lines.line_number() + 1;
  absl::string_view line;
  for (size_t taken = 0; taken < vertex.count && lines.Next(line);) {
    if (!absl::StripAsciiWhitespace(line).empty()) {
      VOXLOC_ASSIGN_OR_RETURN(const std::string scalars,
                              ScalarsOf(vertex, line, lines.line_number(), name));
      text += scalars;
      ++taken;
    }
    text += '\n';  // a line each, so that errors name the right one
  }
  LineScanner scalars(text, first_line);
  return ParseAsciiPoints(scalars, text.size(), vertex.count, layout, name);
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
  // The number of a property among those that are no lists.
  const auto word = [&](size_t property) {
    size_t before = 0;
    for (size_t i = 0; i < property; ++i) {
      before += vertex.properties[i].length_type.has_value() ? 0 : 1;
    }
    return before;
  };
  const AsciiLayout layout{fields.Map(word), word(vertex.properties.size())};
  if (vertex.has_list()) return ReadAsciiWithLists(lines, vertex, layout, name);
  return ParseAsciiPoints(lines, data.size() - lines.offset(), vertex.count, layout, name);
}

}  // namespace

absl::StatusOr<PointCloud> ParsePly(absl::string_view bytes, absl::string_view name,
                                    size_t max_points) {
  VOXLOC_ASSIGN_OR_RETURN(const PlyHeader header, ParsePlyHeader(bytes, name));
  VOXLOC_ASSIGN_OR_RETURN(const PlyVertices vertices, FindPlyVertices(header, name));
  const PlyElement& vertex = header.elements[vertices.element];
  if (vertex.count > max_points) {
    return absl::ResourceExhaustedError(absl::StrCat(name, ": must have at most ", max_points,
                                                     " points (got ", vertex.count,
                                                     " in the header)"));
  }
  return header.ascii ? ReadAscii(header, vertex, vertices.fields, bytes, name)
                      : ReadBinary(header, vertex, vertices.Records(header), bytes, name);
}

}  // namespace voxloc
