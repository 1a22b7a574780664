// SPDX-License-Identifier: Apache-2.0
//
// Reads one number of a point, of any type and endianness. Thread-safe: no shared state.

#ifndef VOXLOC_CLIENTS_POINTCLOUD2_SCALAR_READER_H_
#define VOXLOC_CLIENTS_POINTCLOUD2_SCALAR_READER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/base/config.h"
#include "clients/pointcloud2/point_cloud2.h"

#if !defined(ABSL_IS_LITTLE_ENDIAN)
#error "The wire's points are little endian, and so must be the host."
#endif

namespace voxloc::ros {

template <typename Value>
[[nodiscard]] Value ReadValue(const uint8_t* bytes, bool big_endian) {
  uint8_t raw[sizeof(Value)];
  if (big_endian) {
    for (size_t i = 0; i < sizeof(Value); ++i) raw[i] = bytes[sizeof(Value) - 1 - i];
  } else {
    std::memcpy(raw, bytes, sizeof(Value));
  }
  Value value;
  std::memcpy(&value, raw, sizeof(Value));
  return value;
}

// As a double, which holds every value but the largest of integers of 64 bits, which ROS lacks.
[[nodiscard]] inline double ReadScalar(const uint8_t* bytes, PointField::Datatype datatype,
                                       bool big_endian) {
  switch (datatype) {
    case PointField::kInt8:
      return ReadValue<int8_t>(bytes, big_endian);
    case PointField::kUint8:
      return ReadValue<uint8_t>(bytes, big_endian);
    case PointField::kInt16:
      return ReadValue<int16_t>(bytes, big_endian);
    case PointField::kUint16:
      return ReadValue<uint16_t>(bytes, big_endian);
    case PointField::kInt32:
      return ReadValue<int32_t>(bytes, big_endian);
    case PointField::kUint32:
      return ReadValue<uint32_t>(bytes, big_endian);
    case PointField::kFloat32:
      return static_cast<double>(ReadValue<float>(bytes, big_endian));
    case PointField::kFloat64:
      return ReadValue<double>(bytes, big_endian);
  }
  return 0.0;
}

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_POINTCLOUD2_SCALAR_READER_H_
