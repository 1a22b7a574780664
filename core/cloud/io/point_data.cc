// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/point_data.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "core/cloud/io/cloud_builder.h"
#include "core/cloud/io/text_scan.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

void CopyFloats(const Column& column, size_t count, std::vector<float>& values) {
  values.resize(count);
  const char* source = column.first;
  for (float& value : values) {
    std::memcpy(&value, source, sizeof(float));
    source += column.stride_bytes;
  }
}

void ConvertToFloats(const Column& column, size_t count, std::vector<float>& values) {
  if (column.type == ScalarType::kFloat32 && !column.big_endian) {
    CopyFloats(column, count, values);
    return;
  }
  values.resize(count);
  const ScalarLoader load = LoaderOf(column.type, column.big_endian);
  const char* source = column.first;
  for (float& value : values) {
    value = static_cast<float>(load(source));
    source += column.stride_bytes;
  }
}

PointCloud CloudFromDoubles(const PointColumns& columns, std::optional<Eigen::Vector3d>* origin) {
  CloudBuilder builder(columns.count, false, *origin);
  const auto load =
      columns.Map([](const Column& column) { return LoaderOf(column.type, column.big_endian); });
  for (size_t i = 0; i < columns.count; ++i) {
    builder.Add({load.x(columns.x.first + i * columns.x.stride_bytes),
                 load.y(columns.y.first + i * columns.y.stride_bytes),
                 load.z(columns.z.first + i * columns.z.stride_bytes)});
  }
  *origin = builder.origin();
  return std::move(builder).Take();
}

constexpr size_t kIntensity = 3;
constexpr size_t kIgnored = 4;

// Which of x, y, z, intensity the word of a line is.
size_t RoleOf(size_t word_index, const AsciiLayout& layout) {
  if (word_index == layout.x) return 0;
  if (word_index == layout.y) return 1;
  if (word_index == layout.z) return 2;
  return word_index == layout.intensity ? kIntensity : kIgnored;
}

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "binary clouds are little-endian and read in place");

template <typename T, bool kBigEndian>
double Load(const char* bytes) {
  char raw[sizeof(T)];
  std::memcpy(raw, bytes, sizeof(T));
  if constexpr (kBigEndian) std::reverse(raw, raw + sizeof(T));
  T value;
  std::memcpy(&value, raw, sizeof(T));
  return static_cast<double>(value);
}

struct ScalarTraits {
  size_t bytes;
  ScalarLoader load;
  ScalarLoader load_big_endian;
};

template <typename T>
constexpr ScalarTraits TraitsOf() {
  return {sizeof(T), &Load<T, false>, &Load<T, true>};
}

// In the order of ScalarType.
constexpr ScalarTraits kScalarTraits[] = {
    TraitsOf<int8_t>(),  TraitsOf<int16_t>(),  TraitsOf<int32_t>(),  TraitsOf<int64_t>(),
    TraitsOf<uint8_t>(), TraitsOf<uint16_t>(), TraitsOf<uint32_t>(), TraitsOf<uint64_t>(),
    TraitsOf<float>(),   TraitsOf<double>(),
};

const ScalarTraits& TraitsOf(ScalarType type) { return kScalarTraits[static_cast<size_t>(type)]; }

absl::Status FindUniqueField(const std::vector<std::string>& names, absl::string_view wanted,
                             std::optional<size_t>& index) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (!absl::EqualsIgnoreCase(names[i], wanted)) continue;
    if (index.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat("field '", wanted, "' is named twice"));
    }
    index = i;
  }
  return absl::OkStatus();
}

}  // namespace

PointColumns RecordLayout::ColumnsOf(const char* first, size_t count) const {
  return {Map([&](const RecordField& field) {
            return Column{field.type, first + field.offset_bytes, record_bytes, big_endian};
          }),
          count};
}

RecordLayout ScalarRecords(ScalarType type, size_t count) {
  const auto field = [type](size_t index) { return RecordField{type, index * SizeOf(type)}; };
  RecordLayout layout{{field(0), field(1), field(2), std::nullopt}, count * SizeOf(type)};
  if (count > 3) layout.intensity = field(3);
  return layout;
}

PointCloud CloudFromColumns(const PointColumns& columns) {
  std::optional<Eigen::Vector3d> origin;
  return CloudFromColumns(columns, &origin);
}

PointCloud CloudFromColumns(const PointColumns& columns, std::optional<Eigen::Vector3d>* origin) {
  PointCloud cloud;
  if (columns.x.type == ScalarType::kFloat32 && columns.y.type == ScalarType::kFloat32 &&
      columns.z.type == ScalarType::kFloat32) {
    ConvertToFloats(columns.x, columns.count, cloud.x);
    ConvertToFloats(columns.y, columns.count, cloud.y);
    ConvertToFloats(columns.z, columns.count, cloud.z);
  } else {
    cloud = CloudFromDoubles(columns, origin);
  }
  if (columns.intensity.has_value()) {
    ConvertToFloats(*columns.intensity, columns.count, cloud.intensity);
  }
  return cloud;
}

bool NextNonBlankLine(LineScanner& lines, absl::string_view& line) {
  while (lines.Next(line)) {
    if (!absl::StripAsciiWhitespace(line).empty()) return true;
  }
  return false;
}

absl::StatusOr<PointCloud> ParseAsciiPoints(LineScanner& lines, size_t remaining_bytes,
                                            size_t count, const AsciiLayout& layout,
                                            absl::string_view name) {
  // A line takes a digit and a separator for each word; the last may lack its end.
  const size_t least_line_bytes = 2 * layout.words_per_line;
  if (count > (remaining_bytes + 1) / least_line_bytes) {
    return Malformed(name, "the header promises ", count, " points of ", layout.words_per_line,
                     " values, at least ", least_line_bytes, " bytes each, but only ",
                     remaining_bytes, " bytes follow it");
  }
  CloudBuilder builder(count, layout.intensity.has_value());
  std::array<double, 4> values{};
  absl::string_view line;
  for (size_t i = 0; i < count; ++i) {
    if (!NextNonBlankLine(lines, line)) {
      return Malformed(name, "the data ends after ", i, " of the ", count,
                       " points that the header promises");
    }
    absl::string_view rest = line;
    for (size_t word_index = 0; word_index < layout.words_per_line; ++word_index) {
      const absl::string_view word = ConsumeWord(rest);
      if (word.empty()) {
        return MalformedLine(name, lines.line_number(), "has ", word_index,
                             " values, the header promises ", layout.words_per_line);
      }
      const size_t role = RoleOf(word_index, layout);
      if (role != kIgnored && !ParseDouble(word, values[role])) {
        return MalformedLine(name, lines.line_number(), Quoted(word), " is not a number");
      }
    }
    if (!ConsumeWord(rest).empty()) {
      return MalformedLine(name, lines.line_number(), "has more than the ", layout.words_per_line,
                           " values that the header promises");
    }
    builder.Add({values[0], values[1], values[2]});
    if (layout.intensity.has_value()) builder.AddIntensity(values[kIntensity]);
  }
  return std::move(builder).Take();
}

size_t SizeOf(ScalarType type) { return TraitsOf(type).bytes; }

bool IsInteger(ScalarType type) {
  return type != ScalarType::kFloat32 && type != ScalarType::kFloat64;
}

ScalarLoader LoaderOf(ScalarType type, bool big_endian) {
  return big_endian ? TraitsOf(type).load_big_endian : TraitsOf(type).load;
}

absl::StatusOr<PointFields> FindPointFields(const std::vector<std::string>& names) {
  if (names.size() > kMaxPointFields) {
    return absl::InvalidArgumentError(absl::StrCat("the number of fields must be 3 to ",
                                                   kMaxPointFields, " (got ", names.size(), ")"));
  }
  std::optional<size_t> coordinates[3];
  constexpr absl::string_view kAxes[3] = {"x", "y", "z"};
  for (size_t axis = 0; axis < 3; ++axis) {
    VOXLOC_TRY(FindUniqueField(names, kAxes[axis], coordinates[axis]));
    if (!coordinates[axis].has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no field '", kAxes[axis], "'; the fields are ",
                       Quoted(absl::StrJoin(names, " ")), ", needed are x, y and z"));
    }
  }
  PointFields fields{*coordinates[0], *coordinates[1], *coordinates[2], std::nullopt};
  for (const absl::string_view name : {"intensity", "scalar_intensity"}) {
    if (fields.intensity.has_value()) break;
    VOXLOC_TRY(FindUniqueField(names, name, fields.intensity));
  }
  return fields;
}

}  // namespace voxloc
