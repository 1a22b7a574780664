// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/point_fields.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "core/cloud/io/text_scan.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

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

// Calls make() with a value of the C++ type of `type`.
template <typename Make>
auto VisitScalarType(ScalarType type, const Make& make) {
  switch (type) {
    case ScalarType::kInt8:
      return make(int8_t{});
    case ScalarType::kInt16:
      return make(int16_t{});
    case ScalarType::kInt32:
      return make(int32_t{});
    case ScalarType::kInt64:
      return make(int64_t{});
    case ScalarType::kUint8:
      return make(uint8_t{});
    case ScalarType::kUint16:
      return make(uint16_t{});
    case ScalarType::kUint32:
      return make(uint32_t{});
    case ScalarType::kUint64:
      return make(uint64_t{});
    case ScalarType::kFloat32:
      return make(float{});
    case ScalarType::kFloat64:
      return make(double{});
  }
  return decltype(make(double{})){};
}

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

size_t SizeOf(ScalarType type) {
  return VisitScalarType(type, [](auto number) { return sizeof(number); });
}

bool IsInteger(ScalarType type) {
  return type != ScalarType::kFloat32 && type != ScalarType::kFloat64;
}

ScalarLoader LoaderOf(ScalarType type, bool big_endian) {
  return VisitScalarType(type, [big_endian](auto number) -> ScalarLoader {
    using Number = decltype(number);
    return big_endian ? &Load<Number, true> : &Load<Number, false>;
  });
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
