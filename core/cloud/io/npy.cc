// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/npy.h"

#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/cloud/io/text_scan.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);

// The text of the header's dictionary, and where it ends.
struct NpyDictionary {
  absl::string_view text;
  size_t end = 0;
};

// Magic, version (two bytes), the length of the dictionary (two bytes, four from 2.0 on), the
// dictionary: numpy.lib.format.
absl::StatusOr<NpyDictionary> FindDictionary(absl::string_view head, absl::string_view name) {
  if (!absl::StartsWith(head, kMagic)) {
    return MalformedByte(name, 0, "a .npy file starts with \\x93NUMPY, this one with ",
                         Quoted(head.substr(0, kMagic.size())));
  }
  const size_t version_at = kMagic.size();
  const size_t length_at = version_at + 2;
  const unsigned major = head.size() > version_at ? static_cast<uint8_t>(head[version_at]) : 1;
  if (major < 1 || major > 3) {
    return MalformedByte(name, version_at, "the version of .npy must be 1, 2 or 3 (got ", major,
                         ")");
  }
  const size_t length_bytes = major == 1 ? 2 : 4;
  const size_t begin = length_at + length_bytes;
  uint32_t length = 0;
  if (head.size() >= begin) std::memcpy(&length, head.data() + length_at, length_bytes);
  if (head.size() >= begin && length > kMaxNpyHeaderBytes - begin) {
    return MalformedByte(name, length_at, "the header must have at most ", kMaxNpyHeaderBytes,
                         " bytes (got ", begin + uint64_t{length}, ")");
  }
  if (head.size() < begin + length) {
    return MalformedByte(name, head.size(), "the file ends inside its header");
  }
  return NpyDictionary{head.substr(begin, length), begin + length};
}

// The text of the value of a key, up to the comma or bracket that ends it; empty: there is none.
absl::string_view ValueOf(absl::string_view dictionary, absl::string_view key) {
  const size_t found = dictionary.find(absl::StrCat("'", key, "'"));
  if (found == absl::string_view::npos) return {};
  absl::string_view rest =
      absl::StripLeadingAsciiWhitespace(dictionary.substr(found + key.size() + 2));
  if (!absl::ConsumePrefix(&rest, ":")) return {};
  size_t depth = 0;
  bool quoted = false;
  size_t end = 0;
  for (; end < rest.size(); ++end) {
    const char c = rest[end];
    if (c == '\'') quoted = !quoted;
    if (quoted) continue;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (depth == 0 && (c == ',' || c == '}')) break;
    if ((c == ')' || c == ']' || c == '}') && depth > 0) --depth;
  }
  return absl::StripAsciiWhitespace(rest.substr(0, end));
}

absl::StatusOr<std::pair<ScalarType, bool>> ReadDescr(absl::string_view descr) {
  static constexpr std::pair<absl::string_view, std::pair<ScalarType, bool>> kTypes[] = {
      {"'<f4'", {ScalarType::kFloat32, false}},
      {"'<f8'", {ScalarType::kFloat64, false}},
      {"'>f4'", {ScalarType::kFloat32, true}},
      {"'>f8'", {ScalarType::kFloat64, true}},
  };
  for (const auto& [text, type] : kTypes) {
    if (text == descr) return type;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the dtype must be float32 or float64, '<f4', '<f8', '>f4' or '>f8' (got ",
                   Quoted(descr), ")"));
}

absl::Status CheckOrder(absl::string_view fortran_order) {
  if (fortran_order == "False") return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("fortran_order must be False; numpy.ascontiguousarray makes it so (got ",
                   Quoted(fortran_order), ")"));
}

// The two numbers of "(N, 3)" or "(N, 4)".
absl::StatusOr<std::pair<uint64_t, size_t>> ReadShape(absl::string_view shape) {
  absl::string_view inner = shape;
  const bool tuple = absl::ConsumePrefix(&inner, "(") && absl::ConsumeSuffix(&inner, ")");
  const std::vector<absl::string_view> parts = absl::StrSplit(inner, absl::MaxSplits(',', 2));
  uint64_t rows = 0;
  uint64_t columns = 0;
  if (!tuple || parts.size() != 2 || !absl::SimpleAtoi(parts[0], &rows) ||
      !absl::SimpleAtoi(parts[1], &columns) || columns < 3 || columns > 4) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the shape must be (N, 3), x y z, or (N, 4), x y z intensity (got ", Quoted(shape), ")"));
  }
  return std::pair(rows, static_cast<size_t>(columns));
}

// Without the points' place.
absl::StatusOr<NpyHeader> ReadDictionary(absl::string_view text) {
  VOXLOC_ASSIGN_OR_RETURN(const auto type, ReadDescr(ValueOf(text, "descr")));
  VOXLOC_TRY(CheckOrder(ValueOf(text, "fortran_order")));
  VOXLOC_ASSIGN_OR_RETURN(const auto shape, ReadShape(ValueOf(text, "shape")));
  const auto& [scalar, big_endian] = type;
  const auto& [rows, columns] = shape;
  NpyHeader header;
  header.points = rows;
  header.records = ScalarRecords(scalar, columns);
  header.records.big_endian = big_endian;
  return header;
}

}  // namespace

absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view head, uint64_t file_bytes,
                                         absl::string_view name) {
  VOXLOC_ASSIGN_OR_RETURN(const NpyDictionary dictionary, FindDictionary(head, name));
  absl::StatusOr<NpyHeader> header = ReadDictionary(dictionary.text);
  if (!header.ok()) return Malformed(name, header.status().message());
  header->data_offset = dictionary.end;
  const uint64_t available = file_bytes - dictionary.end;
  const size_t record_bytes = header->records.record_bytes;
  if (available % record_bytes != 0 || header->points != available / record_bytes) {
    return MalformedByte(name, dictionary.end, "the header promises ", header->points,
                         " points of ", record_bytes, " bytes, but ", available,
                         " bytes follow it");
  }
  return header;
}

}  // namespace voxloc
