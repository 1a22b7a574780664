// SPDX-License-Identifier: Apache-2.0
//
// sensor_msgs/PointCloud2 with ROS's names, as a view of bytes that the caller owns, so that no ROS
// is needed here, and the layout of its points. The bridge and the bag reader both use it.
// Thread-safe: no shared state.

#ifndef VOXLOC_CLIENTS_POINTCLOUD2_POINT_CLOUD2_H_
#define VOXLOC_CLIENTS_POINTCLOUD2_POINT_CLOUD2_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "absl/base/config.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#if !defined(ABSL_IS_LITTLE_ENDIAN)
#error "The wire's points are little endian, and so must be the host."
#endif

namespace voxloc::ros {

// std_msgs/Header.
struct Header {
  int64_t stamp_ns = 0;
  std::string frame_id;
};

// sensor_msgs/PointField, with its numbers for the types.
struct PointField {
  enum Datatype : uint8_t {
    kInt8 = 1,
    kUint8 = 2,
    kInt16 = 3,
    kUint16 = 4,
    kInt32 = 5,
    kUint32 = 6,
    kFloat32 = 7,
    kFloat64 = 8
  };
  std::string name;
  uint32_t offset = 0;  // bytes from the point's beginning
  uint8_t datatype = 0;
  uint32_t count = 1;  // elements
};

// sensor_msgs/PointCloud2 in memory of the caller, which must outlive the call that takes the view.
// Point (row, column) begins at byte row * row_step + column * point_step.
struct PointCloud2View {
  Header header;
  uint32_t height = 0;
  uint32_t width = 0;
  absl::Span<const PointField> fields;
  bool is_bigendian = false;
  uint32_t point_step = 0;
  uint32_t row_step = 0;
  absl::Span<const uint8_t> data;
};

// One number of a point.
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

// As a double, which is exact: PointField has no 64-bit integers.
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

// One number of a point.
struct ScalarField {
  uint32_t offset = 0;
  PointField::Datatype datatype = PointField::kFloat32;
};

// What a point's time counts from.
enum class PointTimeZero {
  kCloudStamp,  // header.stamp
  kClock        // the zero of the clock that header.stamp is of
};

struct PointTimeField {
  std::string name;
  ScalarField field;
  double unit_s = 1.0;  // seconds per unit
  PointTimeZero zero = PointTimeZero::kCloudStamp;
};

// Where the coordinates and the time of a point lie. Fields may come in any order, with any step,
// in either endianness; a cloud may be organised.
struct PointLayout {
  size_t points = 0;  // height * width
  ScalarField x;      // float32 or float64, all three of the same type
  ScalarField y;
  ScalarField z;
  std::optional<PointTimeField> time;  // as asked for
};

// Which times of points are used: none, those of a known field, or those of the field of that name.
// Known are
//   time         float32, s after the stamp       Velodyne
//   t            uint32, ns after the stamp       Ouster
//   time_stamp   uint32, ns after the stamp       Autoware's PointXYZIRCAEDT
//   timestamp    float64, s of the clock          Hesai, Robosense
//   timestamp    float64, ns of the clock         Livox, where the values say so: over 1e12
//   offset_time  uint32, ns after the stamp       Livox's custom points
// Any other field, given by `name`, is the time after the stamp: seconds if it is a float,
// nanoseconds if it is an integer.
struct PointTimeChoice {
  bool any = false;  // use a known field
  std::string name;  // use this field; `any` is then ignored
};

// Errors name the field, what it must be and what was given. InvalidArgument: no x, y or z; types
// or counts other than above; a field beyond point_step; steps and sizes that contradict each
// other; a named time field that is not there, or of another type.
[[nodiscard]] absl::StatusOr<PointLayout> ReadPointLayout(const PointCloud2View& cloud,
                                                          const PointTimeChoice& time);

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_POINTCLOUD2_POINT_CLOUD2_H_
