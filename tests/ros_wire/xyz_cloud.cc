// SPDX-License-Identifier: Apache-2.0

#include "tests/ros_wire/xyz_cloud.h"

#include <algorithm>
#include <cstring>

namespace voxloc::ros_wire {
namespace {

template <typename Number>
void PutBigEndian(Number number, char* at) {
  std::memcpy(at, &number, sizeof number);
  std::reverse(at, at + sizeof number);
}

}  // namespace

Cloud XyzCloud(const PointCloud& points, int64_t stamp_ns, const std::string& frame_id,
               size_t repeat) {
  Cloud cloud;
  cloud.stamp_ns = stamp_ns;
  cloud.frame_id = frame_id;
  cloud.fields = {{"x", 0, FieldType::kFloat32, 1},
                  {"y", 4, FieldType::kFloat32, 1},
                  {"z", 8, FieldType::kFloat32, 1}};
  cloud.point_step = 16;
  cloud.width = static_cast<uint32_t>(points.size() * repeat);
  cloud.row_step = cloud.width * cloud.point_step;
  cloud.data.resize(size_t{cloud.row_step});
  for (size_t i = 0; i < points.size() * repeat; ++i) {
    const size_t from = i / repeat;
    const float xyz[3] = {points.x[from], points.y[from], points.z[from]};
    std::memcpy(cloud.data.data() + i * cloud.point_step, xyz, sizeof xyz);
  }
  return cloud;
}

Cloud UnusualCloud(const PointCloud& points, int64_t stamp_ns, const std::string& frame_id) {
  constexpr uint32_t kRows = 2;
  constexpr uint32_t kGap = 40;
  Cloud cloud;
  cloud.stamp_ns = stamp_ns;
  cloud.frame_id = frame_id;
  cloud.is_big_endian = true;
  cloud.fields = {{"ring", 0, FieldType::kUint16, 1},
                  {"z", 8, FieldType::kFloat64, 1},
                  {"y", 16, FieldType::kFloat64, 1},
                  {"x", 24, FieldType::kFloat64, 1}};
  cloud.point_step = 32;
  cloud.height = kRows;
  cloud.width = static_cast<uint32_t>(points.size() / kRows);
  cloud.row_step = cloud.width * cloud.point_step + kGap;
  cloud.data.assign(size_t{cloud.row_step} * kRows, '\x55');
  for (size_t i = 0; i < size_t{cloud.width} * kRows; ++i) {
    char* point = cloud.data.data() + (i / cloud.width) * cloud.row_step +
                  (i % cloud.width) * cloud.point_step;
    PutBigEndian(static_cast<double>(points.z[i]), point + 8);
    PutBigEndian(static_cast<double>(points.y[i]), point + 16);
    PutBigEndian(static_cast<double>(points.x[i]), point + 24);
  }
  return cloud;
}

}  // namespace voxloc::ros_wire
