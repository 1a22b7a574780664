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

template <bool kBigEndian>
ScalarLoader LoaderFor(ScalarType type) {
  switch (type) {
    case ScalarType::kInt8:
      return &Load<int8_t, kBigEndian>;
    case ScalarType::kInt16:
      return &Load<int16_t, kBigEndian>;
    case ScalarType::kInt32:
      return &Load<int32_t, kBigEndian>;
    case ScalarType::kInt64:
      return &Load<int64_t, kBigEndian>;
    case ScalarType::kUint8:
      return &Load<uint8_t, kBigEndian>;
    case ScalarType::kUint16:
      return &Load<uint16_t, kBigEndian>;
    case ScalarType::kUint32:
      return &Load<uint32_t, kBigEndian>;
    case ScalarType::kUint64:
      return &Load<uint64_t, kBigEndian>;
    case ScalarType::kFloat32:
      return &Load<float, kBigEndian>;
    case ScalarType::kFloat64:
      return &Load<double, kBigEndian>;
  }
  return nullptr;
}

}  // namespace

size_t SizeOf(ScalarType type) {
  switch (type) {
    case ScalarType::kInt8:
    case ScalarType::kUint8:
      return 1;
    case ScalarType::kInt16:
    case ScalarType::kUint16:
      return 2;
    case ScalarType::kInt32:
    case ScalarType::kUint32:
    case ScalarType::kFloat32:
      return 4;
    case ScalarType::kInt64:
    case ScalarType::kUint64:
    case ScalarType::kFloat64:
      return 8;
  }
  return 0;
}

bool IsInteger(ScalarType type) {
  return type != ScalarType::kFloat32 && type != ScalarType::kFloat64;
}

ScalarLoader LoaderOf(ScalarType type, bool big_endian) {
  return big_endian ? LoaderFor<true>(type) : LoaderFor<false>(type);
}

}  // namespace voxloc
