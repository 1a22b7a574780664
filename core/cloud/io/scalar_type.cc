// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/scalar_type.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

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

// What a function makes of a number of this type.
template <typename Make>
auto WithNumberOf(ScalarType type, const Make& make) {
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

}  // namespace

size_t SizeOf(ScalarType type) {
  return WithNumberOf(type, [](auto number) { return sizeof(number); });
}

bool IsInteger(ScalarType type) {
  return type != ScalarType::kFloat32 && type != ScalarType::kFloat64;
}

ScalarLoader LoaderOf(ScalarType type, bool big_endian) {
  return WithNumberOf(type, [big_endian](auto number) -> ScalarLoader {
    using Number = decltype(number);
    return big_endian ? &Load<Number, true> : &Load<Number, false>;
  });
}

}  // namespace voxloc
