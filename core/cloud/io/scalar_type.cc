// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/scalar_type.h"

#include <cstdint>
#include <cstring>

namespace voxloc {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "binary clouds are little-endian and read in place");

template <typename T>
double Load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return static_cast<double>(value);
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

ScalarLoader LoaderOf(ScalarType type) {
  switch (type) {
    case ScalarType::kInt8:
      return &Load<int8_t>;
    case ScalarType::kInt16:
      return &Load<int16_t>;
    case ScalarType::kInt32:
      return &Load<int32_t>;
    case ScalarType::kInt64:
      return &Load<int64_t>;
    case ScalarType::kUint8:
      return &Load<uint8_t>;
    case ScalarType::kUint16:
      return &Load<uint16_t>;
    case ScalarType::kUint32:
      return &Load<uint32_t>;
    case ScalarType::kUint64:
      return &Load<uint64_t>;
    case ScalarType::kFloat32:
      return &Load<float>;
    case ScalarType::kFloat64:
      return &Load<double>;
  }
  return nullptr;
}

}  // namespace voxloc
