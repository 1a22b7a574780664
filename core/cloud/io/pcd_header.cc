// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/pcd_header.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/cloud/io/text_scan.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

constexpr uint64_t kMaxValuesPerField = 1'000'000;
// Of all fields of a point together. The longest descriptors in use (PCL's, 2,000 float32) take 8
// kB.
constexpr size_t kMaxPointBytes = size_t{1} << 20;

// A line of the header: its number and the words after the key.
struct Entry {
  size_t line = 0;
  std::vector<absl::string_view> words;
};

struct Entries {
  std::optional<Entry> version, fields, size, type, count, width, height, viewpoint, points, data;
};

std::optional<Entry>* EntryOf(absl::string_view key, Entries& entries) {
  if (key == "VERSION") return &entries.version;
  if (key == "FIELDS" || key == "COLUMNS") return &entries.fields;
  if (key == "SIZE") return &entries.size;
  if (key == "TYPE") return &entries.type;
  if (key == "COUNT") return &entries.count;
  if (key == "WIDTH") return &entries.width;
  if (key == "HEIGHT") return &entries.height;
  if (key == "VIEWPOINT") return &entries.viewpoint;
  if (key == "POINTS") return &entries.points;
  if (key == "DATA") return &entries.data;
  return nullptr;
}

absl::StatusOr<Entries> ReadEntries(LineScanner& lines, absl::string_view name) {
  Entries entries;
  absl::string_view line;
  while (!entries.data.has_value()) {
    if (!lines.Next(line)) {
      return Malformed(name, "the header has no DATA line; the file ends after line ",
                       lines.line_number());
    }
    absl::string_view rest = line;
    const absl::string_view key = ConsumeWord(rest);
    if (key.empty() || key.front() == '#') continue;
    std::optional<Entry>* entry = EntryOf(key, entries);
    if (entry == nullptr) {
      return MalformedLine(
          name, lines.line_number(),
          "a key of a PCD header must be one of VERSION, FIELDS, SIZE, TYPE, COUNT, "
          "WIDTH, HEIGHT, VIEWPOINT, POINTS, DATA (got ",
          Quoted(key), ")");
    }
    if (entry->has_value()) {
      return MalformedLine(name, lines.line_number(), key, " is given twice");
    }
    *entry = Entry{lines.line_number(), {}};
    for (absl::string_view word = ConsumeWord(rest); !word.empty(); word = ConsumeWord(rest)) {
      (*entry)->words.push_back(word);
    }
  }
  return entries;
}

absl::StatusOr<ScalarType> TypeOf(absl::string_view letter, absl::string_view size) {
  const absl::string_view known = "IUF";
  const size_t kind = letter.size() == 1 ? known.find(letter[0]) : absl::string_view::npos;
  if (kind == absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("TYPE must be I, U or F (got ", Quoted(letter), ")"));
  }
  using T = ScalarType;
  if (kind == 2) {
    if (size == "4") return T::kFloat32;
    if (size == "8") return T::kFloat64;
    return absl::InvalidArgumentError(
        absl::StrCat("SIZE is ", Quoted(size), ", allowed for TYPE F are 4 and 8"));
  }
  const bool is_signed = kind == 0;
  if (size == "1") return is_signed ? T::kInt8 : T::kUint8;
  if (size == "2") return is_signed ? T::kInt16 : T::kUint16;
  if (size == "4") return is_signed ? T::kInt32 : T::kUint32;
  if (size == "8") return is_signed ? T::kInt64 : T::kUint64;
  return absl::InvalidArgumentError(
      absl::StrCat("SIZE is ", Quoted(size), ", allowed for TYPE ", letter, " are 1, 2, 4 and 8"));
}

absl::Status CheckOnePerField(const std::optional<Entry>& entry, absl::string_view key,
                              size_t fields, absl::string_view name) {
  if (!entry.has_value()) {
    return Malformed(name, "the header has no ", key, " line");
  }
  if (entry->words.size() != fields) {
    return MalformedLine(name, entry->line, key, " must have one value for each of the ", fields,
                         " fields (got ", entry->words.size(), ")");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<PcdField>> FieldsOf(const Entries& entries, absl::string_view name) {
  if (!entries.fields.has_value()) return Malformed(name, "the header has no FIELDS line");
  const size_t number = entries.fields->words.size();
  VOXLOC_TRY(CheckOnePerField(entries.size, "SIZE", number, name));
  VOXLOC_TRY(CheckOnePerField(entries.type, "TYPE", number, name));
  if (entries.count.has_value()) {
    VOXLOC_TRY(CheckOnePerField(entries.count, "COUNT", number, name));
  }

  std::vector<PcdField> fields(number);
  size_t point_bytes = 0;
  for (size_t i = 0; i < number; ++i) {
    fields[i].name = std::string(entries.fields->words[i]);
    const absl::StatusOr<ScalarType> type = TypeOf(entries.type->words[i], entries.size->words[i]);
    if (!type.ok()) {
      const size_t line =
          type.status().message().substr(0, 4) == "SIZE" ? entries.size->line : entries.type->line;
      return MalformedLine(name, line, "field ", Quoted(fields[i].name), ": ",
                           type.status().message());
    }
    fields[i].type = *type;
    if (!entries.count.has_value()) continue;
    uint64_t count = 0;
    if (!absl::SimpleAtoi(entries.count->words[i], &count) || count < 1 ||
        count > kMaxValuesPerField) {
      return MalformedLine(name, entries.count->line, "field ", Quoted(fields[i].name),
                           ": COUNT must be a whole number from 1 to ", kMaxValuesPerField,
                           " (got ", Quoted(entries.count->words[i]), ")");
    }
    fields[i].count = static_cast<size_t>(count);
    point_bytes += fields[i].bytes();
    if (point_bytes > kMaxPointBytes) {
      return MalformedLine(name, entries.count->line, "SIZE times COUNT, summed up to field ",
                           Quoted(fields[i].name), ", must be at most ", kMaxPointBytes,
                           " bytes a point (got ", point_bytes, ")");
    }
  }
  return fields;
}

absl::StatusOr<PointFields> PointFieldsOf(const std::vector<PcdField>& fields, size_t line,
                                          absl::string_view name) {
  std::vector<std::string> names;
  names.reserve(fields.size());
  for (const PcdField& field : fields) names.push_back(field.name);
  absl::StatusOr<PointFields> found = FindPointFields(names);
  if (!found.ok()) return MalformedLine(name, line, found.status().message());
  if (found->intensity.has_value() && fields[*found->intensity].count != 1) {
    found->intensity.reset();
  }
  for (const size_t index : {found->x, found->y, found->z}) {
    if (fields[index].count != 1) {
      return MalformedLine(name, line, "field ", Quoted(fields[index].name), " has COUNT ",
                           fields[index].count, ", allowed for a coordinate is 1");
    }
  }
  return found;
}

absl::StatusOr<uint64_t> ParseWholeNumber(const Entry& entry, absl::string_view key,
                                          absl::string_view name) {
  uint64_t value = 0;
  if (entry.words.size() != 1 || !absl::SimpleAtoi(entry.words[0], &value)) {
    return MalformedLine(name, entry.line, key, " must be one whole number from 0 to ",
                         std::numeric_limits<uint64_t>::max(), " (got ",
                         entry.words.empty() ? "''" : Quoted(entry.words[0]), ")");
  }
  return value;
}

absl::StatusOr<uint64_t> PointsOf(const Entries& entries, absl::string_view name) {
  std::optional<uint64_t> grid;
  if (entries.width.has_value()) {
    VOXLOC_ASSIGN_OR_RETURN(const uint64_t width, ParseWholeNumber(*entries.width, "WIDTH", name));
    uint64_t height = 1;
    if (entries.height.has_value()) {
      VOXLOC_ASSIGN_OR_RETURN(height, ParseWholeNumber(*entries.height, "HEIGHT", name));
    }
    if (height != 0 && width > std::numeric_limits<uint64_t>::max() / height) {
      return MalformedLine(name, entries.width->line, "WIDTH ", width, " times HEIGHT ", height,
                           " is more than a file can hold");
    }
    grid = width * height;
  }
  if (!entries.points.has_value()) {
    if (!grid.has_value()) return Malformed(name, "the header has neither POINTS nor WIDTH");
    return *grid;
  }
  VOXLOC_ASSIGN_OR_RETURN(const uint64_t points, ParseWholeNumber(*entries.points, "POINTS", name));
  if (grid.has_value() && *grid != points) {
    return MalformedLine(name, entries.points->line, "POINTS must equal WIDTH times HEIGHT (got ",
                         points, " and ", *grid, ")");
  }
  return points;
}

absl::StatusOr<PcdEncoding> EncodingOf(const Entry& data, absl::string_view name) {
  const absl::string_view word = data.words.size() == 1 ? data.words[0] : "";
  if (word == "ascii") return PcdEncoding::kAscii;
  if (word == "binary") return PcdEncoding::kBinary;
  if (word == "binary_compressed") return PcdEncoding::kBinaryCompressed;
  return MalformedLine(name, data.line, "DATA must be ascii, binary or binary_compressed (got ",
                       data.words.empty() ? "''" : Quoted(data.words[0]), ")");
}

absl::StatusOr<Pose> ViewpointOf(const std::optional<Entry>& entry, absl::string_view name) {
  constexpr size_t kNumbers = 7;
  if (!entry.has_value()) return Pose();
  const auto malformed = [&](absl::string_view got) {
    return MalformedLine(name, entry->line,
                         "VIEWPOINT must be a position x y z and a rotation, the "
                         "quaternion qw qx qy qz (got ",
                         got, ")");
  };
  if (entry->words.size() != kNumbers) {
    return malformed(absl::StrCat(entry->words.size(), " numbers"));
  }
  std::array<double, kNumbers> v{};
  for (size_t i = 0; i < kNumbers; ++i) {
    if (!ParseDouble(entry->words[i], v[i])) return malformed(Quoted(entry->words[i]));
  }
  // Some writers set all of them to zero for "no viewpoint".
  if (std::all_of(v.begin(), v.end(), [](double number) { return number == 0.0; })) return Pose();
  absl::StatusOr<Pose> viewpoint =
      PoseFromQuaternion({v[0], v[1], v[2]}, Eigen::Quaterniond(v[3], v[4], v[5], v[6]));
  if (!viewpoint.ok()) return malformed(viewpoint.status().message());
  if (viewpoint->rotation.vec().isZero(0.0)) viewpoint->rotation.setIdentity();
  return viewpoint;
}

}  // namespace

RecordLayout PcdHeader::Records() const {
  std::vector<RecordField> records;
  size_t bytes = 0;
  for (const PcdField& field : fields) {
    records.push_back({field.type, bytes});
    bytes += field.bytes();
  }
  return {point_fields.Map([&](size_t i) { return records[i]; }), bytes};
}

PointCloud PcdHeader::ApplyViewpoint(PointCloud cloud) const {
  if (!viewpoint.rotation.vec().isZero(0.0)) return Transform(viewpoint, cloud);
  for (int axis = 0; axis < 3; ++axis) {
    double& origin = cloud.origin[axis];
    // As it is written, so that a negative zero stays one.
    origin = origin == 0.0 ? viewpoint.translation[axis] : origin + viewpoint.translation[axis];
  }
  return cloud;
}

size_t PcdHeader::padding_bytes() const {
  size_t sum = 0;
  for (const PcdField& field : fields) sum += field.is_padding() ? field.bytes() : 0;
  return sum;
}

absl::StatusOr<PcdHeader> ParsePcdHeader(absl::string_view bytes, absl::string_view name) {
  LineScanner lines(bytes);
  VOXLOC_ASSIGN_OR_RETURN(const Entries entries, ReadEntries(lines, name));
  VOXLOC_ASSIGN_OR_RETURN(std::vector<PcdField> fields, FieldsOf(entries, name));
  VOXLOC_ASSIGN_OR_RETURN(const PointFields point_fields,
                          PointFieldsOf(fields, entries.fields->line, name));
  VOXLOC_ASSIGN_OR_RETURN(const uint64_t points, PointsOf(entries, name));
  VOXLOC_ASSIGN_OR_RETURN(const PcdEncoding encoding, EncodingOf(*entries.data, name));
  VOXLOC_ASSIGN_OR_RETURN(const Pose viewpoint, ViewpointOf(entries.viewpoint, name));

  PcdHeader header;
  header.fields = std::move(fields);
  header.point_fields = point_fields;
  header.points = static_cast<size_t>(points);
  header.encoding = encoding;
  header.viewpoint = viewpoint;
  header.data_offset = lines.offset();
  header.data_line = lines.line_number() + 1;
  return header;
}

}  // namespace voxloc
