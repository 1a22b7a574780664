// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/ply.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/cloud/io/point_data.h"
#include "core/cloud/io/text_scan.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

absl::StatusOr<ScalarType> ReadType(absl::string_view word) {
  static constexpr std::pair<absl::string_view, ScalarType> kTypes[] = {
      {"char", ScalarType::kInt8},      {"int8", ScalarType::kInt8},
      {"uchar", ScalarType::kUint8},    {"uint8", ScalarType::kUint8},
      {"short", ScalarType::kInt16},    {"int16", ScalarType::kInt16},
      {"ushort", ScalarType::kUint16},  {"uint16", ScalarType::kUint16},
      {"int", ScalarType::kInt32},      {"int32", ScalarType::kInt32},
      {"uint", ScalarType::kUint32},    {"uint32", ScalarType::kUint32},
      {"float", ScalarType::kFloat32},  {"float32", ScalarType::kFloat32},
      {"double", ScalarType::kFloat64}, {"float64", ScalarType::kFloat64},
  };
  for (const auto& [type_name, type] : kTypes) {
    if (type_name == word) return type;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the type of a property must be char, uchar, short, ushort, int, uint, float, double, int8, "
      "uint8, int16, uint16, int32, uint32, float32, float64 or list (got ",
      Quoted(word), ")"));
}

// This function and the next ones read the words after a line's key and return what is wrong with
// them.
absl::Status ReadFormat(absl::string_view rest, PlyHeader& header, bool& given) {
  const absl::string_view format = ConsumeWord(rest);
  const absl::string_view version = ConsumeWord(rest);
  if (given) return absl::InvalidArgumentError("the format is given twice");
  if (format != "ascii" && format != "binary_little_endian" && format != "binary_big_endian") {
    return absl::InvalidArgumentError(
        absl::StrCat("the format must be ascii, binary_little_endian or binary_big_endian (got ",
                     Quoted(format), ")"));
  }
  if (version != "1.0") {
    return absl::InvalidArgumentError(
        absl::StrCat("the version of the format must be 1.0 (got ", Quoted(version), ")"));
  }
  given = true;
  header.ascii = format == "ascii";
  header.big_endian = format == "binary_big_endian";
  return absl::OkStatus();
}

absl::Status ReadElement(absl::string_view rest, size_t line, PlyHeader& header) {
  PlyElement element;
  element.name = std::string(ConsumeWord(rest));
  element.line = line;
  const absl::string_view word = ConsumeWord(rest);
  uint64_t count = 0;
  if (element.name.empty() || !absl::SimpleAtoi(word, &count) || !ConsumeWord(rest).empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("element must have a name and one whole number from 0 to ",
                     std::numeric_limits<uint64_t>::max(), " (got ", Quoted(element.name),
                     " with the count ", Quoted(word), ")"));
  }
  element.count = static_cast<size_t>(count);
  header.elements.push_back(std::move(element));
  return absl::OkStatus();
}

absl::Status ReadProperty(absl::string_view rest, PlyHeader& header) {
  if (header.elements.empty()) {
    return absl::InvalidArgumentError("there is a property before the first element");
  }
  PlyProperty property;
  absl::string_view word = ConsumeWord(rest);
  if (word == "list") {
    VOXLOC_ASSIGN_OR_RETURN(const ScalarType length_type, ReadType(ConsumeWord(rest)));
    if (!IsInteger(length_type)) {
      return absl::InvalidArgumentError(
          "the type of the length of a list must be an integer (got a floating point type)");
    }
    property.length_type = length_type;
    word = ConsumeWord(rest);
  }
  VOXLOC_ASSIGN_OR_RETURN(property.type, ReadType(word));
  property.name = std::string(ConsumeWord(rest));
  if (property.name.empty()) return absl::InvalidArgumentError("the property has no name");
  header.elements.back().properties.push_back(std::move(property));
  return absl::OkStatus();
}

absl::Status EndsInsideError(absl::string_view name, size_t offset, const PlyElement& element,
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
      if (length_bytes > bytes.size() - offset)
        return EndsInsideError(name, offset, element, index);
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
      return EndsInsideError(name, offset, element, index);
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
      return EndsInsideError(name, offset, element, (bytes.size() - offset) / each);
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
    absl::string_view word = ConsumeWord(line);
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
      if (ConsumeWord(line).empty()) {
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
      if (!NextNonBlankLine(lines, line)) {
        return EndsInsideError(name, header.data_offset + lines.offset(), element, i);
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

bool PlyElement::has_list() const {
  return std::any_of(properties.begin(), properties.end(),
                     [](const PlyProperty& property) { return property.length_type.has_value(); });
}

size_t PlyElement::bytes() const {
  size_t sum = 0;
  for (const PlyProperty& property : properties) {
    if (!property.length_type.has_value()) sum += SizeOf(property.type);
  }
  return sum;
}

RecordLayout PlyVertices::Records(const PlyHeader& header) const {
  std::vector<RecordField> records;
  size_t bytes = 0;
  for (const PlyProperty& property : header.elements[element].properties) {
    records.push_back({property.type, bytes});
    if (!property.length_type.has_value()) bytes += SizeOf(property.type);
  }
  return {fields.Map([&](size_t i) { return records[i]; }), bytes, header.big_endian};
}

absl::StatusOr<PlyVertices> FindPlyVertices(const PlyHeader& header, absl::string_view name) {
  const auto vertex = std::find_if(header.elements.begin(), header.elements.end(),
                                   [](const PlyElement& e) { return e.name == "vertex"; });
  if (vertex == header.elements.end()) {
    return Malformed(name, "the header has no element 'vertex'");
  }
  std::vector<std::string> names;
  for (const PlyProperty& property : vertex->properties) {
    names.push_back(property.length_type.has_value() ? "(list)" : property.name);
  }
  const absl::StatusOr<PointFields> fields = FindPointFields(names);
  if (!fields.ok()) return MalformedLine(name, vertex->line, fields.status().message());
  return PlyVertices{static_cast<size_t>(vertex - header.elements.begin()), *fields};
}

absl::StatusOr<PlyHeader> ParsePlyHeader(absl::string_view bytes, absl::string_view name) {
  LineScanner lines(bytes);
  absl::string_view line;
  if (!lines.Next(line) || line != "ply") {
    return MalformedLine(name, 1, "a PLY file starts with 'ply', this one with ", Quoted(line));
  }
  PlyHeader header;
  bool has_format = false;
  while (true) {
    if (!lines.Next(line)) {
      return Malformed(name, "the header has no end_header line; the file ends after ", "line ",
                       lines.line_number());
    }
    absl::string_view rest = line;
    const absl::string_view key = ConsumeWord(rest);
    if (key == "end_header") break;
    absl::Status status = absl::OkStatus();
    if (key == "format") {
      status = ReadFormat(rest, header, has_format);
    } else if (key == "element") {
      status = ReadElement(rest, lines.line_number(), header);
    } else if (key == "property") {
      status = ReadProperty(rest, header);
    } else if (!key.empty() && key != "comment" && key != "obj_info") {
      status = absl::InvalidArgumentError(
          absl::StrCat("a key of a PLY header must be one of format, comment, obj_info, element, "
                       "property, end_header (got ",
                       Quoted(key), ")"));
    }
    if (!status.ok()) return MalformedLine(name, lines.line_number(), status.message());
  }
  if (!has_format) return Malformed(name, "the header has no format line");
  header.data_offset = lines.offset();
  header.data_line = lines.line_number() + 1;
  return header;
}

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
