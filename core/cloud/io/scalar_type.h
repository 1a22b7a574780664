// SPDX-License-Identifier: Apache-2.0
//
// The number types that cloud files are made of. Binary files are little-endian, and PLY in either.

#ifndef VOXLOC_CORE_CLOUD_IO_SCALAR_TYPE_H_
#define VOXLOC_CORE_CLOUD_IO_SCALAR_TYPE_H_

#include <cstddef>

namespace voxloc {

enum class ScalarType {
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kFloat32,
  kFloat64,
};

[[nodiscard]] size_t SizeOf(ScalarType type);
[[nodiscard]] bool IsInteger(ScalarType type);

// Reads a value of one type from bytes of any alignment.
using ScalarLoader = double (*)(const char* bytes);
[[nodiscard]] ScalarLoader LoaderOf(ScalarType type, bool big_endian = false);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_SCALAR_TYPE_H_
