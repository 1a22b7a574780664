// SPDX-License-Identifier: Apache-2.0
//
// PointCloud2 messages as drivers write them, byte by byte. Thread-safe: no shared state.

#ifndef VOXLOC_TESTS_CLIENTS_ROS_CLOUD_MESSAGES_H_
#define VOXLOC_TESTS_CLIENTS_ROS_CLOUD_MESSAGES_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "clients/ros/core/messages.h"
#include "core/cloud/point_cloud.h"

namespace voxloc::ros {

// A message under construction: fields where the test puts them.
struct TestCloud {
  PointCloud2View View() const {
    return {header, height, width, fields, big_endian, point_step, row_step, data};
  }

  // An unorganised cloud of `points` points, all bytes of which are 0xEE.
  TestCloud(uint32_t points, uint32_t step) : width(points), point_step(step) {
    row_step = points * step;
    data.assign(size_t{points} * step, 0xEE);
    header.frame_id = "lidar";
  }

  template <typename Value>
  void Put(size_t point, uint32_t offset, Value value) {
    uint8_t bytes[sizeof(Value)];
    std::memcpy(bytes, &value, sizeof(Value));
    if (big_endian) std::reverse(bytes, bytes + sizeof(Value));
    const size_t row = point / width;
    const size_t column = point % width;
    std::memcpy(data.data() + row * row_step + column * point_step + offset, bytes, sizeof(Value));
  }

  Header header;
  uint32_t height = 1;
  uint32_t width = 0;
  std::vector<PointField> fields;
  bool big_endian = false;
  uint32_t point_step = 0;
  uint32_t row_step = 0;
  std::vector<uint8_t> data;
};

// x, y, z as float32 at 0, 4, 8.
inline std::vector<PointField> XyzFields() {
  return {{"x", 0, PointField::kFloat32, 1},
          {"y", 4, PointField::kFloat32, 1},
          {"z", 8, PointField::kFloat32, 1}};
}

// The points of a cloud around zero, `step` bytes each, x, y, z first.
inline TestCloud MessageOf(const PointCloud& cloud, uint32_t step = 16) {
  TestCloud message(static_cast<uint32_t>(cloud.size()), step);
  message.fields = XyzFields();
  for (size_t i = 0; i < cloud.size(); ++i) {
    message.Put(i, 0, cloud.x[i]);
    message.Put(i, 4, cloud.y[i]);
    message.Put(i, 8, cloud.z[i]);
  }
  return message;
}

}  // namespace voxloc::ros

#endif  // VOXLOC_TESTS_CLIENTS_ROS_CLOUD_MESSAGES_H_
