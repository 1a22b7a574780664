// SPDX-License-Identifier: Apache-2.0
//
// sensor_msgs/PointCloud2 with ROS's names, as a view of bytes that the caller owns, so that no ROS
// is needed here. The bridge and the bag reader both use it.

#ifndef VOXLOC_CLIENTS_POINTCLOUD2_POINT_CLOUD2_H_
#define VOXLOC_CLIENTS_POINTCLOUD2_POINT_CLOUD2_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"

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

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_POINTCLOUD2_POINT_CLOUD2_H_
