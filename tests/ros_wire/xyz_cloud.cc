// SPDX-License-Identifier: Apache-2.0

#include "tests/ros_wire/xyz_cloud.h"

#include <algorithm>
#include <cmath>
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

Cloud SkewedCloud(const PointCloud& points, int64_t stamp_ns, const std::string& frame_id,
                  const Twist& twist, double turn_s) {
  Cloud cloud = XyzCloud(points, stamp_ns, frame_id);
  cloud.fields.push_back({"time", 12, FieldType::kFloat32, 1});
  for (size_t i = 0; i < points.size(); ++i) {
    const double turned = std::atan2(points.y[i], points.x[i]) / (2.0 * M_PI);  // -0.5 to 0.5
    const auto time_s = static_cast<float>((turned < 0.0 ? turned + 1.0 : turned) * turn_s);
    const Pose then = IntegrateTwist(twist, static_cast<double>(time_s));
    const Eigen::Vector3f seen = (then.Inverse() * points.Point(i)).cast<float>();
    const float fields[4] = {seen.x(), seen.y(), seen.z(), time_s};
    std::memcpy(cloud.data.data() + i * cloud.point_step, fields, sizeof fields);
  }
  return cloud;
}

}  // namespace voxloc::ros_wire
